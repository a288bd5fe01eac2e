package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	misstepv1 "misstep/proto/misstep/v1"
)

// realCase is a known bug that a small campaign finds on real JVMs.
type realCase struct {
	name     string
	campaign string
	// known as in the catalogue of known bugs, or a text of the finding's title when it has no id there.
	known string
	// affected builds of the catalogue.
	affected []string
}

var realCases = []realCase{
	{
		name: "JDK-8303444", known: "JDK-8303444", affected: []string{"jdk17", "jdk25"},
		campaign: `
name: clinit
seed: 7
jdks: [jdk17]
workloads: [{name: clinit}]
flag_sets: [{name: c1, flags: [-XX:TieredStopAtLevel=1, -Xcomp]}]
sampling: [{interval: 1ms, jitter: 0.5}]
checks: [{name: gst-asgct, share: 1}, {name: liveness}]
budget: {trials: 2}
`,
	},
	{
		name: "virtual thread resumed at depth", known: "continuation", affected: []string{"jdk25"},
		campaign: `
name: vthread
seed: 7
jdks: [jdk25]
workloads: [{name: vthread-yield, arguments: ["64", "300"], repetitions: 1}]
flag_sets: [{name: some, flags: [-Xss1m, -XX:+UseSerialGC]}]
checks: [{name: gst-asgct, share: 0.1}, {name: liveness}]
budget: {trials: 2}
`,
	},
}

// realResult is one reproduction on real JVMs.
type realResult struct {
	Case        string   `json:"case"`
	JDK         string   `json:"jdk"`
	Failure     string   `json:"failure,omitempty"`
	Reliability string   `json:"reliability"`
	Clean       string   `json:"clean"`
	Needed      []string `json:"needed"`
	Affected    []string `json:"affected"`
	Wanted      []string `json:"wanted"`
	Trials      uint64   `json:"trials"`
	TookSeconds float64  `json:"took_seconds"`
}

func (r realResult) good() bool { return r.Failure == "" && slices.Equal(r.Affected, r.Wanted) }

func (r realResult) row() []string {
	result := "reproduced"
	if r.Failure != "" {
		result = r.Failure
	}
	return []string{
		r.Case, r.JDK, result, r.Reliability, r.Clean, strings.Join(r.Needed, ", "), "by the engine's own test", fmt.Sprint(r.Trials),
		strings.Join(r.Affected, " "), (time.Duration(r.TookSeconds) * time.Second).String(),
	}
}

// runReal reproduces what the budget lets it. A case that the budget cuts short is left out and said so.
func runReal(ctx context.Context, log io.Writer) (out []realResult) {
	for _, c := range realCases {
		begun := time.Now()
		r, err := reproduceReal(ctx, c, log)
		if ctx.Err() != nil {
			fmt.Fprintf(log, "%s: the budget was used up\n", c.name)
			break
		}
		if err != nil {
			r.Failure = err.Error()
		}
		r.TookSeconds = time.Since(begun).Seconds()
		out = append(out, r)
	}
	return out
}

func reproduceReal(ctx context.Context, c realCase, log io.Writer) (realResult, error) {
	r := realResult{Case: c.name, Wanted: c.affected}
	dir, err := os.MkdirTemp("", "misstep-bench-repro-")
	if err != nil {
		return r, fmt.Errorf("make folder: %w", err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "campaign.yaml")
	if err := os.WriteFile(file, []byte(c.campaign), 0o644); err != nil {
		return r, fmt.Errorf("write campaign: %w", err)
	}
	hunt := filepath.Join(dir, "hunt")
	var found struct {
		Findings []json.RawMessage `json:"findings"`
	}
	if err := misstep(ctx, log, &found, "hunt", file, "--dir", hunt, "--json"); err != nil {
		return r, err
	}
	finding := ""
	for _, raw := range found.Findings {
		var f misstepv1.Finding
		if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(raw, &f); err != nil {
			return r, fmt.Errorf("read a finding: %w", err)
		}
		if (f.GetKnownAs() == c.known || strings.Contains(f.GetTitle(), c.known)) && strings.Contains(strings.Join(f.GetSignature().GetParts(), " "), "gst-asgct") {
			finding = f.GetId()
			break
		}
	}
	if finding == "" {
		return r, fmt.Errorf("the campaign did not find %s", c.known)
	}
	var result struct {
		Reproduction json.RawMessage `json:"reproduction"`
	}
	if err := misstep(ctx, log, &result, "reproduce", finding, "--dir", hunt, "--json"); err != nil {
		return r, err
	}
	var s misstepv1.ReproductionStatus
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(result.Reproduction, &s); err != nil {
		return r, fmt.Errorf("read the reproduction: %w", err)
	}
	p := s.GetReproducer()
	r.JDK, r.Trials = p.GetRecipe().GetJdk().GetName(), s.GetTrials()
	r.Reliability = fmt.Sprintf("%d of %d", p.GetReliability().GetHits(), p.GetReliability().GetTries())
	r.Clean = fmt.Sprintf("%d of %d", p.GetClean().GetHits(), p.GetClean().GetTries())
	for _, e := range p.GetKept() {
		r.Needed = append(r.Needed, e.GetKind()+" "+e.GetName())
	}
	for _, b := range p.GetBisection().GetBuilds() {
		if b.GetAffected() > 0.5 && b.GetSkipped() == "" {
			r.Affected = append(r.Affected, b.GetJdk().GetName())
		}
	}
	return r, nil
}

// misstep runs the built binary and reads what it prints.
func misstep(ctx context.Context, log io.Writer, into any, args ...string) error {
	cmd := exec.CommandContext(ctx, "misstep", args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 20 * time.Second
	var stdout bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, log
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("misstep %s: %w", strings.Join(args[:2], " "), err)
	}
	return decode(stdout.Bytes(), into)
}
