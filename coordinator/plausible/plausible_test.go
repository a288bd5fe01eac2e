package plausible_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"misstep/coordinator/plausible"
	misstepv1 "misstep/proto/misstep/v1"
)

const (
	clean      = misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN
	mismatches = misstepv1.OutcomeKind_OUTCOME_KIND_MISMATCHES
	crash      = misstepv1.OutcomeKind_OUTCOME_KIND_CRASH
	hang       = misstepv1.OutcomeKind_OUTCOME_KIND_HANG
	void       = misstepv1.OutcomeKind_OUTCOME_KIND_VOID
)

func recipe() *misstepv1.Recipe {
	return &misstepv1.Recipe{
		Jdk: &misstepv1.Jdk{Name: "17"}, Workload: &misstepv1.Workload{Name: "w"}, Seed: 7,
		Checks: []*misstepv1.Check{{Name: "gst-asgct"}, {Name: "edges"}},
	}
}

func outcome() *misstepv1.Outcome {
	return &misstepv1.Outcome{
		Kind: clean, Wall: durationpb.New(time.Second), Started: timestamppb.Now(),
		Checks: []*misstepv1.CheckCount{
			{Check: "gst-asgct", Total: 8, Match: 5, Tolerated: map[string]uint64{"r": 1}, Void: map[string]uint64{"lost": 2}},
			{Check: "edges", Total: 3, Match: 3},
		},
		Perturbation: &misstepv1.PerturbationReport{Strategy: misstepv1.StrategyNone},
		Evidence:     []*misstepv1.Evidence{{Name: "stdout.txt", Size: 100}},
	}
}

// What a runner really reports is let through: each kind of outcome, with what its JVM left undone.
func TestWhatARunCanGive(t *testing.T) {
	for name, change := range map[string]func(*misstepv1.Outcome){
		"clean": func(*misstepv1.Outcome) {},
		"mismatches": func(o *misstepv1.Outcome) {
			o.Kind = mismatches
			o.Checks[1].Total, o.Checks[1].Mismatch = 5, 2
			o.Mismatches = []*misstepv1.Mismatch{{Check: "edges", Kind: "impossible-edge", Count: 2}}
		},
		"crash before any check": func(o *misstepv1.Outcome) {
			o.Kind, o.Crash, o.Checks = crash, &misstepv1.Crash{}, []*misstepv1.CheckCount{{Check: "gst-asgct"}, {Check: "edges"}}
		},
		"crash between a mismatch and its count": func(o *misstepv1.Outcome) {
			o.Kind, o.Crash = crash, &misstepv1.Crash{}
			o.Mismatches = []*misstepv1.Mismatch{{Check: "edges", Kind: "code", Count: 1}}
		},
		"crash of a hung JVM": func(o *misstepv1.Outcome) { o.Kind, o.Crash, o.Hang = crash, &misstepv1.Crash{}, &misstepv1.Hang{} },
		"hang":                func(o *misstepv1.Outcome) { o.Kind, o.Hang = hang, &misstepv1.Hang{Cause: "limit"} },
		"void":                func(o *misstepv1.Outcome) { o.Kind, o.Checks[0] = void, &misstepv1.CheckCount{Check: "gst-asgct"} },
		"ejected":             func(o *misstepv1.Outcome) { o.Kind, o.Checks = void, nil },
		"slow machine":        func(o *misstepv1.Outcome) { o.Wall = durationpb.New(time.Hour) },
	} {
		o := outcome()
		change(o)
		require.NoError(t, plausible.Outcome(o, recipe()), name)
	}
}

func TestWhatNoRunGives(t *testing.T) {
	for want, change := range map[string]func(*misstepv1.Outcome){
		`check "liveness"`: func(o *misstepv1.Outcome) { o.Checks[1].Check = "liveness" },
		"counted twice":    func(o *misstepv1.Outcome) { o.Checks[1] = o.Checks[0] },
		"do not add up":    func(o *misstepv1.Outcome) { o.Checks[0].Total = 9 },
		"to its total, 7": func(o *misstepv1.Outcome) {
			o.Checks[0] = &misstepv1.CheckCount{Check: "gst-asgct", Total: 7, Match: 8, Mismatch: math.MaxUint64}
		},
		"mismatch 0": func(o *misstepv1.Outcome) {
			o.Kind, o.Mismatches = mismatches, []*misstepv1.Mismatch{{Check: "liveness", Kind: "code"}}
		},
		"describes a crash": func(o *misstepv1.Outcome) { o.Crash = &misstepv1.Crash{} },
		"describes a hang":  func(o *misstepv1.Outcome) { o.Hang = &misstepv1.Hang{} },
		"describes no fail": func(o *misstepv1.Outcome) { o.Kind = misstepv1.OutcomeKind_OUTCOME_KIND_APPLICATION_FAILURE },
		"does not ask for": func(o *misstepv1.Outcome) {
			o.Kind = misstepv1.OutcomeKind_OUTCOME_KIND_APPLICATION_FAILURE
			o.ApplicationFailure = &misstepv1.ApplicationFailure{Reason: "validation", Finding: true}
		},
		"has mismatches": func(o *misstepv1.Outcome) {
			o.Checks[1].Total, o.Checks[1].Mismatch = 4, 1
			o.Mismatches = []*misstepv1.Mismatch{{Check: "edges", Kind: "code"}}
		},
		"not count every":   func(o *misstepv1.Outcome) { o.Checks = o.Checks[:1] },
		"observed nothing":  func(o *misstepv1.Outcome) { o.Checks[0] = &misstepv1.CheckCount{Check: "gst-asgct"} },
		"asks for none":     func(o *misstepv1.Outcome) { o.Perturbation.Strategy = "delay" },
		"wall: expected":    func(o *misstepv1.Outcome) { o.Wall = durationpb.New(-1) },
		"cpu: expected":     func(o *misstepv1.Outcome) { o.Cpu = durationpb.New(math.MaxInt64) },
		"started: no valid": func(o *misstepv1.Outcome) { o.Started = &timestamppb.Timestamp{Nanos: -1} },
		"a second":          func(o *misstepv1.Outcome) { o.Evidence = append(o.Evidence, o.Evidence[0]) },
		"may leave":         func(o *misstepv1.Outcome) { o.Evidence[0].Size = math.MaxUint64 },
		"for a coordinator": func(o *misstepv1.Outcome) { o.Aged = true },
		fmt.Sprint("at most ", plausible.MaxBytes): func(o *misstepv1.Outcome) { o.Reason = strings.Repeat("x", plausible.MaxBytes) },
	} {
		o := outcome()
		change(o)
		assert.ErrorContains(t, plausible.Outcome(o, recipe()), want)
	}
}

func TestDigestNamesTheRecipe(t *testing.T) {
	o := outcome()
	require.ErrorContains(t, plausible.Digest(o, recipe()), "another recipe")
	digest, err := misstepv1.RecipeDigest(recipe())
	require.NoError(t, err)
	o.RecipeDigest = digest
	require.NoError(t, plausible.Digest(o, recipe()))
	other := recipe()
	other.Seed++
	require.ErrorContains(t, plausible.Digest(o, other), "another recipe")
}

// A trial may leave what its limits allow, and never more than the bound.
func TestAllowance(t *testing.T) {
	r := recipe()
	assert.Equal(t, uint64(512+2*16+128)<<20, plausible.Allowance(r).Bytes)
	r.Limits = &misstepv1.Limits{DiskMib: 1 << 22}
	assert.Equal(t, uint64(1<<30), plausible.Allowance(r).Bytes)
}

// Any message at all is judged without a panic, and one that passes has verdicts that add up and checks of its recipe.
func FuzzOutcome(f *testing.F) {
	for _, change := range []func(*misstepv1.Outcome){
		func(*misstepv1.Outcome) {},
		func(o *misstepv1.Outcome) { o.Kind, o.Crash = crash, &misstepv1.Crash{Error: "SIGSEGV (0xb)"} },
		func(o *misstepv1.Outcome) { o.Checks[0].Total = math.MaxUint64 },
		func(o *misstepv1.Outcome) { o.Wall = &durationpb.Duration{Seconds: math.MinInt64} },
		func(o *misstepv1.Outcome) { o.Evidence[0].Name = "../x" },
	} {
		o := outcome()
		change(o)
		raw, err := proto.Marshal(o)
		require.NoError(f, err)
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		o := &misstepv1.Outcome{}
		if proto.Unmarshal(raw, o) != nil || plausible.Outcome(o, recipe()) != nil {
			return
		}
		for _, c := range o.GetChecks() {
			assert.Contains(t, []string{"gst-asgct", "edges"}, c.GetCheck())
			assert.LessOrEqual(t, c.GetMatch(), c.GetTotal())
			assert.LessOrEqual(t, c.GetMismatch(), c.GetTotal())
		}
		assert.GreaterOrEqual(t, o.GetWall().AsDuration(), time.Duration(0))
	})
}
