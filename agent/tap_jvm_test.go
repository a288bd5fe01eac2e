package agent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// sample is one event of a recording with a stack trace that a signal led to.
type sample struct {
	kind string
	tid  uint32
	at   uint64 // CLOCK_REALTIME nanoseconds
	// methods are the trace's, top first, as abi.h names them; truncated traces end early.
	methods   []string
	truncated bool
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
					StackTrace                 struct {
						Truncated bool
						Frames    []struct {
							Method struct {
								Name, Descriptor string
								Type             struct{ Name string }
							}
						}
					}
				}
			}
		}
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(j.home, "bin", "jfr"), "print", "--json", "--stack-depth", "64",
		"--events", "jdk.ExecutionSample,jdk.CPUTimeSample", path)
	output, err := cmd.Output()
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(output, &recording))
	var all []sample
	for _, e := range recording.Recording.Events {
		tid := cmp.Or(e.Values.SampledThread.OSThreadID, e.Values.EventThread.OSThreadID)
		s := sample{kind: e.Type, tid: tid, at: uint64(e.Values.StartTime.UnixNano()), truncated: e.Values.StackTrace.Truncated}
		for _, f := range e.Values.StackTrace.Frames {
			s.methods = append(s.methods, strings.ReplaceAll(f.Method.Type.Name, ".", "/")+"."+f.Method.Name+f.Method.Descriptor)
		}
		all = append(all, s)
	}
	return all
}

// agreement compares a sample with the shadow of a call at its time: "equal", "below" where the trace is the shadow without its
// newest entries, "above" where it has more on top, "truncated" where the trace ends early and agrees until then, otherwise
// "different". Only methods that the tap names are looked at.
func agreement(tap *Tap, s sample, c TapCall) string {
	named := map[string]bool{}
	for _, name := range tap.Names {
		named[name] = true
	}
	var trace, shadow []string
	for _, m := range s.methods {
		if named[m] {
			trace = append(trace, m)
		}
	}
	for _, id := range slices.Backward(c.Entries) {
		shadow = append(shadow, tap.Names[id])
	}
	switch {
	case !c.Shadow || c.Overflow:
		return "no shadow"
	case len(s.methods) == 0:
		return "no trace"
	case slices.Equal(trace, shadow):
		return "equal"
	case (s.truncated || len(s.methods) == 64) && len(trace) < len(shadow) && slices.Equal(trace, shadow[:len(trace)]):
		return "truncated"
	case s.truncated || len(s.methods) == 64:
		return "truncated, other"
	case len(trace) < len(shadow) && slices.Equal(trace, shadow[len(shadow)-len(trace):]):
		return fmt.Sprint("below by ", len(shadow)-len(trace))
	case len(trace) > len(shadow) && slices.Equal(shadow, trace[len(trace)-len(shadow):]):
		return fmt.Sprint("above by ", len(trace)-len(shadow))
	}
	return "different"
}

// nearest returns the call, one of the signal's, of the sample's thread whose window is nearest to the sample, and how far outside
// of it the sample lies in nanoseconds; -1 where there is none. Of calls that nest it is the outer one.
func nearest(tap *Tap, s sample, signal uint32) (call TapCall, away int64) {
	away = -1
	for _, c := range tap.Calls {
		if c.TID != s.tid || c.Signal != signal {
			continue
		}
		d := max(int64(tap.Realtime(c.BeginNanos)-s.at), int64(s.at-tap.Realtime(c.EndNanos)), 0)
		if away < 0 || d < away {
			call, away = c, d
		}
	}
	return call, away
}

// distances returns for each sample of a kind how far it lies outside of the window of the nearest call, one of the signal's, of
// its thread, in nanoseconds; sorted, those without a call left out.
func distances(tap *Tap, all []sample, kind string, signal uint32) (sorted []int64, agree map[string]int) {
	agree = map[string]int{}
	for _, s := range all {
		if s.kind != kind {
			continue
		}
		call, away := nearest(tap, s, signal)
		if away < 0 {
			continue
		}
		sorted = append(sorted, away)
		agree[agreement(tap, s, call)]++
	}
	slices.Sort(sorted)
	return sorted, agree
}

// shift returns by how much the clock of a recording is ahead of the tap's: most samples are taken at about the same time after a
// call has begun. async-profiler reads the ticks of a recording's start right after the time of day (flightRecorder.cpp), and a
// thread that has to wait for a CPU in between moves all of its samples alike.
func shift(tap *Tap, all []sample, kind string, signal uint32) (ahead int64) {
	const reach, wide = int64(50 * time.Millisecond), int64(20 * time.Microsecond)
	var apart []int64
	for _, s := range all {
		for _, c := range tap.Calls {
			d := int64(s.at - tap.Realtime(c.BeginNanos))
			if s.kind == kind && c.TID == s.tid && c.Signal == signal && -reach < d && d < reach {
				apart = append(apart, d)
			}
		}
	}
	slices.Sort(apart)
	most, first := 0, 0
	for last := range apart {
		for apart[last]-apart[first] > wide {
			first++
		}
		if last-first+1 > most {
			most, ahead = last-first+1, apart[first]
		}
	}
	return ahead
}

// summary counts the events of each type in a recording by the JDK's own tool.
func summary(t *testing.T, j jvm, path string) map[string]int {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), filepath.Join(j.home, "bin", "jfr"), "summary", path).Output()
	require.NoError(t, err)
	counts := map[string]int{}
	for _, m := range regexp.MustCompile(`(?m)^ *(\w+\.\w+) +(\d+) +\d+ *$`).FindAllStringSubmatch(string(output), -1) {
		counts[m[1]], err = strconv.Atoi(m[2])
		require.NoError(t, err)
	}
	return counts
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
			r := runWith(t, a, j, o, recordingFlags(j, recording), "Mixed", "2", "1")
			require.NoError(t, r.err, r.output)
			tap, err := ReadTap(filepath.Join(o.Out, FileTap))
			require.NoError(t, err)
			require.True(t, tap.Ended)
			require.Zero(t, tap.Cut)
			require.Equal(t, tap.Called[0]+tap.Called[1], uint64(len(tap.Calls))+tap.Lost.Sum(), "each has a record or is lost")
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
				d, agree := distances(&tap, all, kind, signal)
				require.NotEmpty(t, d, kind)
				near, _ := slices.BinarySearch(d, 20_001)
				inside, _ := slices.BinarySearch(d, 1)
				t.Logf("%s: %d events, %d with a call of their thread: %d in its window, %d near; median %d ns outside, p90 %d, p99 %d",
					kind, countOf(all, kind), len(d), inside, near, d[len(d)/2], d[len(d)*9/10], d[len(d)*99/100])
				t.Logf("%s against the shadow: %v", kind, agree)
				require.Greater(t, 2*near, countOf(all, kind), kind)
			}
		})
	}
}

// The tap changes no sampler's rate: side by side, with the machine warm or not.
func TestTapLeavesTheRateAlone(t *testing.T) {
	a := built(t)
	for _, j := range jvms(t) {
		t.Run(j.String(), func(t *testing.T) {
			counts := map[string]map[bool]int{execution: {}, cpuTime: {}}
			for _, on := range []bool{false, true, true, false} {
				recording := filepath.Join(t.TempDir(), fmt.Sprint(on, ".jfr"))
				o := Options{
					Out: t.TempDir(), Seed: 1, Include: []string{"Mixed*"}, Checks: map[string]float64{"gst-asgct": 0.000001},
				}
				if on {
					o.Tap = "both"
				}
				r := runWith(t, a, j, o, recordingFlags(j, recording), "Mixed", "2", "1")
				require.NoError(t, r.err, r.output)
				for kind, n := range summary(t, j, recording) {
					if counts[kind] != nil {
						counts[kind][on] += n
					}
				}
				_ = os.Remove(recording)
			}
			for kind, n := range counts {
				t.Logf("%s: %d events without the tap, %d with it", kind, n[false], n[true])
				require.True(t, n[false] > 0 || kind == cpuTime && j.feature < 25, "no %s at all", kind)
				require.Less(t, n[false], 2*n[true]+20, kind)
				require.Less(t, n[true], 2*n[false]+20, kind)
			}
		})
	}
}

// JFR starts before main, in a module of its own, where its classes and those that it needs are instrumented, too.
func TestJFRStartsWhereEverythingIsInstrumented(t *testing.T) {
	a := built(t)
	for _, j := range features(t) {
		if j.feature < 17 { // the program is compiled with 17
			continue
		}
		t.Run(j.String(), func(t *testing.T) {
			recording := filepath.Join(t.TempDir(), "r.jfr")
			o := Options{Out: t.TempDir(), Seed: 1, Tap: "both"}
			r := runWith(t, a, j, o, []string{"-XX:StartFlightRecording=filename=" + recording}, "Mixed", "0", "1")
			require.NoError(t, r.err, r.output)
			require.NotContains(t, r.output, "misstep: ")
			require.FileExists(t, recording)
			list, err := os.ReadFile(filepath.Join(o.Out, FileMethods))
			require.NoError(t, err)
			require.Contains(t, string(list), "\njdk/jfr/")
			require.Contains(t, string(list), "\njava/lang/")
		})
	}
}

// profiler returns the library of async-profiler; it skips the test where there is none.
func profiler(t *testing.T) string {
	t.Helper()
	library, err := filepath.Abs(filepath.Join("..", "build", "profilers", "libasyncProfiler.so"))
	require.NoError(t, err)
	if _, err := os.Stat(library); err != nil {
		t.Skipf("async-profiler is not there: %v; get it with: make profilers", err)
	}
	return library
}

// The samples of async-profiler have a call of its handler at their own time, too.
func TestTapNotesTheCallsOfAsyncProfiler(t *testing.T) {
	library := profiler(t)
	a := built(t)
	for _, j := range jvms(t) {
		for _, walker := range []string{"vm", "no"} {
			t.Run(j.String()+"/"+walker, func(t *testing.T) {
				recording := filepath.Join(t.TempDir(), "r.jfr")
				o := Options{Out: t.TempDir(), Seed: 1, Tap: "prof", Include: []string{"Mixed*"}}
				flag := "-agentpath:" + library + "=start,event=ctimer,interval=1ms,cstack=" + walker + ",jfr,file=" + recording
				r := runWith(t, a, j, o, []string{flag}, "Mixed", "2", "1")
				require.NoError(t, r.err, r.output)
				tap, err := ReadTap(filepath.Join(o.Out, FileTap))
				require.NoError(t, err)
				all := samples(t, j, recording)
				ahead := shift(&tap, all, execution, tap.Signals[0])
				for i := range all {
					all[i].at -= uint64(ahead)
				}
				d, agree := distances(&tap, all, execution, tap.Signals[0])
				require.NotEmpty(t, d)
				near, _ := slices.BinarySearch(d, 20_001)
				t.Logf("%d calls, lost %+v; the recording is %d ns ahead; %d events, %d with a call of their thread, %d within 20 µs; "+
					"median %d ns outside, p99 %d; %v",
					tap.Called[0], tap.Lost, ahead, countOf(all, execution), len(d), near, d[len(d)/2], d[len(d)*99/100], agree)
				require.Greater(t, 2*near, countOf(all, execution))
			})
		}
	}
}
