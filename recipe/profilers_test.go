package recipe_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

func TestTheTableOfProfilers(t *testing.T) {
	judged := map[string]bool{}
	for _, c := range recipe.Checks() {
		for _, name := range c.Profilers {
			_, ok := recipe.FindProfiler(name)
			assert.True(t, ok, "%s: unknown profiler %s", c.Name, name)
			judged[name] = true
		}
		if c.Tap {
			assert.True(t, c.Slot == recipe.NoSlot && c.Methods && len(c.Profilers) > 0, c.Name)
		}
		assert.Equal(t, c.Slot == recipe.NoSlot, len(c.Profilers) > 0, "%s: what else is judged after the trial?", c.Name)
	}
	for _, p := range recipe.Profilers() {
		assert.True(t, judged[p.Name], "no check judges recordings of %s", p.Name)
		assert.NotEmpty(t, p.Meaning+p.Source, p.Name)
		assert.NotContains(t, p.Signals, recipe.AgentSignalBesideProfiler)
	}
	_, ok := recipe.FindProfiler(recipe.ProfilerNone)
	assert.False(t, ok)
}

// The agent is loaded for a check that needs its shadow, sites or stack traces, and only for the part that it has in the check.
func TestWhatChecksOfRecordingsNeed(t *testing.T) {
	for _, c := range recipe.Checks() {
		list := []*misstepv1.Check{{Name: c.Name}}
		shadow := slices.Contains([]string{recipe.JfrShadow, recipe.ProfilerShadow}, c.Name)
		sites := c.Name == recipe.EventEdges
		stacks := c.Name == recipe.Samplers
		assert.Equal(t, c.Slot != recipe.NoSlot || shadow || sites || stacks, recipe.NeedsAgent(list), c.Name)
		assert.Equal(t, sites, recipe.NeedsSites(list), c.Name)
		assert.Equal(t, stacks, recipe.NeedsStacks(list), c.Name)
		assert.Equal(t, shadow, recipe.NeedsTap(list), c.Name)
		if shadow {
			assert.True(t, recipe.NeedsMethods(list), c.Name)
			assert.False(t, recipe.NeedsSignals(list), c.Name)
		}
	}
}

func TestTheSignalBesideAProfiler(t *testing.T) {
	jfr := &misstepv1.Profiler{Name: recipe.ProfilerJFR}
	for want, r := range map[string]*misstepv1.Recipe{
		"":                               {Profiler: &misstepv1.Profiler{Name: recipe.ProfilerNone}},
		"SIGVTALRM":                      {Sampling: &misstepv1.Sampling{Signal: "SIGVTALRM"}, Profiler: jfr},
		recipe.AgentSignalBesideProfiler: {Sampling: recipe.DefaultSampling(), Profiler: jfr},
	} {
		assert.Equal(t, want, recipe.AgentSignal(r))
	}
}

// A check that judges the agent's traces has none where only a recording is judged.
func TestChecksThatFitAProfiler(t *testing.T) {
	fitting := func(profiler string, instrumentation *misstepv1.Instrumentation) []string {
		r := &misstepv1.Recipe{Profiler: &misstepv1.Profiler{Name: profiler}, Instrumentation: instrumentation}
		var list []string
		for _, c := range recipe.FittingChecks(r) {
			list = append(list, c.GetName())
		}
		return list
	}
	none := &misstepv1.Instrumentation{}
	require.Equal(t, []string{"liveness"}, fitting(recipe.ProfilerNone, none))
	require.Equal(t, []string{"liveness", "samplers", "jfr-chunks", "event-edges"}, fitting(recipe.ProfilerJFR, none))
	require.Equal(t, []string{"liveness", "samplers", "event-edges"}, fitting(recipe.ProfilerAsync, none))
	require.Equal(t, []string{"gst-asgct", "shadow-gst", "edges", "liveness", "jfr-shadow", "samplers", "jfr-chunks", "event-edges"},
		fitting(recipe.ProfilerJFR, nil))
	require.Equal(t, []string{"gst-asgct", "shadow-gst", "edges", "liveness", "profiler-shadow", "samplers", "event-edges"},
		fitting(recipe.ProfilerAsync, nil))
}

func TestProfilersAsText(t *testing.T) {
	for text, want := range map[string]*misstepv1.Profiler{
		"none":                            {Name: "none"},
		"jfr":                             {Name: "jfr"},
		"jfr,1ms":                         {Name: "jfr", Interval: durationpb.New(time.Millisecond)},
		"async-profiler,cstack=vmx,alloc": {Name: "async-profiler", Options: []string{"cstack=vmx", "alloc"}},
		"jfr,1.5ms,jdk.ThreadPark#threshold=1 ms": {
			Name: "jfr", Interval: durationpb.New(1500 * time.Microsecond), Options: []string{"jdk.ThreadPark#threshold=1 ms"},
		},
	} {
		got, err := recipe.ParseProfiler(text)
		require.NoError(t, err, text)
		require.True(t, proto.Equal(want, got), "%s: %v", text, got)
		require.Equal(t, text, recipe.ProfilerText(got))
	}
	require.Equal(t, "none", recipe.ProfilerText(nil))
	for text, want := range map[string]string{
		"":                "got nothing: NAME is one of none, jfr, async-profiler",
		"jrf":             "did you mean jfr?",
		"jfr,1ns":         "from 100µs to 1s, got 1ns",
		"jfr,1ms,2ms":     `profiler.options[0]: "2ms" is an interval, which is a field of its own`,
		"none,1ms":        "only with a profiler",
		"async-profiler,": "profiler.options[0]: expected one option",
	} {
		_, err := recipe.ParseProfiler(text)
		require.ErrorContains(t, err, want, text)
	}
}

func TestBoundsOfAProfilersOptions(t *testing.T) {
	problems := func(options ...string) []recipe.Violation {
		return recipe.Validate(&misstepv1.Recipe{Profiler: &misstepv1.Profiler{Name: "jfr", Options: options}})
	}
	require.Empty(t, problems("own.A#b="+strings.Repeat("x", 1000)))
	for _, bad := range []string{"own.A#b=" + strings.Repeat("x", 1100), "own.A#b=\x00", "own.A#b=\n", "", "own.A#b=1,2"} {
		require.Len(t, problems(bad), 1, "%q", bad)
	}
	many := make([]string, 65)
	for i := range many {
		many[i] = fmt.Sprintf("own.A#b%d=1", i)
	}
	require.Empty(t, problems(many[:64]...))
	require.Len(t, problems(many...), 1)
}

// What a recipe's profiler can be reduced by: not itself where the check needs its recording.
func TestAProfilerIsReduced(t *testing.T) {
	r := &misstepv1.Recipe{
		Profiler: &misstepv1.Profiler{
			Name: "jfr", Interval: durationpb.New(time.Millisecond), Options: []string{"maxchunksize=1M", "jdk.ThreadPark#threshold=1ms"},
		},
		Checks:          []*misstepv1.Check{{Name: recipe.JfrShadow}, {Name: recipe.JfrChunks}, {Name: recipe.Liveness}},
		Instrumentation: &misstepv1.Instrumentation{Ratio: 0.5},
	}
	require.Empty(t, recipe.Validate(r))
	for check, itself := range map[string]bool{recipe.JfrShadow: false, recipe.Samplers: false, recipe.Liveness: true, "": true} {
		smaller := proto.CloneOf(r)
		var elements []string
		for _, e := range recipe.Elements(r, check) {
			if e.Kind == "profiler" {
				elements = append(elements, e.Name)
				e.Drop(smaller)
				e.Drop(smaller) // nothing is left to drop
			}
		}
		want := []string{"maxchunksize=1M", "jdk.ThreadPark#threshold=1ms", "interval 1ms"}
		if itself {
			want = append(want, "jfr")
		}
		require.Equal(t, want, elements, check)
		require.Empty(t, recipe.Validate(smaller), check)
		require.True(t, recipe.Runnable(smaller), check)
		if itself {
			require.True(t, proto.Equal(&misstepv1.Recipe{Checks: r.GetChecks()[2:]}, smaller), "%s: %v", check, smaller)
		} else {
			require.True(t, proto.Equal(&misstepv1.Profiler{Name: "jfr"}, smaller.GetProfiler()))
			require.Len(t, smaller.GetChecks(), 3)
		}
	}
	require.False(t, recipe.Runnable(&misstepv1.Recipe{Checks: r.GetChecks()[1:]}), "no recording")
}

// What can be read is written so that it is read again, and is a profiler that recipes may have.
func FuzzParseProfiler(f *testing.F) {
	for _, text := range []string{
		"none", "jfr,1ms,maxchunksize=1M", "async-profiler,cstack=vmx,alloc", "jfr,own.A#b=x=y", "jfr,1ms,1ms",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := recipe.ParseProfiler(text)
		if err != nil {
			return
		}
		again, err := recipe.ParseProfiler(recipe.ProfilerText(p))
		require.NoError(t, err)
		if recipe.HasProfiler(p) {
			require.True(t, proto.Equal(p, again), "%v: %v", p, again)
		}
		require.NoError(t, recipe.ValidateProfiler(p))
	})
}
