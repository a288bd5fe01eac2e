package campaign_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"misstep/coordinator/campaign"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

func profiled() *misstepv1.Campaign {
	return &misstepv1.Campaign{
		Name: "profiled", Jdks: []string{"8", "25"}, Workloads: []*misstepv1.CampaignWorkload{{Name: "w"}},
		FlagSets: []*misstepv1.FlagSet{{Name: "default"}, {Name: "int", Flags: []string{"-Xint"}}},
		Profiler: []*misstepv1.Profiler{
			{Name: "none"},
			{Name: "jfr", Interval: durationpb.New(time.Millisecond)},
			{Name: "async-profiler", Options: []string{"cstack=vm"}},
		},
		Checks: []*misstepv1.Check{{Name: "jfr-shadow"}, {Name: "liveness"}, {Name: "samplers"}},
		Budget: &misstepv1.Budget{Trials: 1},
	}
}

// combinations lists JDK, flag set, profiler, checks, and whether methods are instrumented.
func combinations(e ordered) (all []string) {
	for i := range e.Size() {
		r := e.Recipe(i)
		var checks []string
		for _, c := range r.GetChecks() {
			checks = append(checks, c.GetName())
		}
		all = append(all, fmt.Sprintf("%s %s %s: %s, %t", r.GetJdk().GetName(), r.GetFlagSet(), recipe.ProfilerText(r.GetProfiler()),
			strings.Join(checks, " "), r.GetInstrumentation() != nil))
	}
	return all
}

// A profiler is a dimension: each of its alternatives is combined with all others, with the checks that it permits and what these
// use. A JDK that lacks it is left out for it.
func TestProfilersAreADimension(t *testing.T) {
	c := profiled()
	require.Empty(t, campaign.Validate(c))
	s := submission(c)
	s.Unsuited = []*misstepv1.Unsuited{{Jdk: "8", Profiler: "jfr", Reason: "the build has no JFR"}}
	e := expand(t, s)
	require.Equal(t, []string{"profiler jfr on 8: the build has no JFR"}, e.Skipped())
	require.ElementsMatch(t, []string{
		"8 default none: liveness, false", "8 int none: liveness, false",
		"8 default async-profiler,cstack=vm: liveness samplers, false", "8 int async-profiler,cstack=vm: liveness samplers, false",
		"25 default none: liveness, false", "25 int none: liveness, false",
		"25 default jfr,1ms: jfr-shadow liveness samplers, true", "25 int jfr,1ms: jfr-shadow liveness samplers, true",
		"25 default async-profiler,cstack=vm: liveness samplers, false", "25 int async-profiler,cstack=vm: liveness samplers, false",
	}, combinations(e))
	for i := range e.Size() {
		r := e.Recipe(i)
		assert.Empty(t, recipe.Validate(r), r)
		assert.True(t, recipe.Runnable(r), r)
	}

	s.Unsuited = append(s.Unsuited, &misstepv1.Unsuited{Jdk: "25", Profiler: "jfr", Reason: "nor has it"})
	_, err := campaign.NewExpansion(s)
	require.EqualError(t, err, "profiler[1].name: no JDK of the campaign can run jfr: 8: the build has no JFR; 25: nor has it")
}

// A profiler whose recordings no check judges runs without checks.
func TestAProfilerWithoutChecks(t *testing.T) {
	c := profiled()
	c.Checks, c.Jdks, c.FlagSets = []*misstepv1.Check{{Name: "jfr-chunks"}}, []string{"25"}, nil
	require.Len(t, campaign.Validate(c), 1, "a trial without a profiler and without a check would do nothing")
	c.Profiler = c.GetProfiler()[1:]
	require.Empty(t, campaign.Validate(c))
	require.ElementsMatch(t, []string{"25  jfr,1ms: jfr-chunks, false", "25  async-profiler,cstack=vm: , false"},
		combinations(expansion(t, c)))
}

// Where the checks follow, they follow the profiler, too.
func TestChecksFollowTheProfiler(t *testing.T) {
	c := profiled()
	c.Checks, c.Jdks, c.FlagSets = nil, []string{"25"}, nil
	require.Empty(t, campaign.Validate(c))
	require.ElementsMatch(t, []string{
		"25  none: gst-asgct shadow-gst asgct-shadow asgct-gst-bracket edges liveness, true",
		"25  jfr,1ms: gst-asgct shadow-gst asgct-shadow asgct-gst-bracket edges liveness jfr-shadow samplers jfr-chunks " +
			"event-edges, true",
		"25  async-profiler,cstack=vm: gst-asgct shadow-gst asgct-shadow asgct-gst-bracket edges liveness profiler-shadow samplers " +
			"event-edges, true",
	}, combinations(expansion(t, c)))
}

// A campaign that names no profiler has the combinations that it had before there were any, in their order.
func TestNoProfilerIsNoDimension(t *testing.T) {
	plain, none := profiled(), profiled()
	plain.Checks, none.Checks = nil, nil
	plain.Profiler, none.Profiler = nil, []*misstepv1.Profiler{{Name: "none"}}
	a, b := expansion(t, plain), expansion(t, none)
	require.Equal(t, a.Size(), b.Size())
	for i := range a.Size() {
		require.True(t, proto.Equal(a.Recipe(i), b.Recipe(i)))
		require.Nil(t, a.Recipe(i).GetProfiler(), "the canonical text stays as it was")
	}
}
