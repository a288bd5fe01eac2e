package triage_test

import (
	"testing"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/triage"
)

// A deep recursion of one hidden class, cut off: every frame of the reference may be the one at which the walk ends. It
// once took seconds, in the coordinator's transaction.
func BenchmarkTruncatedRecursion(b *testing.B) {
	m := &misstepv1.Mismatch{Check: "gst-asgct", Kind: "truncated", Reference: &misstepv1.Trace{}, Suspect: &misstepv1.Trace{}}
	for i := range 1000 {
		f := &misstepv1.Frame{ClassName: "a.B$$Lambda/0x00007f0001", Method: "recurse", Descriptor_: "(I)V", Bci: 7}
		m.Reference.Frames = append(m.Reference.Frames, f)
		if i < 900 {
			m.Suspect.Frames = append(m.Suspect.Frames, f)
		}
	}
	for b.Loop() {
		triage.Mismatch(m)
	}
}
