// Package triagetest measures how well triage groups: it reads outcomes whose true cause is known, lets triage group them, and
// counts what was grouped although the causes differ, and what was separated although they are the same.
package triagetest

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/signature"
	"misstep/triage"
)

// Kinds of labelled trials. A trial of KindNothing showed nothing that could be a finding, only a failure of the machine or the
// workload.
const (
	KindMismatch = signature.KindMismatch
	KindCrash    = signature.KindCrash
	KindHang     = signature.KindHang
	KindNothing  = "infrastructure"
)

// Kinds in the order of reports.
var Kinds = []string{KindMismatch, KindCrash, KindHang, KindNothing}

// Labelled is the result of one trial with its true cause. Only evidence of that cause is included.
type Labelled struct {
	// Trial names the JVM; it may have shown more than one cause.
	Trial string
	// Label names the cause: what an engineer would consider one bug.
	Label string
	// Kind of the cause, one of Kinds.
	Kind string
	// JDK and Workload that the trial ran.
	JDK, Workload string
	// Outcome that triage reads; nil when the trial ended in an infrastructure failure.
	Outcome *misstepv1.Outcome
	// Infrastructure is that failure's message.
	Infrastructure string
}

type line struct {
	Trial          string          `json:"trial"`
	Label          string          `json:"label"`
	Kind           string          `json:"kind"`
	JDK            string          `json:"jdk"`
	Workload       string          `json:"workload"`
	Infrastructure string          `json:"infrastructure,omitempty"`
	Outcome        json.RawMessage `json:"outcome,omitempty"`
}

// MarshalJSON returns one line in the format of UnmarshalJSON.
func (l Labelled) MarshalJSON() ([]byte, error) {
	out := line{l.Trial, l.Label, l.Kind, l.JDK, l.Workload, l.Infrastructure, nil}
	if l.Outcome != nil {
		text, err := protojson.Marshal(l.Outcome)
		if err != nil {
			return nil, fmt.Errorf("write the outcome of %s: %w", l.Trial, err)
		}
		out.Outcome = text
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads the format of MarshalJSON.
func (l *Labelled) UnmarshalJSON(text []byte) error {
	var in line
	if err := json.Unmarshal(text, &in); err != nil {
		return fmt.Errorf("read labelled outcome: %w", err)
	}
	*l = Labelled{
		Trial: in.Trial, Label: in.Label, Kind: in.Kind, JDK: in.JDK, Workload: in.Workload, Infrastructure: in.Infrastructure,
	}
	if in.Outcome == nil {
		return nil
	}
	l.Outcome = &misstepv1.Outcome{}
	if err := protojson.Unmarshal(in.Outcome, l.Outcome); err != nil {
		return fmt.Errorf("read labelled outcome of %s: %w", l.Trial, err)
	}
	return nil
}

// Open reads the labelled outcomes of a compressed file.
func Open(path string) ([]Labelled, error) { return readLines[Labelled](path) }

// readLines reads a compressed file of JSON objects.
func readLines[T any](path string) ([]T, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open a labelled set: %w", err)
	}
	defer f.Close()
	text, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("open labelled set %s: %w", path, err)
	}
	decoder := json.NewDecoder(bufio.NewReader(text))
	var all []T
	for {
		var one T
		if err := decoder.Decode(&one); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("read entry %d of %s: %w", len(all)+1, path, err)
		}
		all = append(all, one)
	}
}

// Item is one hit of one trial: triage has assigned it to a finding, and Label is its true cause. A trial is one item for each
// finding that it hits, however many observations it made.
type Item struct {
	Trial, Label, Kind string
	// Finding is its id, and Signature its text for people.
	Finding, Signature string
}

// Group lets triage, as the coordinator calls it, sort the outcomes.
func Group(all []Labelled) []Item {
	var items []Item
	for _, l := range all {
		for _, h := range triage.Triage(l.Outcome) {
			text := strings.Join(append([]string{h.Signature.GetKind()}, h.Signature.GetParts()...), " | ")
			items = append(items, Item{Trial: l.Trial, Label: l.Label, Kind: l.Kind, Finding: h.ID, Signature: text})
		}
	}
	return items
}
