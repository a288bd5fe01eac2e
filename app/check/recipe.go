package check

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

// Selection is what is checked, and how.
type Selection struct {
	// Checks by name, each with its share if it is not the default, as "gst-asgct=0.01"; none means those that fit.
	Checks []string
	// Walker by its name in options; then only the checks that judge it are made. Empty for all.
	Walker string
	// Profiler that runs in the JVM; nil for none.
	Profiler *misstepv1.Profiler
	// Light instruments nothing.
	Light bool
	// Ratio is the share of methods that are instrumented; Include and Exclude are patterns of their names.
	Ratio            float64
	Include, Exclude []string
	// WithoutLeaves leaves out leaves and forwarders: methods that loop nowhere and have one call at most.
	WithoutLeaves bool
	// Interval between two signals of the sampler; 0 takes a default.
	Interval time.Duration
	Seed     uint64
}

// Intervals of the sampler that are the default. A bracket stops all threads, so those of Light are rarer.
const (
	denseInterval = time.Millisecond
	lightInterval = 20 * time.Millisecond
)

// samplerSignal is the sampler's. Where the agent has no handler the kernel drops it, and no profiler samples by it.
const samplerSignal = recipe.AgentSignalBesideProfiler

// recipe returns what is to be checked on a JDK, in a JVM with these flags.
func (s Selection) recipe(on *misstepv1.Jdk, flags []string) (*misstepv1.Recipe, error) {
	r := &misstepv1.Recipe{
		Jdk: on, JvmFlags: flags, Profiler: s.Profiler, Seed: s.Seed,
		Sampling: &misstepv1.Sampling{Interval: durationpb.New(s.Interval), Jitter: 0.1, Signal: samplerSignal},
		Instrumentation: &misstepv1.Instrumentation{
			Ratio: s.Ratio, Include: s.Include, Exclude: s.Exclude, WithoutLeaves: s.WithoutLeaves,
		},
	}
	if s.Interval == 0 {
		r.Sampling.Interval = durationpb.New(denseInterval)
		if s.Light {
			r.Sampling.Interval = durationpb.New(lightInterval)
		}
	}
	if s.Light {
		r.Instrumentation = &misstepv1.Instrumentation{}
	}
	var err error
	if r.Checks, err = s.checks(r); err != nil {
		return nil, err
	}
	recipe.DropUnused(r)
	var problems []error
	for _, v := range recipe.Validate(r) {
		problems = append(problems, errors.New(v.String()))
	}
	return r, errors.Join(problems...)
}

// checks returns those that are asked for, else those that fit a recipe.
func (s Selection) checks(r *misstepv1.Recipe) (list []*misstepv1.Check, err error) {
	if len(s.Checks) == 0 {
		list = slices.DeleteFunc(recipe.FittingChecks(r), func(c *misstepv1.Check) bool { return !s.suits(c.GetName()) })
		return s.ofWalker(list)
	}
	for _, text := range s.Checks {
		name, share, given := strings.Cut(text, "=")
		known, ok := recipe.FindCheck(name)
		if !ok {
			return nil, fmt.Errorf("--checks: %q is unknown; there are %s", name, strings.Join(recipe.Names(recipe.Checks()), ", "))
		}
		if s.Light && (known.Methods || known.Tap) {
			return nil, fmt.Errorf("--checks: %s needs instrumented methods, which --light does without: leave one out", name)
		}
		c := &misstepv1.Check{Name: name}
		if given {
			if c.Share, err = strconv.ParseFloat(share, 64); err != nil || c.GetShare() <= 0 {
				return nil, fmt.Errorf("--checks: %s=%s: expected a share above 0 to 1, such as %s=0.01", name, share, name)
			}
		}
		list = append(list, c)
	}
	return list, nil
}

// withoutRecording returns a recipe without its profiler and the checks of what that records.
func withoutRecording(r *misstepv1.Recipe) *misstepv1.Recipe {
	r = proto.CloneOf(r)
	r.Profiler = nil
	r.Checks = slices.DeleteFunc(r.GetChecks(), func(c *misstepv1.Check) bool {
		known, _ := recipe.FindCheck(c.GetName())
		return len(known.Profilers) > 0
	})
	return r
}

// suits reports whether a check is made by default. Brackets stop all threads: only Light has nothing better. The agent's traces of
// all threads do, too, and their judge needs a profiler's samples beside them.
func (s Selection) suits(name string) bool {
	known, _ := recipe.FindCheck(name)
	if s.Light {
		return !known.Tap && !known.Stacks
	}
	return name != recipe.AsgctGstBracket && !known.Stacks
}
