package samplers

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/agent"
	"misstep/runner/recording"
)

// walk takes a walk of the worker's stack: by JVMTI where it is again, else in a round, after which the thread has stood or not.
func (tr trial) walk(begin int64, again, stood bool, frames string) {
	tr.t.Helper()
	var stack []agent.StackFrame
	for word := range strings.FieldsSeq(frames) {
		stack = append(stack, agent.StackFrame{Class: "p.C", Method: word})
	}
	require.NoError(tr.t, tr.Round(agent.StackRound{
		Begin: begin * millisecond, End: (begin + 1) * millisecond, Again: again,
		Stacks: []agent.ThreadStack{{Thread: &agent.StackThread{Java: 7, Name: "worker"}, Frames: stack, Stood: stood}},
	}))
}

// Walks of a thread that did not run are compared with one another, and only those.
func TestWalksOfAThreadThatDidNotRun(t *testing.T) {
	type walk struct {
		again, stood bool
		frames       string
	}
	const was = "c b run"
	for _, c := range []struct {
		what  string
		walks []walk
		want  string
	}{
		{"it stood, by one sampler", []walk{{false, true, was}, {false, true, was}}, "2: match 0, mismatch 0, void(no-neighbour) 2"},
		{"it came to stand", []walk{{false, false, was}, {false, true, was}}, "2: match 0, mismatch 0, void(no-neighbour) 2"},
		{"it ran in between", []walk{{false, true, was}, {false, false, "z run"}}, "2: match 0, mismatch 0, void(no-neighbour) 2"},
		{"JVMTI agrees", []walk{{false, true, was}, {true, true, was}}, "2: match 2, mismatch 0"},
		{
			"JVMTI afterwards is of a thread that runs",
			[]walk{{false, false, was}, {true, true, "z"}},
			"2: match 0, mismatch 0, void(no-neighbour) 2",
		},
		{"JVMTI has another stack", []walk{{false, true, was}, {true, true, "c run"}}, "2: match 0, mismatch 2"},
		{"JVMTI agrees with all", []walk{{false, true, was}, {true, true, was}, {false, true, was}, {false, true, was}}, "4: match 4, mismatch 0"},
		{
			"it ran, and stood again",
			[]walk{{false, true, was}, {true, true, was}, {false, false, "z"}, {false, true, "z"}},
			"4: match 2, mismatch 0, void(no-neighbour) 2",
		},
		{
			"one of three is cut",
			[]walk{{false, true, was}, {false, true, was}, {false, true, "c b"}},
			"3: match 0, mismatch 1, void(no-neighbour) 2",
		},
		{
			"one is cut where JVMTI agrees with the others",
			[]walk{{false, true, was}, {true, true, was}, {false, true, "c b"}},
			"3: match 2, mismatch 1",
		},
		{"one has a frame more on top", []walk{{false, true, was}, {false, true, "d c b run"}}, "2: match 0, mismatch 2"},
		{"no frames of Java", []walk{{false, true, ""}, {true, true, ""}, {false, true, ""}}, "3: match 3, mismatch 0"},
		{
			"all frames are lost",
			[]walk{{false, true, was}, {false, true, was}, {false, true, ""}},
			"3: match 0, mismatch 1, void(no-neighbour) 2",
		},
		{"empty, and it ran", []walk{{false, false, ""}, {false, false, ""}}, "2: match 0, mismatch 0, void(no-stack) 2"},
	} {
		t.Run(c.what, func(t *testing.T) {
			tr := newTrial(t, Options{})
			for i, w := range c.walks {
				tr.walk(int64(10*i), w.again, w.stood, w.frames)
			}
			got, _ := tr.verdicts()
			assert.Equal(t, c.want, got)
		})
	}
}

// A sample of another sampler is compared with the stack of a thread that did not run, from some time before it to some time after.
func TestSamplesOfAThreadThatDidNotRun(t *testing.T) {
	for _, c := range []struct {
		what, stack string
		at          int64
		want        Verdict
	}{
		{"the same", "c b run", 45, Verdict{}},
		{"a frame is lost", "c run", 45, Verdict{Kind: kindMissing}},
		{"one is new", "d c b run", 45, Verdict{Kind: kindExtra}},
		{"no stack", "", 45, Verdict{Void: voidNoStack}},
		{"right after it came to stand", "z run", 15, Verdict{Rule: ruleBetween}},
		{"right before it ran", "z run", 88, Verdict{Rule: ruleBetween}},
	} {
		t.Run(c.what, func(t *testing.T) {
			tr := newTrial(t, Options{})
			for at := int64(0); at < 100; at += 10 {
				tr.walk(at, false, at > 0 && at < 90, "c b run")
			}
			tr.event("jdk.NativeMethodSample", c.at, c.stack)
			var got Verdict
			tr.Each(func(v Verdict) {
				if v.Sampler == JFRNative {
					got = Verdict{Rule: v.Rule, Void: v.Void, Kind: v.Kind}
				}
			})
			assert.Equal(t, c.want, got)
		})
	}
}

// Each sampler has its own way to write the number of a hidden class.
func TestHiddenClassesHaveOneName(t *testing.T) {
	for _, name := range []string{"p.C/0x00007f01", "p.C+0x00007f01", "p.C.0x00007f01", "p.C"} {
		assert.Equal(t, "p.C", withoutNumber(name))
	}
	assert.Equal(t, "p.Box0x1", withoutNumber("p.Box0x1"))
}

// JFR leaves out hidden methods, such as AccessController.executePrivileged of JDK 17 and 21. Other walks of a thread that did not
// run have them.
func TestHiddenMethodsAreLeftOutOfAStackThatStands(t *testing.T) {
	for class, methods := range hidden {
		for _, method := range methods {
			s := newStacks()
			recorded, state := s.recorded(&recording.Stack{Frames: []recording.Frame{
				{Method: methodOf("c")}, {Method: &recording.Method{Class: class, Name: method, Hidden: true}}, {Method: methodOf("run")},
			}})
			require.Equal(t, usable, state)
			frames := func(class, method string) []agent.StackFrame {
				outer := agent.StackFrame{Class: "p.C", Method: "run"}
				return []agent.StackFrame{{Class: "p.C", Method: "c"}, {Class: class, Method: method}, outer}
			}
			kind, _ := equal(recorded, s.traced(frames(class, method)))
			assert.Empty(t, kind, "%s.%s", class, method)
			kind, at := equal(recorded, s.traced(frames(class, "another")))
			assert.Equal(t, kindMissing, kind, class)
			assert.Equal(t, 1, at)
		}
	}
}
