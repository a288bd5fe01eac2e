package explain

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// traceEvent is an event of the trace event format, which ui.perfetto.dev reads
// (https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU). Times are in microseconds.
type traceEvent struct {
	Phase     string         `json:"ph"`
	Name      string         `json:"name"`
	Category  string         `json:"cat,omitempty"`
	Time      float64        `json:"ts"`
	Duration  *float64       `json:"dur,omitempty"`
	Process   int            `json:"pid"`
	Thread    int            `json:"tid"`
	ID        int            `json:"id,omitempty"`
	Binding   string         `json:"bp,omitempty"`
	Scope     string         `json:"s,omitempty"`
	Arguments map[string]any `json:"args,omitempty"`
}

// Perfetto writes the whole log in the trace event format: a track for each thread, its states as slices, wake-ups as flows.
func (x *Explanation) Perfetto(w io.Writer) error {
	out := bufio.NewWriter(w)
	_, err := io.WriteString(out, `{"displayTimeUnit":"ns","traceEvents":[`)
	separator := "\n"
	add := func(e traceEvent) {
		if err != nil {
			return
		}
		e.Process = 1
		var text []byte
		if text, err = json.Marshal(e); err == nil {
			_, err = fmt.Fprintf(out, "%s%s", separator, text)
		}
		separator = ",\n"
	}
	add(traceEvent{Phase: "M", Name: "process_name", Arguments: map[string]any{"name": x.Title()}})
	for i := range x.timeline.Threads {
		x.timeline.Threads[i].events(i+1, add)
	}
	for i, wake := range x.timeline.Wakes {
		e := traceEvent{Phase: "s", Name: "wake-up", Category: "wake-up", Time: micros(wake.At), Thread: wake.Waker + 1, ID: i + 1}
		add(e)
		e.Phase, e.Binding, e.Thread = "f", "e", wake.Woken+1
		add(e)
	}
	for i, a := range x.Mattered {
		add(traceEvent{
			Phase: "i", Name: fmt.Sprintf("%d: %s", i+1, a.Reason), Category: "mattered", Time: micros(a.From),
			Thread: a.Thread + 1, Scope: "t", Arguments: map[string]any{"decision": a.Decision, "sentence": a.Sentence()},
		})
	}
	if err == nil {
		_, err = io.WriteString(out, "\n]}\n")
	}
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		return fmt.Errorf("write a trace for Perfetto: %w", err)
	}
	return nil
}

func (t *Thread) events(tid int, add func(traceEvent)) {
	add(traceEvent{Phase: "M", Name: "thread_name", Thread: tid, Arguments: map[string]any{"name": t.Label()}})
	add(traceEvent{Phase: "M", Name: "thread_sort_index", Thread: tid, Arguments: map[string]any{"sort_index": tid}})
	for _, s := range t.Spans {
		duration := micros(s.Length())
		add(traceEvent{
			Phase: "X", Name: s.State.String(), Category: "state", Time: micros(s.From), Duration: &duration, Thread: tid,
		})
	}
}

// micros is exact to the nanosecond for a hundred days.
func micros(d time.Duration) float64 { return float64(d) / 1000 }
