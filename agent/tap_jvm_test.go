package agent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// sample is one event of a recording with a stack trace that a signal led to.
type sample struct {
	kind string
	tid  uint32
	at   uint64 // CLOCK_REALTIME nanoseconds
}

// samples reads the samples of a recording by the JDK's own tool.
func samples(t *testing.T, j jvm, path string) []sample {
	t.Helper()
	type thread struct{ OSThreadID uint32 }
	var recording struct {
		Recording struct {
			Events []struct {
				Type   string
				Values struct {
					StartTime                  time.Time
					SampledThread, EventThread thread
				}
			}
		}
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(j.home, "bin", "jfr"), "print", "--json", "--stack-depth", "1",
		"--events", "jdk.ExecutionSample,jdk.CPUTimeSample", path)
	output, err := cmd.Output()
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(output, &recording))
	var all []sample
	for _, e := range recording.Recording.Events {
		tid := cmp.Or(e.Values.SampledThread.OSThreadID, e.Values.EventThread.OSThreadID)
		all = append(all, sample{e.Type, tid, uint64(e.Values.StartTime.UnixNano())})
	}
	return all
}

// distances returns for each sample of a kind how far it lies outside of the window of the nearest call, one of the signal's, of
// its thread, in nanoseconds; sorted, those without a call left out.
func distances(tap *Tap, all []sample, kind string, signal uint32) (sorted []int64) {
	for _, s := range all {
		if s.kind != kind {
			continue
		}
		best := int64(-1)
		for _, c := range tap.Calls {
			if c.TID != s.tid || c.Signal != signal {
				continue
			}
			away := max(int64(tap.Realtime(c.BeginNanos)-s.at), int64(s.at-tap.Realtime(c.EndNanos)), 0)
			if best < 0 || away < best {
				best = away
			}
		}
		if best >= 0 {
			sorted = append(sorted, best)
		}
	}
	slices.Sort(sorted)
	return sorted
}

func countOf(all []sample, kind string) (n int) {
	for _, s := range all {
		if s.kind == kind {
			n++
		}
	}
	return n
}

const (
	execution = "jdk.ExecutionSample"
	cpuTime   = "jdk.CPUTimeSample"
)

// recordingFlags switch a recording on in which JFR samples each millisecond.
func recordingFlags(j jvm, path string) []string {
	flags := "-XX:StartFlightRecording:filename=" + path + ",jdk.ExecutionSample#enabled=true,jdk.ExecutionSample#period=1ms"
	if j.feature >= 25 {
		flags += ",jdk.CPUTimeSample#enabled=true,jdk.CPUTimeSample#throttle=1ms"
	}
	return []string{flags}
}

// JFR's samples have a call of its handler, noted by the tap, at their own time, and the tap costs little.
func TestTapNotesTheCallsOfJFR(t *testing.T) {
	a := built(t)
	for _, j := range jvms(t) {
		t.Run(j.String(), func(t *testing.T) {
			recording := filepath.Join(t.TempDir(), "r.jfr")
			o := Options{Out: t.TempDir(), Seed: 1, Tap: "both", Include: []string{"Mixed*"}}
			r := runWith(t, a, j, o, recordingFlags(j, recording), "Mixed", "4", "1")
			require.NoError(t, r.err, r.output)
			tap, err := ReadTap(filepath.Join(o.Out, FileTap))
			require.NoError(t, err)
			require.True(t, tap.Ended)
			require.Zero(t, tap.Cut)
			require.EqualValues(t, tap.Called[0]+tap.Called[1], uint64(len(tap.Calls))+tap.Lost.Sum(), "each call has a record or is lost")
			require.NotEmpty(t, tap.Names)
			var own []int64
			shadows := 0
			for _, c := range tap.Calls {
				own = append(own, int64(c.BeginNanos-c.EnterNanos))
				if len(c.Entries) > 0 {
					shadows++
				}
			}
			slices.Sort(own)
			t.Logf("calls %v, lost %+v, %d with entries, %d names; a tap's own time: median %d ns, p90 %d, p99 %d", tap.Called, tap.Lost,
				shadows, len(tap.Names), own[len(own)/2], own[len(own)*9/10], own[len(own)*99/100])
			require.Positive(t, shadows)
			all := samples(t, j, recording)
			kinds := map[string]uint32{execution: tap.Signals[1]}
			if j.feature >= 25 {
				kinds[cpuTime] = tap.Signals[0]
			}
			for kind, signal := range kinds {
				d := distances(&tap, all, kind, signal)
				require.NotEmpty(t, d, kind)
				near, _ := slices.BinarySearch(d, 20_001)
				inside, _ := slices.BinarySearch(d, 1)
				t.Logf("%s: %d events, %d with a call of their thread: %d in its window, %d within 20 µs; median %d ns outside, p90 %d, p99 %d",
					kind, countOf(all, kind), len(d), inside, near, d[len(d)/2], d[len(d)*9/10], d[len(d)*99/100])
				require.Greater(t, 2*near, countOf(all, kind), kind)
			}
		})
	}
}

// The tap changes no sampler's rate: side by side, in turns.
func TestTapLeavesTheRateAlone(t *testing.T) {
	a := built(t)
	for _, j := range jvms(t) {
		t.Run(j.String(), func(t *testing.T) {
			counts := map[string]map[bool]int{execution: {}, cpuTime: {}}
			for range 2 {
				for _, on := range []bool{false, true} {
					recording := filepath.Join(t.TempDir(), fmt.Sprint(on, ".jfr"))
					o := Options{Out: t.TempDir(), Seed: 1, Include: []string{"Mixed*"}, Checks: map[string]float64{"gst-asgct": 0.000001}}
					if on {
						o.Tap = "both"
					}
					r := runWith(t, a, j, o, recordingFlags(j, recording), "Mixed", "4", "1")
					require.NoError(t, r.err, r.output)
					for _, s := range samples(t, j, recording) {
						counts[s.kind][on]++
					}
					_ = os.Remove(recording)
				}
			}
			for kind, n := range counts {
				t.Logf("%s: %d events without the tap, %d with it", kind, n[false], n[true])
				require.Less(t, n[false], 2*n[true]+20, kind)
				require.Less(t, n[true], 2*n[false]+20, kind)
			}
		})
	}
}
