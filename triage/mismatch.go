package triage

import (
	"fmt"
	"strings"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/signature"
)

// Mismatch returns the signature of a mismatch and a title. The facts of the mismatch are found once, and then an
// ordered table of rules decides.
func Mismatch(m *misstepv1.Mismatch) (*misstepv1.Signature, string) { return report(examine(m)) }

func report(f *Facts) (*misstepv1.Signature, string) {
	_, v := decide(f)
	check := f.Check
	if f.Sampler != "" {
		check += " of " + f.Sampler
	}
	title := fmt.Sprintf("%s: %s %s%s", check, kindWords(v.kind), placeWords(v.words), f.depthWords())
	v.place.Sampler = f.Sampler
	s := signature.Mismatch{Check: f.Check, Difference: v.kind, Place: v.place}
	return signature.Proto(s), signature.Clean(title)
}

func placeWords(words string) string {
	if strings.HasPrefix(words, "after ") || strings.HasPrefix(words, "below ") {
		return words
	}
	return "at " + words
}

func kindWords(kind string) string {
	switch kind {
	case truncated:
		return "the stack is cut off"
	case missing:
		return "frames are missing"
	case extra:
		return "extra frames"
	case foreign:
		return "bogus frames"
	case swapped:
		return "frames in the wrong order"
	case wrongMethod:
		return "a wrong method"
	case wrongIndex:
		return "a wrong bytecode index"
	case errorCode:
		return "an error code in place of a stack"
	case impossibleEdge:
		return "a call that the bytecode cannot make"
	case undefinedConstant:
		return "a constant that the chunk does not define"
	case duplicateID:
		return "an id that a chunk defines twice"
	case eventTime:
		return "events outside of their chunk's time"
	case chunkOrder:
		return "chunks out of order"
	case chunkLayout:
		return "a chunk that does not fit together"
	}
	return kind
}

// depthWords says how much of a recorded sample's reference is right, and compares the depths of others, where both are known and
// count the same frames. The reference of an edge check ends where the
// call is, and a shadow stack has instrumented methods only, so that a stack from which frames are missing may be the longer one.
func (f *Facts) depthWords() string {
	if f.Sampler != "" && f.Family == Sample {
		return fmt.Sprintf(", %d of %d methods on the shadow are in the trace", f.Kept, f.ReferenceFrames)
	}
	lacks := f.Kind == truncated || f.Kind == missing
	if f.ReferenceFrames == f.SuspectFrames || f.ReferenceFrames == 0 || f.Family == Edge || f.Family == Sample ||
		lacks && f.SuspectFrames > f.ReferenceFrames {
		return ""
	}
	return fmt.Sprintf(", %d of %d frames", f.SuspectFrames, f.ReferenceFrames)
}
