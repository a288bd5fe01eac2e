package samplers

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/agent"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner/recording"
)

const millisecond = int64(time.Millisecond)

// trial makes a judge's input; times are in milliseconds.
type trial struct {
	t *testing.T
	*Judge
	stacks map[string]*recording.Stack
}

func newTrial(t *testing.T, o Options) trial {
	tr := trial{t, New(o), map[string]*recording.Stack{}}
	require.NoError(t, tr.Visit(&recording.Chunk{}))
	return tr
}

var worker = &recording.Thread{OS: 70, Java: 7, Name: "worker"}

// event takes a sample of the worker at a time; frames are innermost first, a word "!" makes the trace a truncated one.
func (tr trial) event(kind string, at int64, frames string) {
	tr.t.Helper()
	s := tr.stacks[frames]
	if s == nil && frames != "" {
		s = &recording.Stack{}
		for word := range strings.FieldsSeq(frames) {
			if word == "!" {
				s.Truncated = true
				continue
			}
			s.Frames = append(s.Frames, recording.Frame{Method: methodOf(word), Kind: recording.Compiled})
		}
		tr.stacks[frames] = s
	}
	require.NoError(tr.t, tr.Visit(&recording.Event{Type: kind, StartNanos: at * millisecond, Thread: worker, Stack: s}))
}

func methodOf(word string) *recording.Method {
	return &recording.Method{Class: "p.C", Name: word, Descriptor: "()V", Hidden: strings.HasPrefix(word, "hidden")}
}

// round takes a call of Thread.getAllStackTraces() from one time to another.
func (tr trial) round(begin, end int64, frames string) {
	tr.t.Helper()
	var stack []agent.StackFrame
	for word := range strings.FieldsSeq(frames) {
		stack = append(stack, agent.StackFrame{Class: "p.C", Method: word})
	}
	require.NoError(tr.t, tr.Round(agent.StackRound{
		Begin: begin * millisecond, End: end * millisecond,
		Stacks: []agent.ThreadStack{{Thread: &agent.StackThread{Java: 7, Name: "worker"}, Frames: stack}},
	}))
}

// stood says that a stack stood from one time to another.
func (tr trial) stood(begin, end int64, frames string) {
	tr.t.Helper()
	line := "misstep: stack 1"
	for word := range strings.FieldsSeq(frames) {
		line += " p.C." + word + ":0"
	}
	require.NoError(tr.t, tr.Held(strings.NewReader(fmt.Sprintf("%s\nmisstep: held 1 7 %d %d\n", line,
		begin*millisecond, end*millisecond))))
}

// verdicts returns the counts as a string, and the mismatches.
func (tr trial) verdicts() (string, []*misstepv1.Mismatch) {
	tr.t.Helper()
	v := tr.Verdicts()
	c := v.Count
	text := fmt.Sprintf("%d: match %d, mismatch %d", c.GetTotal(), c.GetMatch(), c.GetMismatch())
	sum := c.GetMatch() + c.GetMismatch()
	for what, counts := range map[string]map[string]uint64{"tolerated": c.GetTolerated(), "void": c.GetVoid()} {
		for _, n := range counts {
			sum += n
		}
		_ = what
	}
	require.Equal(tr.t, c.GetTotal(), sum, "each sample has one verdict: %v", c)
	for _, name := range slices.Sorted(maps.Keys(c.GetTolerated())) {
		text += fmt.Sprintf(", tolerated(%s) %d", name, c.GetTolerated()[name])
	}
	for _, name := range slices.Sorted(maps.Keys(c.GetVoid())) {
		text += fmt.Sprintf(", void(%s) %d", name, c.GetVoid()[name])
	}
	return text, v.Mismatches
}

const (
	cpuTime   = "jdk.CPUTimeSample"
	execution = "jdk.ExecutionSample"
)

// one judges one CPU-time sample between rounds of Thread.getAllStackTraces() with equal stacks.
func one(t *testing.T, neighbour, sample string) (string, []*misstepv1.Mismatch) {
	t.Helper()
	tr := newTrial(t, Options{})
	tr.round(10, 12, neighbour)
	tr.event(cpuTime, 15, sample)
	tr.round(20, 22, neighbour)
	return tr.verdicts()
}

func TestNeighbours(t *testing.T) {
	const none = ", void(no-neighbour) 2" // the two rounds
	for _, c := range []struct{ what, sample, want string }{
		{"the same", "c b run", "3: match 1, mismatch 0" + none},
		{"it left b", "c run", "3: match 0, mismatch 0, tolerated(between-samples) 1" + none},
		{"lost bottom", "c b", "3: match 0, mismatch 1" + none},
		{"another stack", "z", "3: match 0, mismatch 1" + none},
		{"hidden frames do not count", "c hidden b hidden run", "3: match 1, mismatch 0" + none},
		{"truncated by the recorder", "c b !", "3: match 0, mismatch 0, void(depth) 1" + none},
		{"no stack", "", "3: match 0, mismatch 0" + none + ", void(no-stack) 1"},
		{"only hidden frames", "hidden", "3: match 0, mismatch 0" + none + ", void(no-stack) 1"},
	} {
		t.Run(c.what, func(t *testing.T) {
			got, _ := one(t, "c b run", c.sample)
			assert.Equal(t, c.want, got)
		})
	}
	deep := strings.Repeat("x ", 20) + "run"
	got, _ := one(t, deep, strings.Repeat("y ", 20)+"run")
	assert.Equal(t, "3: match 0, mismatch 0, tolerated(tiny-overlap) 1"+none, got)
}

func TestMismatchShowsBothStacks(t *testing.T) {
	_, mismatches := one(t, "c b run", "d c b")
	require.Len(t, mismatches, 1)
	m := mismatches[0]
	assert.Equal(t, "samplers", m.GetCheck())
	assert.Equal(t, "truncated", m.GetKind())
	assert.Equal(t, "all-stack-traces", m.GetReference().GetSource())
	assert.Equal(t, "jfr-cpu-time", m.GetSuspect().GetSource())
	assert.Equal(t, "worker", m.GetThread())
	assert.Equal(t, int64(70), m.GetTid())
	assert.Equal(t, uint64(1), m.GetCount())
	assert.Len(t, m.GetReference().GetFrames(), 3)
	assert.Equal(t, "d", m.GetSuspect().GetFrames()[0].GetMethod())
	assert.Equal(t, "p.C", m.GetSuspect().GetFrames()[0].GetClassName())
}

func TestMismatchesOfOnePlaceAreCounted(t *testing.T) {
	tr := newTrial(t, Options{Mismatches: 2})
	tr.stood(0, 1000, "h run")
	for i := range int64(5) {
		tr.event(cpuTime, 100+i, "h go")
	}
	tr.event(cpuTime, 200, "z")
	tr.event(cpuTime, 201, "y")
	got, mismatches := tr.verdicts()
	assert.Equal(t, "7: match 0, mismatch 7", got)
	require.Len(t, mismatches, 2, "the limit")
	assert.Equal(t, uint64(5), mismatches[0].GetCount())
	assert.Equal(t, uint64(1), mismatches[1].GetCount())
}

func TestRoundsThatOverlapASampleAreNoNeighbours(t *testing.T) {
	tr := newTrial(t, Options{})
	tr.round(10, 12, "c b run")
	tr.round(14, 16, "z")
	tr.event(cpuTime, 15, "c b run")
	tr.round(20, 22, "c b run")
	got, _ := tr.verdicts()
	assert.Equal(t, "4: match 1, mismatch 0, void(no-neighbour) 3", got)
}

func TestTheWorstOfTheSamplersCounts(t *testing.T) {
	tr := newTrial(t, Options{})
	tr.round(10, 11, "c b run")
	tr.event(execution, 13, "c d run")
	tr.event(cpuTime, 15, "c b run")
	tr.event(execution, 17, "c d run")
	tr.round(20, 22, "c b run")
	got, _ := tr.verdicts()
	assert.Equal(t, "5: match 0, mismatch 0, tolerated(between-samples) 3, void(no-neighbour) 2", got)
}

// Neighbours of different bottoms say nothing; one of the two is wrong, which is judged by its own neighbours.
func TestNeighboursWithoutACommonPart(t *testing.T) {
	tr := newTrial(t, Options{})
	tr.round(10, 11, "c b run")
	tr.event(cpuTime, 15, "c b run")
	tr.round(20, 22, "c b")
	got, _ := tr.verdicts()
	assert.Equal(t, "3: match 0, mismatch 0, void(no-common-part) 1, void(no-neighbour) 2", got)
}

func TestTruncatedNeighboursAreLeftOut(t *testing.T) {
	tr := newTrial(t, Options{})
	tr.event(execution, 10, "c b !")
	tr.event(cpuTime, 15, "z")
	tr.event(execution, 20, "c b run")
	got, _ := tr.verdicts()
	assert.Equal(t, "3: match 0, mismatch 0, void(depth) 1, void(no-neighbour) 2", got)
}

// Native code may enter Java several times in the life of a thread: only if another sampler saw that, too.
func TestAnotherEntry(t *testing.T) {
	tr := newTrial(t, Options{})
	tr.round(1, 2, "y exit")
	tr.round(10, 11, "c b run")
	tr.event(cpuTime, 15, "z exit")
	tr.round(20, 22, "c b run")
	got, _ := tr.verdicts()
	assert.Equal(t, "4: match 0, mismatch 0, tolerated(another-entry) 1, void(no-neighbour) 3", got)

	tr = newTrial(t, Options{})
	tr.event(execution, 1, "y b") // shares the walker: no proof
	tr.round(10, 11, "c b run")
	tr.event(cpuTime, 15, "z b")
	tr.round(20, 22, "c b run")
	got, _ = tr.verdicts()
	assert.Equal(t, "4: match 0, mismatch 1, void(no-neighbour) 3", got)
}

func TestStackThatStood(t *testing.T) {
	const run = "h b run"
	for _, c := range []struct {
		what   string
		at     int64
		sample string
		want   string
	}{
		{"it stands", 150, "x h b run", "match 1, mismatch 0"},
		{"a frame is lost", 150, "x h run", "match 0, mismatch 1"},
		{"it is stale", 150, "x g run", "match 0, mismatch 1"},
		{"right after the begin", 102, "x h run", "match 0, mismatch 0, void(no-neighbour) 1"},
		{"right before the end", 198, "x h run", "match 0, mismatch 0, void(no-neighbour) 1"},
		{"on its way to the stack", 105, "b run", "match 0, mismatch 0, tolerated(span-edge) 1"},
		{"on its way from the stack", 195, "z run", "match 0, mismatch 0, tolerated(span-edge) 1"},
		{"bottom lost near the begin", 105, "x h b", "match 0, mismatch 1"},
		{"afterwards", 300, "x h run", "match 0, mismatch 0, void(no-neighbour) 1"},
		{"before", 50, "x h run", "match 0, mismatch 0, void(no-neighbour) 1"},
	} {
		t.Run(c.what, func(t *testing.T) {
			tr := newTrial(t, Options{})
			tr.stood(100, 200, run)
			tr.event(cpuTime, c.at, c.sample)
			got, _ := tr.verdicts()
			assert.Equal(t, "1: "+c.want, got)
		})
	}
}

// A round of stack traces is of some instant between its two times.
func TestRoundThatReachesBeyondTheSpanIsNotHeldAgainstIt(t *testing.T) {
	tr := newTrial(t, Options{})
	tr.stood(100, 200, "h run")
	tr.round(150, 250, "z")
	tr.round(120, 180, "h run")
	got, _ := tr.verdicts()
	assert.Equal(t, "2: match 1, mismatch 0, void(no-neighbour) 1", got)
}

func TestAsyncProfilersFrames(t *testing.T) {
	tr := newTrial(t, Options{AsyncProfiler: true})
	tr.stood(0, 1000, "h run")
	native := func(class, name string) recording.Frame {
		return recording.Frame{Method: &recording.Method{Class: class, Name: name, Descriptor: "()L;"}, Kind: recording.Native}
	}
	java := func(name string) recording.Frame { return recording.Frame{Method: methodOf(name)} }
	for i, frames := range [][]recording.Frame{
		{native("libc.so.6", "read"), native("", "unknown_function"), java("h"), java("run"), native("libc.so.6", "clone3")},
		{java("h"), native("", "break_compiled")},
		{java("h"), native("", "unknown_Java")},
		{native("libc.so.6", "read")},
	} {
		require.NoError(t, tr.Visit(&recording.Event{
			Type: execution, StartNanos: int64(100+i) * millisecond, Thread: worker, Stack: &recording.Stack{Frames: frames},
		}))
	}
	got, _ := tr.verdicts()
	assert.Equal(t, "4: match 1, mismatch 0, void(incomplete) 2, void(no-stack) 1", got)
	_, figures := tr.Figures()
	assert.Equal(t, map[Sampler]Figures{AsyncProfiler: {Held: 1}}, figures)
}

func TestMoreSamplesThanAreKeptAreVoid(t *testing.T) {
	tr := newTrial(t, Options{Samples: 2})
	tr.stood(0, 1000, "h run")
	for i := range int64(5) {
		tr.event(cpuTime, 100+i, "h run")
	}
	got, _ := tr.verdicts()
	assert.Equal(t, "5: match 2, mismatch 0, void(overrun) 3", got)
}

func TestStacksForWhichThereIsNoRoomAreVoid(t *testing.T) {
	tr := newTrial(t, Options{})
	tr.Judge.stacks.room = 2
	tr.stood(0, 1000, "h run")
	tr.event(cpuTime, 100, "h run")
	tr.event(cpuTime, 101, "x h run")
	tr.round(102, 103, "y h run")
	tr.round(104, 105, "h run")
	got, _ := tr.verdicts()
	assert.Equal(t, "4: match 2, mismatch 0, void(overrun) 2", got)
}

func TestTheSamplersOwnThreadIsLeftOut(t *testing.T) {
	j := New(Options{})
	require.NoError(t, j.Visit(&recording.Event{Type: cpuTime, Thread: &recording.Thread{Java: 9, Name: "misstep-stacks"}}))
	assert.Zero(t, j.Verdicts().Count.GetTotal())
}
