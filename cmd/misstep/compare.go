package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"misstep/app"
	"misstep/app/compare"
	"misstep/app/replay"
	"misstep/internal/paired"
)

type compareCommand struct {
	Campaign  string        `arg:"" help:"Campaign in YAML whose recipes are run; --jdk replaces its JDKs." type:"path" placeholder:"CAMPAIGN.yaml"`
	JDK       []string      `name:"jdk" help:"JDK of the catalogue or folder; twice: before and after. Once: both run it." required:"" predictor:"jdk" placeholder:"NAME"`
	Profiler  []string      `help:"Profiler in place of the campaign's, as in misstep run --profiler; once for both, or twice: before and after." sep:"none" placeholder:"NAME[,INTERVAL][,OPTION]…" predictor:"profiler"`
	Profilers []string      `help:"Folder with a build of libasyncProfiler.so; once for both, or twice: before and after (default: the installed one)." type:"path" sep:"none" placeholder:"DIR"`
	For       time.Duration `within:"(0s,)" help:"Time budget: no pair of trials begins after it (default: the campaign's budget)." placeholder:"DURATION"`
	Pairs     uint64        `within:"[1,)" help:"Maximum number of pairs (default: half of the campaign's trials)." placeholder:"N"`
	Slots     int           `within:"[1,4096]" help:"Pairs of trials at once (default: number of CPUs)." placeholder:"N"`
	Margin    float64       `within:"(1,100]" help:"Ratio up to which two shares are the same." default:"1.25" placeholder:"RATIO"`
	Level     float64       `within:"(0,0.5]" help:"Probability with which two equal builds may be called different anywhere in the report." default:"0.05" placeholder:"P"`
	Dir       string        `help:"New folder for the page compare.html, the report compare.json and the counts of each trial." type:"path" placeholder:"DIR"`
	FailOn    string        `help:"Exit with code 1 when something is worse, or also when something is undecided." enum:"worse,undecided" default:"worse" placeholder:"worse|undecided"`
	JSON      bool          `help:"Print the report as JSON."`
}

// Run compares two builds.
func (c *compareCommand) Run(ctx context.Context, e *env) error {
	sides, err := c.sides(e)
	if err != nil {
		return err
	}
	r, err := compare.Comparison{
		Installation: e.installation(), Campaign: c.Campaign, Sides: sides, For: c.For, Pairs: c.Pairs,
		Slots: cmp.Or(c.Slots, runtime.NumCPU()), Margin: c.Margin, Level: c.Level, Dir: c.Dir, Say: e.say, Logger: e.warnings(),
	}.Run(ctx)
	if err != nil {
		return err
	}
	if c.JSON {
		err = e.json(r)
	} else {
		renderComparison(e.stdout, r)
	}
	switch {
	case err != nil:
		return err
	case ctx.Err() != nil:
		return fmt.Errorf("%w after %s", app.ErrInterrupted, plural(r.Pairs, "pair"))
	case !r.Proved():
		why := errors.New("nothing was proved: no pair of trials compared anything")
		if r.WhyVoid != "" {
			why = fmt.Errorf("%w: %s", why, r.WhyVoid)
		}
		return &exitError{code: exitVoid, err: why}
	case r.Count(paired.Worse) > 0, c.FailOn == "undecided" && r.Count(paired.Undecided) > 0:
		return &exitError{code: exitFound}
	}
	return nil
}

// sides are the two builds that the flags name.
func (c *compareCommand) sides(e *env) (sides [2]compare.Build, err error) {
	differ := false
	for _, flag := range []struct {
		name  string
		given []string
	}{{"--jdk", c.JDK}, {"--profiler", c.Profiler}, {"--profilers", c.Profilers}} {
		if len(flag.given) > 2 {
			return sides, fmt.Errorf("%s is given %d times: give it once for both builds, or twice, before and after", flag.name,
				len(flag.given))
		}
		differ = differ || len(flag.given) == 2
	}
	if !differ {
		return sides, errors.New("nothing to compare: give --jdk, --profiler or --profilers twice, for before and after")
	}
	for side := range sides {
		of := func(given []string) string {
			if len(given) == 0 {
				return ""
			}
			return given[min(side, len(given)-1)]
		}
		sides[side] = compare.Build{JDK: of(c.JDK), Profiler: of(c.Profiler)}
		if dir := of(c.Profilers); dir != "" {
			if sides[side].Profilers, err = filepath.Abs(dir); err == nil {
				_, err = os.Stat(filepath.Join(dir, "libasyncProfiler.so"))
			}
			if err != nil {
				return sides, fmt.Errorf("--profilers: want a folder with libasyncProfiler.so: %w", err)
			}
		}
		if err := replay.KnownJDK(e.installation(), sides[side].JDK); err != nil {
			return sides, err
		}
	}
	return sides, nil
}
