package jvm

import (
	"fmt"
	"strings"
	"testing"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/triage"
)

// Files of 600 mismatch records of other boundaries each, as a program may write them: with the deepest stacks, of frames that
// occur again, or none of which does; and with as many words of the stack.
func BenchmarkDeepestRecords(b *testing.B) {
	same := func(frame string) func(int) string {
		deep := strings.Repeat(frame+",", triage.MaxFrames-1)
		return func(int) string { return deep }
	}
	other := func(i int) string {
		var frames strings.Builder
		for j := range triage.MaxFrames - 1 {
			fmt.Fprintf(&frames, `{"className":"a.A","method":"m","descriptor":"()V","bci":%d},`, i<<16|j)
		}
		return frames.String()
	}
	none := func(int) string { return "" }
	full := same(`{"className":"a.A","method":"m","descriptor":"()V","bci":3}`)
	words := strings.Repeat(`{"at":"1","code":"x"},`, 1023)
	for _, shape := range []struct {
		name, kind, words  string
		reference, suspect func(i int) string
	}{
		{"empty", "foreign", "", none, same("{}")},
		{"one", "foreign", "", none, full},
		{"both", "foreign", "", full, full},
		{"other", "foreign", "", none, other},
		{"cut", "truncated", "", same("{}"), same("{}")},
		{"words", "foreign", words, none, none},
	} {
		b.Run(shape.name, func(b *testing.B) {
			var text strings.Builder
			for i := range 600 {
				fmt.Fprintf(&text, `{"check":"gst-asgct","kind":%q,"stack":[%s{}],"reference":{"frames":[%s{"className":"a.B%d"}]},`+
					`"suspect":{"frames":[%s{}]}}`+"\n", shape.kind, shape.words, shape.reference(i), i, shape.suspect(i))
			}
			for b.Loop() {
				records := readAll(b, strings.NewReader(text.String()))
				outcome := &misstepv1.Outcome{Mismatches: records.Mismatches}
				shrink(outcome, triage.MaxOutcome)
				b.ReportMetric(float64(len(records.Mismatches)), "kept")
			}
		})
	}
}
