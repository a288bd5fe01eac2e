package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"misstep/app"
	"misstep/app/replay"
	"misstep/app/retest"
	judge "misstep/coordinator/retest"
)

type retestCommand struct {
	trustFlags
	corpusFlags
	Bundles    []string `arg:"" optional:"" help:"Bundles of findings." type:"path" placeholder:"BUNDLE"`
	Dir        string   `help:"Folder of a hunt in which the results are kept; its bundles are repeated when none are named." type:"path" placeholder:"DIR"`
	JDK        []string `name:"jdk" help:"JDK builds to run on: names of the catalogue or folders." required:"" predictor:"jdk" placeholder:"NAME"`
	Confidence float64  `within:"(0.5,1)" help:"Confidence required of \"fixed\" and of a changed rate." default:"0.99" placeholder:"P"`
	MaxTries   uint64   `within:"[1,)" help:"Maximum runs of one reproducer on one build." default:"100" placeholder:"N"`
	JSON       bool     `help:"Print a list of {bundle, finding, known_as, jdk, version, digest, known_on, known_digest, known, now, low, high, verdict, time, error}."`
}

// Run repeats reproducers on other builds.
func (c *retestCommand) Run(ctx context.Context, e *env) error {
	paths, err := c.bundles()
	if err != nil {
		return err
	}
	for _, name := range c.JDK { // before the others have run for hours
		if err := replay.KnownJDK(e.installation(), name); err != nil {
			return err
		}
	}
	options := retest.Options{
		Trusted:    c.Signers,
		Corpus:     c.location(e),
		Confidence: c.Confidence,
		MaxTries:   c.MaxTries,
		Logger:     e.warnings(),
	}
	results, began := []retest.Result{}, time.Now()
	of := len(paths) * len(c.JDK)
	options.Tried = func(r retest.Result, done, most uint64) {
		e.say("%s on %s: %d of %d tries, at most %d; %s", r.Finding, r.JDK, r.Now.Hits, r.Now.Tries, most,
			retestPortion(len(results), of, float64(done)/float64(most), time.Since(began)))
	}
	for _, path := range paths {
		for _, name := range c.JDK {
			r := retest.Run(ctx, e.installation(), path, name, options)
			if ctx.Err() != nil {
				return c.interrupted(e, results, r, of)
			}
			results = append(results, r)
			if c.Dir == "" {
				continue
			}
			if err := retest.Keep(c.Dir, r); err != nil {
				return err
			}
		}
	}
	return errors.Join(c.print(e, results), couldNotRun(results))
}

func (c *retestCommand) print(e *env, results []retest.Result) error {
	if c.JSON {
		return e.json(results)
	}
	return renderRetests(e.stdout, results)
}

// interrupted prints the results that were complete, and returns an error with how far the last one had come.
func (c *retestCommand) interrupted(e *env, results []retest.Result, last retest.Result, of int) error {
	var err error
	if len(results) > 0 {
		err = c.print(e, results)
	}
	partly, _ := strings.CutPrefix(last.Error, app.ErrInterrupted.Error()+": ")
	return errors.Join(err, fmt.Errorf("%w: %d of %d reproducers were retested; on %s: %s", app.ErrInterrupted, len(results), of,
		last.JDK, partly))
}

// retestPortion says how much of all retests is done, part of one among them, and about how long the rest takes.
func retestPortion(done, of int, part float64, elapsed time.Duration) string {
	all := (float64(done) + part) / float64(of)
	left := time.Duration(float64(elapsed) * (1 - all) / all)
	return fmt.Sprintf("%d of %d retests done, %d %%, %s", done, of, wholePercent(all), eta(left))
}

// bundles checks the flags and lists the bundles to repeat.
func (c *retestCommand) bundles() ([]string, error) {
	paths := c.Bundles
	if c.Dir != "" && len(paths) == 0 {
		found, err := filepath.Glob(filepath.Join(c.Dir, "bundles", "*.zip"))
		if err != nil {
			return nil, fmt.Errorf("list bundles: %w", err)
		}
		paths = found
	}
	if len(paths) == 0 {
		return nil, errors.New("no bundles: name some, or the --dir of a hunt that has findings")
	}
	return paths, nil
}

// couldNotRun returns what kept reproducers from running, a line each; nil when all ran.
func couldNotRun(results []retest.Result) error {
	var failures []error
	for _, r := range results {
		if r.Error != "" {
			failures = append(failures, fmt.Errorf("%s on %s could not run: %s", r.Bundle, r.JDK, r.Error))
		}
	}
	return errors.Join(failures...)
}

// renderRetests prints a line for each result; couldNotRun has the reasons of those that have none.
func renderRetests(w io.Writer, results []retest.Result) error {
	t := table(w)
	fmt.Fprintln(t, "finding\tknown as\tJDK\tverdict\tnow\t95 % interval\tbefore\tp\tbuild")
	for _, r := range results {
		if r.Error != "" {
			fmt.Fprintf(t, "%s\t%s\t%s\tcould not run\t-\t-\t-\t-\t-\n", orDash(r.Finding), orDash(r.KnownAs), r.JDK)
			continue
		}
		verdict := string(r.Verdict.State)
		if r.Verdict.State == judge.Unclear && r.Verdict.Needed > 0 {
			verdict = fmt.Sprintf("unclear: \"fixed\" needs %d tries", r.Verdict.Needed)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d of %d\t%.3f–%.3f\t%d of %d\t%.2g\t%s\n",
			r.Finding, orDash(r.KnownAs), r.JDK, verdict, r.Now.Hits, r.Now.Tries, r.Low, r.High, r.Known.Hits,
			r.Known.Tries, r.Verdict.P, r.Version)
	}
	return t.Flush()
}
