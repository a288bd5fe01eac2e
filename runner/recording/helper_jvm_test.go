package recording

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/internal/testenv"
)

var allJDKs = []string{"jdk8", "jdk11", "jdk17", "jdk21", "jdk25", "jdk26", "jdk27", "jdk28"}

var compared = []string{"jdk.ExecutionSample", "jdk.NativeMethodSample", "jdk.CPUTimeSample", "jdk.ObjectAllocationInNewTLAB"}

// Each event that the JDK's own parser (the jfr tool) prints is read with the same time to the nanosecond, thread, state and
// frames, and no other is.
func TestEventsAreThoseOfTheJFRTool(t *testing.T) {
	for _, name := range allJDKs {
		t.Run(name, func(t *testing.T) {
			j := testenv.Catalogued(t, name)
			file := record(t, j, 600)
			want := printed(t, testenv.Catalogued(t, "jdk25"), file)
			requireEqual(t, file)
			events, summary := read(t, file)
			var got []string
			for _, e := range events {
				if slices.Contains(compared, e.Type) {
					got = append(got, lineOf(e))
				}
			}
			slices.Sort(got)
			slices.Sort(want)
			require.NotEmpty(t, want)
			for i := range min(len(got), len(want)) {
				require.Equal(t, want[i], got[i])
			}
			require.Len(t, got, len(want))
			assert.True(t, summary.Complete)
			assert.Zero(t, summary.Problems)
			assert.Positive(t, summary.Types["jdk.ExecutionSample"])
			assert.Equal(t, j.Feature >= 25, summary.Types["jdk.CPUTimeSample"] > 0)
			assert.Equal(t, j.Feature >= 21, slices.ContainsFunc(events, func(e *Event) bool {
				return e.Thread != nil && e.Thread.Virtual
			}), "virtual threads")
		})
	}
}

func read(t *testing.T, file string) ([]*Event, Summary) {
	t.Helper()
	var events []*Event
	began := time.Now()
	summary, err := Parse(t.Context(), file, Limits{}, func(r Record) error {
		if e, ok := r.(*Event); ok {
			events = append(events, e)
		}
		return nil
	})
	require.NoError(t, err)
	t.Logf("%d events in %v: %+v", len(events), time.Since(began), summary)
	return events, summary
}

// line is what is compared of an event.
func line(e *Event, start time.Time, stack string) string {
	thread := e.Thread
	if thread == nil {
		thread = &Thread{}
	}
	return fmt.Sprintf("%s %s os=%d java=%d virtual=%v %s biased=%d failed=%d\n%s", e.Type, start.UTC().Format(time.RFC3339Nano),
		thread.OS, thread.Java, thread.Virtual, e.State, e.Biased, e.Failed, stack)
}

func lineOf(e *Event) string {
	kinds := []string{"?", "Interpreted", "JIT compiled", "Inlined", "Native"}
	var stack strings.Builder
	if e.Stack != nil {
		fmt.Fprintf(&stack, "truncated=%v\n", e.Stack.Truncated)
		for _, f := range e.Stack.Frames {
			m := f.Method
			if m == nil {
				m = &Method{}
			}
			fmt.Fprintf(&stack, "%s.%s%s mod=%#x hidden=%v loader=%s bci=%d line=%d %s\n", m.Class, m.Name, m.Descriptor, m.Modifiers,
				m.Hidden, m.Loader, f.BCI, f.Line, kinds[f.Kind])
		}
	}
	return line(e, time.Unix(0, e.StartNanos), stack.String())
}

type printedThread struct {
	OSThreadID   int64 `json:"osThreadId"`
	JavaThreadID int64
	Virtual      bool
}

type printedEvent struct {
	Type   string
	Values struct {
		StartTime                  time.Time
		SampledThread, EventThread *printedThread
		State                      string
		Biased, Failed             *bool
		StackTrace                 *struct {
			Truncated bool
			Frames    []struct {
				Method struct {
					Type struct {
						Name        string
						ClassLoader *struct {
							Name string
							Type *struct{ Name string }
						}
					}
					Name, Descriptor string
					Modifiers        uint32
					Hidden           bool
				}
				LineNumber, BytecodeIndex int32
				Type                      string
			}
		}
	}
}

func (e printedEvent) line() string {
	v := e.Values
	var stack strings.Builder
	if v.StackTrace != nil {
		fmt.Fprintf(&stack, "truncated=%v\n", v.StackTrace.Truncated)
		for _, f := range v.StackTrace.Frames {
			m := f.Method
			loader := ""
			if l := m.Type.ClassLoader; l != nil {
				loader = l.Name
				if loader == "" && l.Type != nil {
					loader = strings.ReplaceAll(l.Type.Name, "/", ".")
				}
			}
			fmt.Fprintf(&stack, "%s.%s%s mod=%#x hidden=%v loader=%s bci=%d line=%d %s\n", strings.ReplaceAll(m.Type.Name, "/", "."), m.Name,
				m.Descriptor, m.Modifiers, m.Hidden, loader, f.BytecodeIndex, f.LineNumber, f.Type)
		}
	}
	thread := v.SampledThread
	if thread == nil {
		thread = v.EventThread
	}
	read := &Event{Type: e.Type, State: v.State, Biased: truth(v.Biased), Failed: truth(v.Failed)}
	if thread != nil {
		read.Thread = &Thread{OS: thread.OSThreadID, Java: thread.JavaThreadID, Virtual: thread.Virtual}
	}
	return line(read, v.StartTime, stack.String())
}

func truth(value *bool) Truth {
	switch {
	case value == nil:
		return Unspecified
	case *value:
		return True
	default:
		return False
	}
}

// printed returns the lines of the events that a JDK's jfr tool prints.
func printed(t *testing.T, j testenv.JDK, file string) []string {
	t.Helper()
	tool := exec.Command(j.Tool("jfr"), "print", "--json", "--stack-depth", "4096", "--events", strings.Join(compared, ","), file)
	tool.Stderr = os.Stderr
	output, err := tool.Output()
	require.NoError(t, err)
	var document struct {
		Recording struct{ Events []printedEvent }
	}
	require.NoError(t, json.Unmarshal(output, &document))
	var lines []string
	for _, e := range document.Recording.Events {
		lines = append(lines, e.line())
	}
	return lines
}
