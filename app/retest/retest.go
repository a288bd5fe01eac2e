// Package retest repeats bundles on other JDK builds and judges whether their findings are still present.
package retest

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"google.golang.org/protobuf/proto"

	"misstep/app"
	"misstep/app/bundles"
	"misstep/app/executors"
	"misstep/app/local"
	"misstep/app/replay"
	"misstep/app/sharing"
	judge "misstep/coordinator/retest"
	misstepv1 "misstep/proto/misstep/v1"
)

// Options of a retest.
type Options struct {
	// Trusted keys as for bundles.Check.
	Trusted string
	// Corpus is the location of the corpus that has shared files, as for bundles.Open.
	Corpus     sharing.Location
	Confidence float64 // of the verdicts, in (0.5, 1)
	MaxTries   uint64  // of one reproducer on one build
	// Tried takes what is known after each try: done of at most so many have ended.
	Tried func(r Result, done, most uint64)
	// Logger takes the warnings of virtual machines.
	Logger *slog.Logger
}

// Result is one reproducer on one build.
type Result struct {
	Bundle  string `json:"bundle"`
	Finding string `json:"finding"`
	KnownAs string `json:"known_as"`
	JDK     string `json:"jdk"`
	Version string `json:"version"`
	Digest  string `json:"digest"`
	// KnownOn is the build of the known rate, by name, and KnownDigest its digest.
	KnownOn     string        `json:"known_on"`
	KnownDigest string        `json:"known_digest"`
	Known       judge.Count   `json:"known"`
	Now         judge.Count   `json:"now"`
	Low         float64       `json:"low"` // of the 95 % interval of Now
	High        float64       `json:"high"`
	Verdict     judge.Verdict `json:"verdict"`
	Time        time.Time     `json:"time"`
	Error       string        `json:"error,omitempty"` // why it could not run
}

// Run repeats the bundle at path on a JDK, a name of the catalogue or a folder, as often as the known rate requires. A bundle that
// cannot run is a result with an Error, of which nothing is said.
func Run(ctx context.Context, i local.Installation, path, jdk string, o Options) Result {
	result := Result{
		Bundle: path, JDK: jdk, Time: time.Now().UTC().Truncate(time.Second),
		Verdict: judge.Judge(judge.Count{}, judge.Count{}, o.Confidence),
	}
	if err := result.fill(ctx, i, o); err != nil {
		result.Error = app.Message(err)
	}
	return result
}

func (r *Result) fill(ctx context.Context, i local.Installation, o Options) error {
	if _, err := bundles.Check(r.Bundle, o.Trusted); err != nil {
		return err
	}
	b, err := bundles.Open(ctx, i, r.Bundle, o.Corpus)
	if err != nil {
		return err
	}
	defer b.Close()
	finding := b.Reproducer().GetFinding()
	r.Finding, r.KnownAs, r.Known = finding.GetId(), finding.GetKnownAs(), knownRate(b.Reproducer())
	r.KnownOn, r.KnownDigest = b.Reproducer().GetRecipe().GetJdk().GetName(), b.Reproducer().GetRecipe().GetJdk().GetDigest()
	scratch, remove, err := executors.Scratch("misstep-retest-")
	if err != nil {
		return err
	}
	defer remove()
	ready, err := replay.Prepare(ctx, i, b.Bundle, r.JDK, scratch)
	if err != nil {
		return err
	}
	r.Version, r.Digest = ready.Version, ready.Recipe.GetJdk().GetDigest()
	tries := judge.Needed(r.Known, o.Confidence)
	if tries == 0 || tries > o.MaxTries {
		tries = o.MaxTries
	}
	executor, err := executors.Route(ready.Host, i.Home, "", o.Logger)
	if err != nil {
		return err
	}
	tally, shown := replay.Tally{Others: map[string]int{}}, replay.Shows(finding)
	for try := range tries {
		recipe := proto.CloneOf(ready.Recipe)
		if !b.Reproducer().GetSeedMatters() { // the known rate is one over seeds
			recipe.Seed += try + 1
		}
		outcome, err := executor.Run(ctx, recipe, nil)
		if ctx.Err() != nil {
			return fmt.Errorf("%w: %s, of at most %d tries", app.ErrInterrupted, tally.SoFar(r.Finding), tries)
		}
		if err != nil {
			return fmt.Errorf("try %d: %w", try+1, err)
		}
		tally.Count(outcome, shown)
		r.Now = judge.Count{Hits: uint64(tally.Hits), Tries: uint64(tally.Tries)} // not negative
		o.Tried(*r, try+1, tries)
	}
	if tally.Tries == 0 {
		return tally.AllVoid()
	}
	r.Low, r.High = r.Now.Interval()
	r.Verdict = judge.Judge(r.Known, r.Now, o.Confidence)
	return nil
}

// knownRate is the reproducer's measured reliability, of the clean tries if there were any, else the rate of the trials on its own
// build and workload.
func knownRate(r *misstepv1.Reproducer) judge.Count {
	if measured := judge.Known(r); measured.Tries > 0 {
		return measured
	}
	var c judge.Count
	for _, rate := range r.GetFinding().GetRates() {
		if rate.GetJdk() == r.GetRecipe().GetJdk().GetName() && rate.GetWorkload() == r.GetRecipe().GetWorkload().GetName() &&
			rate.GetHits() > 0 {
			c.Hits += rate.GetHits()
			c.Tries += rate.GetTrials()
		}
	}
	return c
}
