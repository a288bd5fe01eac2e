package compared_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/app/compared"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

const vm = "async-profiler,1ms,cstack=vm"

// A profiler that compared one of thousands of samples is told as such, and its bound is what one comparison allows.
func TestAWalkerThatHardlyComparedAnything(t *testing.T) {
	rows := compared.Of("jdk28", vm, []*misstepv1.CheckCount{
		{
			Check: recipe.ProfilerShadow, Total: 4795, Match: 1, Unwalkable: map[int32]uint64{-1: 4700},
			Void: map[string]uint64{"clock": 94},
		},
		{Check: recipe.ShadowGst, Total: 1000, Match: 990, Tolerated: map[string]uint64{"null-method-id": 10}},
	}, nil)
	require.Len(t, rows, 2)
	assert.Equal(t, "async-profiler,cstack=vm", rows[0].Walker)
	assert.InDelta(t, 0.975, rows[0].UpTo, 1e-6)
	assert.Equal(t, []string{
		"async-profiler,cstack=vm on jdk28 hardly gave anything to compare (profiler-shadow): 4795 asked, 1 compared, 4700 lost, " +
			"94 void, 0 cut; whether it is right is not known",
	}, compared.Doubts(rows))
	assert.Equal(t, recipe.WalkerGst, rows[1].Walker)
	assert.EqualValues(t, 1000, rows[1].Compared, "what a rule tolerates was compared")
	assert.Empty(t, rows[1].Doubt())
	assert.Contains(t, compared.UpTo(rows), "at most 98 % of what is compared is wrong (profiler-shadow on jdk28")
}

// From a twentieth on, lost samples are told; below they are not.
func TestLostSamplesAreTold(t *testing.T) {
	of := func(lost uint64) compared.Row {
		return compared.Of("", "none", []*misstepv1.CheckCount{
			{Check: recipe.AsgctShadow, Total: 1000, Match: 1000 - lost, Unwalkable: map[int32]uint64{-5: lost}},
		}, nil)[0]
	}
	assert.Empty(t, of(49).Doubt())
	assert.Equal(t, "AsyncGetCallTrace lost 42% of its stacks (asgct-shadow): 1000 asked, 580 compared, 420 lost, 0 void, 0 cut; "+
		"of lost ones nothing is known", of(420).Doubt())
	assert.InDelta(t, 0.004, of(50).UpTo, 0.0002)
}

// A bound is for what had no mismatch at all.
func TestNoBoundWhereSomethingIsWrong(t *testing.T) {
	rows := compared.OfOutcome("jdk25", nil, &misstepv1.Outcome{
		Checks: []*misstepv1.CheckCount{
			{Check: recipe.GstAsgct, Total: 10, Match: 7, Mismatch: 3}, {Check: recipe.Liveness, Total: 5, Match: 5},
		},
		Mismatches: []*misstepv1.Mismatch{
			{Check: recipe.GstAsgct, Kind: "truncated", Count: 2}, {Check: recipe.GstAsgct, Kind: "extra"},
		},
	})
	assert.EqualValues(t, 2, rows[0].Cut)
	assert.Zero(t, rows[0].UpTo)
	assert.Zero(t, rows[1].UpTo, "it finds no wrong stacks")
	assert.Empty(t, compared.UpTo(rows))
	assert.Empty(t, compared.UpTo(nil))
}

// JDKs and walkers are kept apart; what no profiler has to do with is added up over profilers.
func TestCampaignsByJDKAndWalker(t *testing.T) {
	on := func(jdk, profiler string, match uint64) *misstepv1.ComparedOn {
		return &misstepv1.ComparedOn{Jdk: jdk, Profiler: profiler, Checks: []*misstepv1.CheckCount{
			{Check: recipe.ProfilerShadow, Total: 100, Match: match, Void: map[string]uint64{"clock": 100 - match}},
			{Check: recipe.ShadowGst, Total: 10, Match: 10},
		}}
	}
	rows := compared.OfCampaign(&misstepv1.CampaignStatus{Compared: []*misstepv1.ComparedOn{
		on("jdk28", vm, 1), on("jdk17", "async-profiler,1ms", 90), on("jdk28", "async-profiler,1ms", 80), on("jdk17", vm, 95),
	}})
	var got []string
	for _, r := range rows {
		got = append(got, r.JDK+" "+r.Walker+" "+r.Check)
	}
	assert.Equal(t, []string{
		"jdk17 GetStackTrace shadow-gst", "jdk17 async-profiler profiler-shadow", "jdk17 async-profiler,cstack=vm profiler-shadow",
		"jdk28 GetStackTrace shadow-gst", "jdk28 async-profiler profiler-shadow", "jdk28 async-profiler,cstack=vm profiler-shadow",
	}, got)
	assert.EqualValues(t, 20, rows[0].Asked)
	assert.Len(t, compared.Doubts(rows), 1)
}

// The walks of Thread.getAllStackTraces(), most of those that samplers compares, are no bound for the profiler.
func TestNoBoundByWalksThatAreNotTheProfilers(t *testing.T) {
	rows := compared.Of("jdk25", "jfr,10ms", []*misstepv1.CheckCount{{Check: recipe.Samplers, Total: 30000, Match: 30000}}, nil)
	assert.Zero(t, rows[0].UpTo)
	assert.EqualValues(t, 30000, rows[0].Compared)
}
