package agent

import (
	"cmp"
	"slices"
	"strings"
	"time"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

// OptionsOf returns the agent's options for a recipe, with the folder out for its files.
func OptionsOf(r *misstepv1.Recipe, out string) Options {
	instrumentation := r.GetInstrumentation()
	if instrumentation == nil {
		instrumentation = &misstepv1.Instrumentation{Ratio: 1}
	}
	var reference string
	var liveness time.Duration
	checks := make(map[string]float64, len(r.GetChecks()))
	for _, c := range r.GetChecks() {
		if known, ok := recipe.FindCheck(c.GetName()); ok && known.Slot == recipe.NoSlot {
			continue // not a check of the agent
		}
		checks[c.GetName()] = recipe.ShareOf(c)
		reference = cmp.Or(reference, c.GetReference()) // one check takes one
		liveness = cmp.Or(liveness, c.GetInterval().AsDuration())
	}
	sampling, limits := r.GetSampling(), recipe.EffectiveLimits(r.GetLimits())
	return Options{
		Out: out, Seed: r.GetSeed(), Ratio: instrumentation.GetRatio(), Include: instrumentation.GetInclude(),
		Exclude: instrumentation.GetExclude(), Only: instrumentation.GetOnly(),
		WithoutLeaves: instrumentation.GetWithoutLeaves(),
		JFR:           jfrRecords(r), Checks: checks, Reference: reference, Liveness: liveness,
		Interval: sampling.GetInterval().AsDuration(), Jitter: sampling.GetJitter(), Signal: recipe.AgentSignal(r),
		Tap: tapOf(r), TapAsgct: TapAsgctShare, Sites: recipe.NeedsSites(r.GetChecks()),
		Stacks: stacksOf(r),
		Burst:  int(sampling.GetBurst()), Guesses: int(sampling.GetGuesses()), Threads: sampling.GetThreads(),
		Depth: int(limits.GetStackDepth()), Evidence: r.GetEvidence(), MaxMismatches: int(limits.GetMismatches()),
	}
}

// taps are the signals in whose handlers profilers sample, as the agent's option tap names them. JFR's sampler by CPU time is in
// JDK 25 and later only (JEP 509); before, nobody handles its signal.
var taps = map[string]string{recipe.ProfilerJFR: "both", recipe.ProfilerAsync: "prof"}

// tapOf returns the agent's option tap for a recipe: empty unless one of its checks compares a profiler's samples with the shadow.
func tapOf(r *misstepv1.Recipe) string {
	if !recipe.NeedsTap(r.GetChecks()) {
		return ""
	}
	return taps[r.GetProfiler().GetName()]
}

// jfrRecords reports whether JFR records in the JVM of a recipe: as its profiler, or by a flag. async-profiler's option that starts
// it, jfrsync, is one that no recipe may give; that the program starts it a recipe does not say.
func jfrRecords(r *misstepv1.Recipe) bool {
	return r.GetProfiler().GetName() == recipe.ProfilerJFR ||
		slices.ContainsFunc(r.GetJvmFlags(), func(f string) bool { return strings.HasPrefix(f, "-XX:StartFlightRecording") })
}

// leastStacks is the least time between two calls of Thread.getAllStackTraces(): each stops all threads.
const leastStacks = 5 * time.Millisecond

// stacksOf returns the interval between the agent's stack traces of all threads, 0 where no check needs them.
func stacksOf(r *misstepv1.Recipe) time.Duration {
	if !recipe.NeedsStacks(r.GetChecks()) {
		return 0
	}
	return max(leastStacks, recipe.ProfilerInterval(r.GetProfiler()))
}
