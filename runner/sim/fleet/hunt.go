package fleet

import (
	"fmt"
	"math/rand/v2"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

// huntBugs is the number of different findings that outcomes of a hunt show, huntDepth that of the frames of their stacks.
const (
	huntBugs  = 20
	huntDepth = 30
)

// Hunt returns an outcome with all that a real one of campaigns/hunt.yaml has: counts of every check with their rules and reasons,
// signals, evidence, times. One in fifty shows a mismatch.
func Hunt(r *misstepv1.Recipe, random *rand.Rand) *misstepv1.Outcome {
	o := &misstepv1.Outcome{
		Kind: misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN, Started: timestamppb.Now(), Host: "vm", MaxRssBytes: 90 << 20,
		Wall: durationpb.New(time.Second), Cpu: durationpb.New(time.Second),
		Perturbation: &misstepv1.PerturbationReport{Strategy: misstepv1.StrategyNone, Kernel: "6.18.44"},
		Signals:      &misstepv1.SignalCount{Sent: 463, Delivered: 463, Answered: 463},
	}
	o.RecipeDigest, _ = misstepv1.RecipeDigest(r) // without one it is refused
	for _, name := range []string{"agent.log", "command.sh", "status.json", "stdout.txt"} {
		o.Evidence = append(o.Evidence, &misstepv1.Evidence{
			Name: name, Digest: fmt.Sprintf("sha256:%064x", random.Uint64()), Size: 1500,
		})
	}
	for _, check := range r.GetChecks() {
		o.Checks = append(o.Checks, huntCounts(check.GetName(), random.Uint64N(100)))
	}
	if random.IntN(50) > 0 {
		return o
	}
	o.Kind, o.Reason = misstepv1.OutcomeKind_OUTCOME_KIND_MISMATCHES, "1 mismatch"
	bug := fmt.Sprint("hunt.Bug", random.IntN(huntBugs))
	var frames []*misstepv1.Frame
	for i := range huntDepth {
		class := "hunt.Caller"
		if i < 2 {
			class = bug
		}
		frames = append(frames, &misstepv1.Frame{ClassName: class, Method: fmt.Sprint("m", i), Descriptor_: "()V", Bci: int32(i)})
	}
	o.Mismatches = []*misstepv1.Mismatch{{
		Check: recipe.AsgctShadow, Kind: "truncated", Divergence: huntDepth - 1, Thread: "main", Sequence: random.Uint64N(1 << 20),
		Count: 1, Reference: &misstepv1.Trace{Source: "shadow", Frames: frames, NumFrames: huntDepth},
		Suspect: &misstepv1.Trace{Source: "asgct", Frames: frames[1:], NumFrames: huntDepth - 1},
	}}
	for _, c := range o.GetChecks() {
		if c.GetCheck() == recipe.AsgctShadow {
			c.Total, c.Mismatch = c.GetTotal()+1, 1
		}
	}
	return o
}

// huntCounts are those of one check in a trial of some seconds; more is added to its matches.
func huntCounts(check string, more uint64) *misstepv1.CheckCount {
	c := &misstepv1.CheckCount{Check: check, Match: 121 + more}
	switch check {
	case recipe.AsgctShadow:
		c.Tolerated = map[string]uint64{"constructor-prologue": 3, "inline-imprecision": 1, "push-pop-window": 5}
		c.Unwalkable = map[int32]uint64{-6: 7, -5: 33, -4: 14, -3: 19}
	case recipe.Edges:
		c.Match += 8000
		c.Tolerated = map[string]uint64{"native-caller": 161, "vm-upcall": 1160}
	}
	c.Total = c.Match
	for _, n := range c.GetTolerated() {
		c.Total += n
	}
	for _, n := range c.GetUnwalkable() {
		c.Total += n
	}
	return c
}
