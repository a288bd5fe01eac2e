package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/deploy/jdk"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/workloads"
)

// A signature that is a known bug on some JDKs is unexplained on the others, whichever is seen first.
func TestAFamilyIsKnownByJDK(t *testing.T) {
	frame := func(class, method string) *misstepv1.Frame {
		return &misstepv1.Frame{ClassName: class, Method: method, Descriptor_: "()V"}
	}
	frames := []*misstepv1.Frame{
		frame("a.Util", "work"), frame("java.lang.invoke.LambdaForm$DMH", "invokeStatic"),
		frame("a.Main", "run"), frame("a.Main", "main"),
	}
	m := &misstepv1.Mismatch{ // JDK-8302320
		Check: "gst-asgct", Kind: "truncated", Count: 3,
		Reference: &misstepv1.Trace{Source: "gst", Frames: frames, NumFrames: 4},
		Suspect:   &misstepv1.Trace{Source: "asgct", Frames: frames[:2], NumFrames: 2},
	}
	on11 := trialRun{program: program{jdk: jdk.Entry{Name: "jdk11", Version: "11.0.2"}, workload: workloads.Entry{Name: "w"}}}
	on25 := trialRun{program: program{jdk: jdk.Entry{Name: "jdk25", Version: "25.0.3"}, workload: workloads.Entry{Name: "w"}}}
	for _, order := range [][]trialRun{{on11, on25, on25}, {on25, on11, on25}} {
		s := newSpecificity("")
		for _, spec := range order {
			require.NoError(t, s.mismatch(t.Context(), m, nil, spec))
		}
		explained, unexplained := s.split("gst-asgct")
		assert.Equal(t, [2]uint64{3, 6}, [2]uint64{explained, unexplained})
		require.Len(t, s.Families, 2)
		for _, f := range s.Families {
			assert.True(t, f.JDKs[map[string]string{"JDK-8302320": "jdk11", "": "jdk25"}[f.Known]])
			assert.Len(t, f.JDKs, 1)
			assert.Equal(t, f.Known == "", len(f.Examples) > 0, "unexplained ones are kept with both stacks")
		}
	}
}

// Every program runs in every setting, and no run is shorter than a JVM needs.
func TestSettingsShareAProgramsTime(t *testing.T) {
	for _, each := range []time.Duration{24 * time.Second, 27 * time.Second, 45 * time.Second, 100 * time.Second, time.Hour} {
		var sum time.Duration
		for i, limit := range limitsOf(settings, each) {
			require.GreaterOrEqual(t, limit, leastRun)
			require.LessOrEqual(t, limit, mostRun)
			require.True(t, i == 0 || limit >= limitsOf(settings, each)[i-1],
				"settings with fewer checks a second do not have less time")
			sum += limit
		}
		require.LessOrEqual(t, sum, each)
	}
	require.Equal(t, []time.Duration{6 * time.Second, 9 * time.Second, 25 * time.Second}, limitsOf(settings, 40*time.Second))
}

func TestProgramsThatAreSlowToStartGetALongerRun(t *testing.T) {
	require.Equal(t, []time.Duration{leastRun, 4 * leastRun}, turns(leastRun))
	require.Equal(t, []time.Duration{23 * time.Second, mostRun}, turns(23*time.Second))
	require.Equal(t, []time.Duration{mostRun}, turns(mostRun))
}
