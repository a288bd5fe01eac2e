package explain

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/schedule"
)

const us = uint64(time.Microsecond)

// recorder writes the records of a program with a thread main, whose path is 1, and its children, from 2 on.
type recorder struct {
	schedule.Log
	counters map[uint64]uint32
}

func record(threads ...string) *recorder {
	r := &recorder{counters: map[uint64]uint32{}}
	r.Header = schedule.Header{
		Perturbation: schedule.Perturbation{Strategy: "chaos", Seed: 7}, Command: []string{"./program", "<&>"},
	}
	for i, name := range threads {
		t := schedule.Record{Kind: schedule.RecordThread, Path: uint64(i + 1), Comm: name}
		if i > 0 {
			t.Delay, t.Counter = 1, uint32(i-1)
		}
		r.Threads = append(r.Threads, t)
	}
	return r
}

func (r *recorder) add(thread, at uint64, event schedule.Event, delay uint64, marks schedule.Mark) {
	r.Decisions = append(r.Decisions, schedule.Record{
		Kind: schedule.RecordDecision, Path: thread, Elapsed: time.Duration(at * us), Event: event, Delay: delay * us, Slice: 20e6,
		Marks: marks, Comm: r.Threads[thread-1].Comm, Counter: r.counters[thread],
	})
	r.counters[thread]++
}

// run adds a run of a thread, in microseconds.
func (r *recorder) run(thread, from, to uint64, ending schedule.Ending, waker uint64) {
	r.Runs = append(r.Runs, schedule.Record{
		Kind: schedule.RecordRun, Path: thread, Elapsed: time.Duration(from * us), Delay: (to - from) * us, Rank: waker,
		Event: schedule.Event(ending), Comm: r.Threads[thread-1].Comm,
	})
}

// deadlock is a log in which main waits, one and two hand over to each other, then one is delayed while two runs, and both block at
// 700 and 720 µs, until main kills them after a second.
func deadlock() *recorder {
	r := record("main", "one", "two")
	r.add(1, 0, schedule.EventStart, 0, 0)
	r.run(1, 0, 50, schedule.EndingBlocked, 0)
	for i := range uint64(5) {
		at := 100 + 100*i
		r.add(2, at, schedule.EventWakeup, 0, 0)
		r.run(2, at, at+40, schedule.EndingBlocked, 3)
		r.add(3, at+40, schedule.EventWakeup, 0, 0)
		r.run(3, at+50, at+90, schedule.EndingBlocked, 2)
	}
	r.add(2, 600, schedule.EventWakeup, 80, schedule.MarkDelayed)
	r.add(3, 610, schedule.EventWakeup, 0, 0)
	r.run(3, 610, 650, schedule.EndingSlice, 0)
	r.add(3, 651, schedule.EventExpiry, 0, 0)
	r.run(3, 655, 675, schedule.EndingBlocked, 0)
	r.run(2, 690, 700, schedule.EndingBlocked, 3)
	r.add(3, 702, schedule.EventWakeup, 0, 0)
	r.run(3, 705, 720, schedule.EndingBlocked, 0)
	r.add(1, 1_000_000, schedule.EventWakeup, 0, 0)
	r.run(1, 1_000_000, 1_000_100, schedule.EndingExited, 0)
	for _, thread := range []uint64{2, 3} {
		r.add(thread, 1_000_100, schedule.EventWakeup, 0, 0)
		r.run(thread, 1_000_110, 1_000_120, schedule.EndingExited, 1)
	}
	return r
}

func explained(t testing.TB, r *recorder, o Options) *Explanation {
	t.Helper()
	x, err := Explain(&r.Log, o)
	require.NoError(t, err)
	return x
}

func TestAStandstillIsExplained(t *testing.T) {
	x := explained(t, deadlock(), Options{})
	assert.Equal(t, 720*time.Microsecond, x.Moment)
	assert.Equal(t, 999280*time.Microsecond, x.Standstill)
	assert.Equal(t, []string{
		"two 0.1 since then, for 999ms", "one 0.0 since −20µs, for 999ms",
		"main 0 since −670µs, for 1s",
	}, x.Silences())
	require.Len(t, x.Mattered, 1)
	assert.Equal(t, "one 0.0 away for 90µs: delayed; meanwhile ran two 0.1 twice", x.Mattered[0].Sentence())
	assert.Equal(t, x.Mattered[0], x.Longest[0])
	assert.Contains(t, x.Waits, Wait{Woken: "one 0.0", Waker: "two 0.1", Times: 5, Longest: 60 * time.Microsecond})
	assert.Contains(t, x.Waits, Wait{Woken: "two 0.1", Waker: "one 0.0", Times: 4, Longest: 50 * time.Microsecond})
	assert.Empty(t, x.Remarks())
}

// A thread that is kept away until the program fails is what failed, and not that the others wait for it.
func TestAThreadThatWasKeptAwayThroughoutIsNamed(t *testing.T) {
	r := record("main", "writer", "reader")
	for i := range uint64(40) {
		r.add(3, 50*i, schedule.EventWakeup, 5, schedule.MarkDelayed)
		r.run(2, 50*i, 50*i+6, schedule.EndingBlocked, 0)
		r.run(3, 50*i+6, 50*i+40, schedule.EndingBlocked, 2)
	}
	r.add(2, 1_990, schedule.EventWakeup, 100_000, schedule.MarkDelayed)
	r.add(3, 2_000, schedule.EventWakeup, 0, 0)
	r.run(3, 2_000, 2_020, schedule.EndingBlocked, 0)
	r.run(2, 101_990, 102_000, schedule.EndingExited, 0)
	x := explained(t, r, Options{})
	assert.Equal(t, "Standstill: hardly anything ran for 100ms, as long as a decision kept writer 0.0 away. Blocked meanwhile:",
		x.Verdict())
	assert.Equal(t, []string{"reader 0.1 since then, for 100ms"}, x.Silences())
	require.Len(t, x.Mattered, mostListed)
	assert.Equal(t, "writer 0.0 away for 100ms: delayed; meanwhile ran reader 0.1 once", x.Mattered[mostListed-1].Sentence())
}

// failing is a log of rounds of two threads. In the last one the writer is away for longer than it was ever blocked, then main says
// for as long as 400 records what is wrong, and ends with the VM's thread.
func failing() *recorder {
	r := record("main", "vm", "writer", "reader")
	r.Threads[1].Role = schedule.RoleVM
	r.add(1, 0, schedule.EventStart, 0, 0)
	r.run(1, 0, 5, schedule.EndingBlocked, 0)
	for i := range uint64(100) {
		at := 10 + 200*i
		r.add(3, at, schedule.EventWakeup, 0, 0)
		r.run(3, at, at+10, schedule.EndingBlocked, 0)
		r.add(4, at+20, schedule.EventWakeup, 0, 0)
		r.run(4, at+20, at+30, schedule.EndingBlocked, 0)
	}
	r.add(3, 20_000, schedule.EventWakeup, 5_000, schedule.MarkDelayed)
	r.add(4, 20_020, schedule.EventWakeup, 0, 0)
	r.run(4, 20_020, 20_040, schedule.EndingSlice, 0)
	for i := range uint64(mostListed) { // short absences, later than the one that matters
		at := 20_040 + 20*i
		r.add(4, at, schedule.EventExpiry, 5, schedule.MarkDelayed)
		r.run(1, at, at+5, schedule.EndingBlocked, 0)
		r.run(4, at+5, at+20, schedule.EndingSlice, 0)
	}
	r.run(4, 20_200, 20_210, schedule.EndingExited, 0)
	r.run(3, 25_000, 25_010, schedule.EndingExited, 0)
	for i := range uint64(400) {
		r.add(1, 25_100+20*i, schedule.EventExpiry, 2, schedule.MarkDelayed)
		r.run(1, 25_102+20*i, 25_110+20*i, schedule.EndingSlice, 0)
	}
	r.add(2, 33_200, schedule.EventWakeup, 0, 0)
	r.run(2, 33_200, 33_210, schedule.EndingExited, 1)
	r.Runs[len(r.Runs)-1].Role = schedule.RoleVM
	r.run(1, 33_220, 33_300, schedule.EndingExited, 0)
	return r
}

func TestAFailureIsBeforeTheEndOfTheLastOtherThread(t *testing.T) {
	x := explained(t, failing(), Options{})
	assert.Equal(t, "writer 0.1", x.Ended)
	assert.Equal(t, 25_010*time.Microsecond, x.Moment)
	assert.Contains(t, x.Verdict(), "Explained is what came before writer 0.1 ended")
	require.Len(t, x.Mattered, mostListed/2, "what others did meanwhile fills half of the list")
	assert.Equal(t, "writer 0.1 away for 5ms: delayed; meanwhile ran reader 0.2 10 times, main 0 8 times", x.Mattered[0].Sentence())

	// A JVM that is killed ends its own threads in any order.
	r := failing()
	r.Threads = append(r.Threads, schedule.Record{Kind: schedule.RecordThread, Path: 5, Delay: 1, Counter: 3, Comm: "Finalizer"})
	r.add(5, 33_100, schedule.EventWakeup, 0, 0)
	r.run(5, 33_100, 33_110, schedule.EndingExited, 0)
	assert.Equal(t, "writer 0.1", explained(t, r, Options{}).Ended)

	// If others work on, the end of one is nothing special.
	r = failing()
	r.Threads = append(r.Threads, schedule.Record{Kind: schedule.RecordThread, Path: 5, Delay: 1, Counter: 3, Comm: "other"})
	for i := range uint64(330) {
		r.add(5, 100*i, schedule.EventWakeup, 0, 0)
		r.run(5, 100*i, 100*i+10, schedule.EndingBlocked, 0)
	}
	x = explained(t, r, Options{})
	assert.Empty(t, x.Ended)
	assert.Equal(t, x.End, x.Moment)
}

// A pause after which the program works on is no standstill.
func TestAPauseIsNoStandstill(t *testing.T) {
	r := record("main", "one", "two")
	at := uint64(0)
	for i := range 300 {
		if i == 200 {
			at += 6000
		}
		for _, thread := range []uint64{2, 3} {
			r.add(thread, at, schedule.EventWakeup, 0, 0)
			r.run(thread, at, at+10, schedule.EndingBlocked, 0)
			at += 50
		}
	}
	assert.Zero(t, explained(t, r, Options{}).Standstill)
}

func TestTheTitleHasBothEndsOfACommand(t *testing.T) {
	x := &Explanation{Header: schedule.Header{
		Perturbation: schedule.Perturbation{Strategy: "chaos", Seed: 7},
		Command:      []string{"/usr/bin/java", strings.Repeat("-Da=b ", 40), "-cp", "classes", "Main"},
	}}
	assert.Equal(t, "java -Da=b -Da=b -Da…-Da=b -Da=b -Da=b -Da=b -Da=b -Da=b -Da=b  -cp classes Main: strategy chaos, seed 7",
		x.Title())
	x.Header.Command = nil
	assert.Equal(t, "a program: strategy chaos, seed 7", x.Title())
}

func TestTheWindowIsAsLongAsAsked(t *testing.T) {
	x := explained(t, deadlock(), Options{Last: 50 * time.Microsecond})
	assert.Equal(t, 670*time.Microsecond, x.From)
	assert.Len(t, x.Mattered, 1, "the absence reaches into it")
	x = explained(t, deadlock(), Options{Last: 10 * time.Microsecond})
	assert.Empty(t, x.Mattered)
}

// A thread that works on hides no other one's silence.
func TestASilentThreadIsFoundBesideAnActiveOne(t *testing.T) {
	r := record("main", "worker", "ticker")
	for i := range uint64(200) {
		r.add(3, 100*i, schedule.EventWakeup, 0, 0)
		r.run(3, 100*i, 100*i+10, schedule.EndingBlocked, 0)
		if i < 150 {
			r.add(2, 100*i+20, schedule.EventWakeup, 0, 0)
			r.run(2, 100*i+20, 100*i+50, schedule.EndingBlocked, 3)
		}
	}
	x := explained(t, r, Options{})
	assert.Zero(t, x.Standstill)
	require.Len(t, x.Silent, 1)
	assert.Equal(t, "worker 0.0", x.Silent[0].Label)
	assert.Equal(t, 14950*time.Microsecond, x.Moment)

	// One that is slow at all times is not silent, nor is one of the VM, nor one that waits from the start on.
	r.Threads[1].Role = schedule.RoleVM
	for i := range r.Runs {
		r.Runs[i].Role = r.Threads[r.Runs[i].Path-1].Role
	}
	assert.Empty(t, explained(t, r, Options{}).Silent)
	for i := range r.Runs {
		r.Runs[i].Role = schedule.RoleMutator
	}
	require.Len(t, explained(t, r, Options{}).Silent, 1)
	r.add(2, 17_500, schedule.EventWakeup, 0, 0)
	r.run(2, 17_500, 17_510, schedule.EndingBlocked, 0)
	r.add(1, 0, schedule.EventStart, 0, 0)
	r.run(1, 0, 10, schedule.EndingBlocked, 0)
	assert.Empty(t, explained(t, r, Options{}).Silent)
}

func TestALogWithoutRunsIsExplained(t *testing.T) {
	r := record("main", "one")
	r.add(1, 0, schedule.EventStart, 0, 0)
	r.add(2, 10, schedule.EventStart, 300, schedule.MarkStarved)
	r.add(1, 20, schedule.EventExpiry, 5, schedule.MarkDelayed)
	r.add(2, 400, schedule.EventWakeup, 0, 0)
	x := explained(t, r, Options{})
	assert.False(t, x.Runs)
	require.NotEmpty(t, x.Mattered)
	assert.Equal(t, "one 0.0 away for 300µs: starved", x.Mattered[0].Sentence())
	assert.Contains(t, strings.Join(x.Remarks(), "\n"), "does not say when threads ran")
}

func TestAnEmptyLogIsAnError(t *testing.T) {
	_, err := Explain(&record("main").Log, Options{})
	require.ErrorIs(t, err, ErrEmpty)
	r := deadlock()
	_, err = Explain(&r.Log, Options{Round: 9})
	assert.ErrorIs(t, err, schedule.ErrInvalid)
}

func TestRemarksSayWhatTheLogLacks(t *testing.T) {
	r := deadlock()
	r.Cut, r.CutAt, r.Lost = true, 812, 3
	r.Header.Parameters = map[string]float64{"until": 40, "epoch_ms": 2}
	text := strings.Join(explained(t, r, Options{}).Remarks(), "\n")
	assert.Contains(t, text, "at offset 812")
	assert.Contains(t, text, "3 records were lost")
	assert.Contains(t, text, "confined to until=40 of")
}

// The spans of a thread are in order and do not overlap, whatever the log says.
func checkSpans(t *testing.T, x *Explanation) {
	t.Helper()
	for i := range x.timeline.Threads {
		var end time.Duration
		for _, s := range x.timeline.Threads[i].Spans {
			require.GreaterOrEqual(t, s.From, end)
			require.Greater(t, s.To, s.From)
			end = s.To
		}
	}
}

func TestThePictureIsOneWellFormedFile(t *testing.T) {
	r := deadlock()
	for i := range r.Runs {
		if r.Runs[i].Path == 2 {
			r.Runs[i].Comm = "<b>&\"\x1b"
		}
	}
	x := explained(t, r, Options{})
	checkSpans(t, x)
	x.Waits[0].Longest = 283231826
	var svg, html bytes.Buffer
	require.NoError(t, x.SVG(&svg))
	require.NoError(t, x.HTML(&html))
	classes := map[string]int{}
	for d := xml.NewDecoder(&svg); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		if e, ok := token.(xml.StartElement); ok {
			assert.NotContains(t, []string{"script", "b", "image", "use"}, e.Name.Local)
			for _, a := range e.Attr {
				if a.Name.Local == "class" {
					classes[a.Value]++
				}
			}
		}
	}
	assert.Equal(t, 1, classes["mark"])
	assert.Equal(t, 1, classes["moment"])
	assert.Equal(t, 11, classes["wake"], "ten hand-overs and a late one")
	assert.GreaterOrEqual(t, classes["run"], 14)
	assert.NotContains(t, html.String(), "<script")
	assert.NotContains(t, html.String(), "<b>")
	assert.NotContains(t, html.String(), "src=")
	assert.Contains(t, html.String(), "Standstill: hardly anything ran for 999ms")
	assert.Contains(t, html.String(), "&lt;b&gt;")
	assert.Contains(t, html.String(), "<td>283ms</td>")
}

// The trace is what the format asks for: known phases, slices of a track that do not overlap, flows with both ends.
func TestTheTraceIsInTheTraceEventFormat(t *testing.T) {
	x := explained(t, deadlock(), Options{})
	var out bytes.Buffer
	require.NoError(t, x.Perfetto(&out))
	var trace struct {
		DisplayTimeUnit string `json:"displayTimeUnit"`
		TraceEvents     []struct {
			Ph, Name, Cat, Bp, S string
			Ts                   float64
			Dur                  *float64
			Pid, Tid, ID         int
			Args                 map[string]any
		} `json:"traceEvents"`
	}
	d := json.NewDecoder(&out)
	d.DisallowUnknownFields()
	require.NoError(t, d.Decode(&trace))
	assert.Equal(t, "ns", trace.DisplayTimeUnit)
	names, ends, flows, running := map[int]any{}, map[int]float64{}, map[int]string{}, 0.0
	for _, e := range trace.TraceEvents {
		assert.Equal(t, 1, e.Pid)
		switch e.Ph {
		case "M":
			if e.Name == "thread_name" {
				names[e.Tid] = e.Args["name"]
			}
		case "X":
			require.NotNil(t, e.Dur)
			assert.Positive(t, *e.Dur)
			assert.GreaterOrEqual(t, e.Ts, ends[e.Tid]-1e-6)
			ends[e.Tid] = e.Ts + *e.Dur
			if e.Name == "running" && e.Tid == 2 {
				running += *e.Dur
			}
		case "s", "f":
			flows[e.ID] += e.Ph
		case "i":
			assert.Equal(t, "t", e.S)
		default:
			t.Errorf("unknown phase %q", e.Ph)
		}
	}
	assert.Equal(t, map[int]any{1: "main 0", 2: "one 0.0", 3: "two 0.1"}, names)
	assert.InDelta(t, 5*40+10+10, running, 1e-6)
	assert.Len(t, flows, len(x.timeline.Wakes))
	for _, ends := range flows {
		assert.Equal(t, "sf", ends)
	}
}

func TestTheAxisIsMonotonousAndReversible(t *testing.T) {
	a := axisOf([]time.Duration{0, 10, 20, 25, 40, 1_000_040, 1_000_050}, 1000)
	require.Len(t, a.folds, 1)
	last := -1.0
	for at := range time.Duration(60) {
		x := a.at(at)
		assert.GreaterOrEqual(t, x, last)
		last = x
	}
	for _, at := range []time.Duration{0, 7, 25, 40, 500_000, 1_000_045} {
		assert.InDelta(t, float64(at), float64(a.timeAt(a.at(at))), 1)
	}
	assert.InDelta(t, 1000, a.at(1_000_050), 1e-6)
}

func TestDurationsHaveThreeDigits(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 999: "999ns", 1234: "1.23µs", 123456: "123µs", 9996 * time.Microsecond: "10ms", -1500 * time.Millisecond: "-1.5s",
		99 * time.Second: "1m39s",
	} {
		assert.Equal(t, want, Short(d))
	}
}

func FuzzExplain(f *testing.F) {
	for _, r := range []*recorder{deadlock(), record("main")} {
		var b bytes.Buffer
		w, err := schedule.NewLogWriter(&b, r.Header)
		require.NoError(f, err)
		for _, part := range [][]schedule.Record{r.Threads, r.Decisions, r.Runs} {
			for _, x := range part {
				w.Add(x)
			}
		}
		require.NoError(f, w.Close(0))
		f.Add(b.Bytes())
		f.Add(b.Bytes()[:b.Len()-100])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := schedule.ReadLog(bytes.NewReader(b))
		if err != nil {
			return
		}
		l.Header.Command = nil // whose symbols are read otherwise
		x, err := Explain(l, Options{})
		if err != nil {
			return
		}
		checkSpans(t, x)
		for _, write := range []func(io.Writer) error{x.SVG, x.HTML, x.Perfetto} {
			require.NoError(t, write(io.Discard))
		}
	})
}
