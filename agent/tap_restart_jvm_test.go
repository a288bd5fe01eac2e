package agent

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// recorded runs the program Recorded with profilers one after the other, under a tap, and returns what the tap noted and the
// samples of each recording.
func recorded(t *testing.T, j jvm, o Options, seconds string, profilers ...string) (Tap, [][]sample) {
	t.Helper()
	folder := t.TempDir()
	o.Out, o.Seed, o.Tap, o.Include = t.TempDir(), 1, "both", []string{"Recorded*"}
	r := runWith(t, built(t), j, o, nil, append([]string{"Recorded", seconds, folder}, profilers...)...)
	require.NoError(t, r.err, r.output)
	require.Contains(t, r.output, fmt.Sprint("recorded: ", len(profilers)))
	tap, err := ReadTap(filepath.Join(o.Out, FileTap))
	require.NoError(t, err)
	require.True(t, tap.Ended)
	var all [][]sample
	for i := range profilers {
		all = append(all, samples(t, j, filepath.Join(folder, fmt.Sprint(i, ".jfr"))))
	}
	return tap, all
}

// requireNear asserts that there are samples of a kind, and that nearly all have a call of the signal's handler at their time.
func requireNear(t *testing.T, tap *Tap, all []sample, kind string, signal uint32, least int) {
	t.Helper()
	d, agree := distances(tap, all, kind, signal)
	near, _ := slices.BinarySearch(d, 20_001)
	t.Logf("%s: %d samples, %d near a call of signal %d; %v", kind, countOf(all, kind), near, signal, agree)
	require.GreaterOrEqual(t, countOf(all, kind), least, kind)
	require.GreaterOrEqual(t, 10*near, 9*countOf(all, kind), "%s with a call at their time", kind)
}

// A recording that starts after another has stopped has all its samples: JFR's CPU-time sampler does not start where it finds
// another's handler (HotSpot: JfrCPUSamplerThread::init_timers).
func TestTapLetsJFRStartAgain(t *testing.T) {
	for _, j := range jvms(t) {
		t.Run(j.String(), func(t *testing.T) {
			tap, all := recorded(t, j, Options{}, "3", "jfr", "jfr", "jfr")
			for _, one := range all {
				requireNear(t, &tap, one, execution, tap.Signals[1], 50)
				if j.feature >= 25 {
					requireNear(t, &tap, one, cpuTime, tap.Signals[0], 50)
				}
			}
		})
	}
}

// The JVM takes the signal by which it suspends threads from this variable (HotSpot: PosixSignals::SR_initialize).
func TestTapFindsTheSuspendSignal(t *testing.T) {
	t.Setenv("_JAVA_SR_SIGNUM", "41")
	for _, j := range jvms(t) {
		t.Run(j.String(), func(t *testing.T) {
			tap, all := recorded(t, j, Options{}, "3", "jfr")
			require.EqualValues(t, 41, tap.Signals[1])
			requireNear(t, &tap, all[0], execution, 41, 50)
		})
	}
}

// A profiler that stops and starts again is tapped each time, and so is one after it. The other way round async-profiler would take
// another signal, as it does where SIGPROF has a handler (os_linux.cpp, getProfilingSignal): JFR's of 25 stays installed.
func TestTapFollowsProfilersOneAfterTheOther(t *testing.T) {
	library := profiler(t)
	for _, j := range jvms(t) {
		t.Run(j.String(), func(t *testing.T) {
			// Three seconds, since a busy machine leaves a sampler a fraction of its samples.
			tap, all := recorded(t, j, Options{}, "3", library, library, "jfr")
			for _, one := range all[:2] {
				requireNear(t, &tap, one, execution, tap.Signals[0], 50)
			}
			requireNear(t, &tap, all[2], execution, tap.Signals[1], 50)
		})
	}
}

// The agent's own sampler, by a signal of its own, works beside a tap.
func TestTapBesideTheAgentsSampler(t *testing.T) {
	for _, j := range jvms(t) {
		t.Run(j.String(), func(t *testing.T) {
			recording := filepath.Join(t.TempDir(), "r.jfr")
			o := Options{
				Out: t.TempDir(), Seed: 1, Tap: "both", TapAsgct: 0.2, Include: []string{"Mixed*"}, Signal: "SIGVTALRM",
				Interval: time.Millisecond, Checks: map[string]float64{"asgct-shadow": 1, "gst-asgct": 0.001},
			}
			r := runWith(t, built(t), j, o, recordingFlags(j, recording), "Mixed", "4", "2")
			requireSound(t, r)
			check := r.check("asgct-shadow")
			t.Logf("%d samples answered, %d match, void %v", r.status.Answered, check.Match, check.Void)
			require.Greater(t, check.Match, uint64(100))
			tap, err := ReadTap(filepath.Join(o.Out, FileTap))
			require.NoError(t, err)
			require.True(t, tap.Ended)
			require.Equal(t, tap.Called[0]+tap.Called[1], uint64(len(tap.Calls))+tap.Lost.Sum())
			all := samples(t, j, recording)
			requireNear(t, &tap, all, execution, tap.Signals[1], 100)
			if j.feature >= 25 {
				requireNear(t, &tap, all, cpuTime, tap.Signals[0], 50)
			}
		})
	}
}
