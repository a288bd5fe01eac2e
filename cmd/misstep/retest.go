package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/protobuf/proto"

	"misstep/coordinator/retest"
	"misstep/bundle"
	misstepv1 "misstep/proto/misstep/v1"
)

type retestCommand struct {
	trust
	Bundles    []string `arg:"" optional:"" help:"Bundles of findings." type:"path" placeholder:"BUNDLE"`
	Dir        string   `help:"Folder of a hunt: what comes out is kept there; its bundles are run again when none are named." type:"path" placeholder:"DIR"`
	JDK        []string `name:"jdk" help:"JDK builds to run on: names of the catalogue or folders." required:"" placeholder:"NAME"`
	Confidence float64  `help:"How sure \"fixed\" and a changed rate must be." default:"0.99" placeholder:"P"`
	MaxTries   uint64   `help:"Most runs of one reproducer on one build." default:"100" placeholder:"N"`
	JSON       bool     `help:"Print a list of {bundle, finding, known_as, jdk, version, known, now, low, high, verdict, time, error}."`
}

// retested is one reproducer on one build.
type retested struct {
	Bundle  string         `json:"bundle"`
	Finding string         `json:"finding"`
	KnownAs string         `json:"known_as"`
	JDK     string         `json:"jdk"`
	Version string         `json:"version"`
	Digest  string         `json:"digest"`
	Known   retest.Count   `json:"known"`
	Now     retest.Count   `json:"now"`
	Low     float64        `json:"low"` // of the 95 % interval of Now
	High    float64        `json:"high"`
	Verdict retest.Verdict `json:"verdict"`
	Time    time.Time      `json:"time"`
	Error   string         `json:"error,omitempty"` // why it could not run
}

// retestsFile keeps the results in a hunt's folder, a JSON object a line.
const retestsFile = "retests.jsonl"

// Run repeats reproducers on other builds: exit 0 all ran, 2 one could not.
func (c *retestCommand) Run(ctx context.Context, e *env) error {
	if c.Confidence <= 0.5 || c.Confidence >= 1 {
		return fmt.Errorf("--confidence %v: want a number between 0.5 and 1, such as 0.99", c.Confidence)
	}
	if c.MaxTries == 0 {
		return errors.New("--max-tries: want at least 1")
	}
	bundles := c.Bundles
	if c.Dir != "" && len(bundles) == 0 {
		more, err := filepath.Glob(filepath.Join(c.Dir, "bundles", "*.zip"))
		if err != nil {
			return fmt.Errorf("list bundles: %w", err)
		}
		bundles = more
	}
	if len(bundles) == 0 {
		return errors.New("no bundles: name some, or the --dir of a hunt that has found something")
	}
	results := []retested{}
	failed := false
	for _, path := range bundles {
		for _, name := range c.JDK {
			r := c.one(ctx, e, path, name)
			if ctx.Err() != nil {
				return errInterrupted
			}
			failed = failed || r.Error != ""
			results = append(results, r)
			if err := c.keep(r); err != nil {
				return err
			}
		}
	}
	var err error
	if c.JSON {
		err = e.json(results)
	} else {
		err = renderRetests(e, results)
	}
	if err == nil && failed {
		err = &exitError{code: exitCannot}
	}
	return err
}

// one runs a bundle on a build as often as its known rate asks for. What cannot run is a result too: the others go on.
func (c *retestCommand) one(ctx context.Context, e *env, path, jdk string) retested {
	result := retested{Bundle: path, JDK: jdk, Time: time.Now().UTC().Truncate(time.Second), Verdict: retest.Judge(retest.Count{}, retest.Count{}, c.Confidence)}
	if err := c.fill(ctx, e, &result); err != nil {
		result.Error = message(err)
		fmt.Fprintf(e.stderr, "%s on %s: %s\n", path, jdk, result.Error)
	}
	return result
}

func (c *retestCommand) fill(ctx context.Context, e *env, r *retested) error {
	if _, err := c.check(r.Bundle); err != nil {
		return err
	}
	b, err := bundle.Open(r.Bundle)
	if err != nil {
		return err
	}
	defer b.Close()
	finding := b.Reproducer().GetFinding()
	r.Finding, r.KnownAs, r.Known = finding.GetId(), finding.GetKnownAs(), knownRate(b.Reproducer())
	scratch, err := os.MkdirTemp("", "misstep-retest-")
	if err != nil {
		return fmt.Errorf("make scratch folder: %w", err)
	}
	defer os.RemoveAll(scratch)
	replay, err := e.prepareReplay(ctx, b, r.JDK, scratch)
	if err != nil {
		return err
	}
	r.Version, r.Digest = replay.version, replay.recipe.GetJdk().GetDigest()
	tries := retest.Needed(r.Known, c.Confidence)
	if tries == 0 || tries > c.MaxTries {
		tries = c.MaxTries
	}
	if err := os.Chmod(scratch, 0o711); err != nil { // JVMs of another user pass through
		return fmt.Errorf("make scratch folder: %w", err)
	}
	executor, err := e.route(replay.host, "")
	if err != nil {
		return err
	}
	seen, shown := replayResult{Others: map[string]int{}}, shows(finding)
	for try := range tries {
		recipe := proto.CloneOf(replay.recipe)
		if !b.Reproducer().GetSeedMatters() { // the known rate is one over seeds
			recipe.Seed += try + 1
		}
		outcome, err := executor.Run(ctx, recipe, nil)
		if err != nil {
			return fmt.Errorf("try %d: %w", try+1, err)
		}
		seen.count(outcome, shown)
		r.Now = retest.Count{Hits: uint64(seen.Hits), Tries: uint64(seen.Tries)} // not negative
		fmt.Fprintf(e.stderr, "%s on %s: %d of %d tries, at most %d\n", r.Finding, r.JDK, seen.Hits, seen.Tries, tries)
	}
	if seen.Tries == 0 {
		return seen.allVoid()
	}
	r.Low, r.High = r.Now.Interval()
	r.Verdict = retest.Judge(r.Known, r.Now, c.Confidence)
	return nil
}

// knownRate is the reproducer's measured reliability, the cleanest there is, else what the trials on its own build and workload tell.
func knownRate(r *misstepv1.Reproducer) retest.Count {
	for _, m := range []*misstepv1.Reliability{r.GetClean(), r.GetReliability()} {
		if m.GetTries() > 0 {
			return retest.Count{Hits: uint64(m.GetHits()), Tries: uint64(m.GetTries())}
		}
	}
	var c retest.Count
	for _, rate := range r.GetFinding().GetRates() {
		if rate.GetJdk() == r.GetRecipe().GetJdk().GetName() && rate.GetWorkload() == r.GetRecipe().GetWorkload().GetName() && rate.GetHits() > 0 {
			c.Hits += rate.GetHits()
			c.Tries += rate.GetTrials()
		}
	}
	return c
}

// keep appends a result to the hunt's folder.
func (c *retestCommand) keep(r retested) error {
	if c.Dir == "" {
		return nil
	}
	line, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("keep result: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(c.Dir, retestsFile), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("keep result: %w", err)
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

func renderRetests(e *env, results []retested) error {
	t := table(e.stdout)
	fmt.Fprintln(t, "finding\tknown as\tJDK\tverdict\tnow\t95 % interval\tbefore\tp\tbuild")
	for _, r := range results {
		if r.Error != "" {
			fmt.Fprintf(t, "%s\t%s\t%s\tcould not run\t-\t-\t-\t-\t%s\n", orDash(r.Finding), orDash(r.KnownAs), r.JDK, r.Error)
			continue
		}
		verdict := string(r.Verdict.State)
		if r.Verdict.State == retest.Unclear && r.Verdict.Needed > 0 {
			verdict = fmt.Sprintf("unclear: fixed takes %d tries", r.Verdict.Needed)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d of %d\t%.3f–%.3f\t%d of %d\t%.2g\t%s\n", r.Finding, orDash(r.KnownAs), r.JDK, verdict, r.Now.Hits, r.Now.Tries,
			r.Low, r.High, r.Known.Hits, r.Known.Tries, r.Verdict.P, r.Version)
	}
	return t.Flush()
}

// retestsOf reads what is kept in a hunt's folder about a finding, oldest first; a hunt without retests has none.
func retestsOf(dir, finding string) ([]retested, error) {
	f, err := os.Open(filepath.Join(dir, retestsFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read retests: %w", err)
	}
	defer f.Close()
	var all []retested
	for decoder := json.NewDecoder(f); decoder.More(); {
		var r retested
		if err := decoder.Decode(&r); err != nil {
			return nil, fmt.Errorf("read %s: %w", f.Name(), err)
		}
		if r.Finding == finding {
			all = append(all, r)
		}
	}
	return all, nil
}
