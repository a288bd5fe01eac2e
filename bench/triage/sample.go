package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	"google.golang.org/protobuf/proto"

	"misstep/bench"
	"misstep/triage/triagetest"
)

// Bounds of a sample that is small enough to be committed.
const (
	sampleTrials = 2       // of one label, each on a different JDK
	sampleLine   = 8 << 10 // bytes of one trial
)

// writeSample writes the smallest trials of each label with their most frequent mismatch, gzipped.
func writeSample(path string, all []triagetest.Labelled) error {
	type choice struct {
		triagetest.Labelled
		line []byte
	}
	byLabel := map[string][]choice{}
	for _, l := range all {
		if l.Outcome == nil {
			continue
		}
		l.Outcome = proto.CloneOf(l.Outcome)
		l.Outcome.Mismatches = l.Outcome.Mismatches[:min(1, len(l.Outcome.GetMismatches()))]
		line, err := json.Marshal(l)
		if err != nil {
			return fmt.Errorf("write the sample: %w", err)
		}
		if len(line) <= sampleLine {
			byLabel[l.Label] = append(byLabel[l.Label], choice{l, line})
		}
	}
	var chosen []choice
	for _, some := range byLabel {
		slices.SortFunc(some, func(a, b choice) int {
			return cmp.Or(cmp.Compare(len(a.line), len(b.line)), cmp.Compare(a.Trial, b.Trial))
		})
		jdks := map[string]bool{}
		for _, c := range some {
			if len(jdks) < sampleTrials && !jdks[c.JDK] {
				jdks[c.JDK] = true
				chosen = append(chosen, c)
			}
		}
	}
	slices.SortFunc(chosen, func(a, b choice) int { return cmp.Or(cmp.Compare(a.Label, b.Label), cmp.Compare(a.Trial, b.Trial)) })
	bench.Note("%d outcomes of %d labels", len(chosen), len(byLabel))
	return writeLines(path, func(encode func(any) error) error {
		for _, c := range chosen {
			if err := encode(json.RawMessage(c.line)); err != nil {
				return err
			}
		}
		return nil
	})
}

// writeLines writes what each encodes, a line of JSON each, to a compressed file.
func writeLines(path string, each func(encode func(any) error) error) error {
	var out bytes.Buffer
	zipped, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	encoder := json.NewEncoder(zipped)
	encoder.SetEscapeHTML(false)
	if err := errors.Join(each(encoder.Encode), zipped.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	bench.Note("%s has %d bytes", path, out.Len())
	return nil
}
