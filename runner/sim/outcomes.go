package sim

import (
	"fmt"
	"math/rand/v2"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

// Mismatch returns a generator of outcomes with one mismatch whose boundary is bug, so that each bug has a signature of its
// own; the stacks above the boundary differ from trial to trial.
func Mismatch(bug string) func(*misstepv1.Recipe, *rand.Rand) *misstepv1.Outcome {
	return func(_ *misstepv1.Recipe, random *rand.Rand) *misstepv1.Outcome {
		frame := func(class, method string) *misstepv1.Frame {
			return &misstepv1.Frame{ClassName: class, Method: method, Descriptor_: "()V"}
		}
		bottom := []*misstepv1.Frame{frame("sim."+bug, "caller"), frame("sim.Main", "main")}
		reference := append([]*misstepv1.Frame{frame("sim."+bug, "callee")}, bottom...)
		for i := range random.IntN(5) {
			reference = append([]*misstepv1.Frame{frame("sim.Top", fmt.Sprintf("m%d", i))}, reference...)
		}
		return &misstepv1.Outcome{
			Kind:   misstepv1.OutcomeKind_OUTCOME_KIND_MISMATCHES,
			Reason: "simulated mismatch " + bug,
			Mismatches: []*misstepv1.Mismatch{{
				Check: recipe.GstAsgct, Kind: "truncated", Divergence: 2, Thread: "main",
				Sequence: random.Uint64N(1 << 20), Count: 1 + random.Uint64N(9),
				Reference: &misstepv1.Trace{Source: "gst", Frames: reference, NumFrames: int32(len(reference))}, // at most 7
				Suspect:   &misstepv1.Trace{Source: "asgct", Frames: bottom, NumFrames: 2},
			}},
		}
	}
}

// Crash returns a generator of outcomes of a JVM that crashed in a function.
func Crash(function string) func(*misstepv1.Recipe, *rand.Rand) *misstepv1.Outcome {
	return func(*misstepv1.Recipe, *rand.Rand) *misstepv1.Outcome {
		frame := "V  [libjvm.so+0x123456]  " + function + "+0x12"
		return &misstepv1.Outcome{
			Kind: misstepv1.OutcomeKind_OUTCOME_KIND_CRASH, Reason: "SIGSEGV (0xb) " + frame, ExitCode: -1, Signal: 6,
			Crash: &misstepv1.Crash{
				Error: "SIGSEGV (0xb)", ProblematicFrame: frame, Thread: `JavaThread "main" [_thread_in_Java]`,
				NativeFrames: []string{frame, "V  [libjvm.so+0x654321]  AsyncGetCallTrace+0x1"}, InWalk: true, Phase: "walk",
			},
		}
	}
}

// Of returns a generator of outcomes of a kind with nothing but a reason.
func Of(kind misstepv1.OutcomeKind, reason string) func(*misstepv1.Recipe, *rand.Rand) *misstepv1.Outcome {
	return func(*misstepv1.Recipe, *rand.Rand) *misstepv1.Outcome {
		outcome := &misstepv1.Outcome{Kind: kind, Reason: reason}
		switch kind {
		case misstepv1.OutcomeKind_OUTCOME_KIND_HANG:
			outcome.Hang = &misstepv1.Hang{Cause: "limit"}
		case misstepv1.OutcomeKind_OUTCOME_KIND_APPLICATION_FAILURE:
			outcome.ApplicationFailure = &misstepv1.ApplicationFailure{Reason: "validation", Message: reason}
		default:
		}
		return outcome
	}
}
