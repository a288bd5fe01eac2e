package bundle

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/signature"
)

// What a signature's place says of a record; cmd/misstep tries it on real ones.
func TestExpectOfAPlace(t *testing.T) {
	for place, want := range map[string]Expect{
		"upcall <clinit>":                      {Contains: []string{`"<clinit>"`}},
		"below upcall loadClass":               {Like: []string{`"method":"loadClass"`}},
		"upcall exception":                     {Like: []string{`"method":"<init>"`}},
		"continuation":                         {Like: []string{seam}},
		"deoptimised caller":                   {Like: []string{deoptimisedCaller}, Unlike: []string{upcallFrame}},
		"upcall loadClass, deoptimised caller": {Like: []string{`"method":"loadClass"`}},
		"bottom frame":                         {Unlike: []string{upcallFrame, virtualThread, deoptimisedCaller}},
		"after a.B$#.c":                        {Like: []string{`"className":"[^"]*a\.B\$[0-9]+[^"]*","method":"c"`}},
		"native jdk.internal.reflect.NativeMethodAccessorImpl.invoke0": {Like: []string{`"className":"[^"]*reflect\.NativeMethodAccessorImpl[^"]*","method":"invoke0"`}},
		"a.B.<init> <- a.C.lambda$main$#":                              {Like: []string{`"className":"[^"]*a\.B[^"]*","method":"<init>"`, `"className":"[^"]*a\.C[^"]*","method":"lambda\$main\$[0-9]+"`}},
		"a.B.c <- (none)":                                              {Like: []string{`"className":"[^"]*a\.B[^"]*","method":"c"`}},
		"top: compiled epilogue":                                       {Like: []string{`"topState":"compiled"`}},
		"top: unknown code unknown":                                    {},
		"code -5, top: native body":                                    {Like: []string{`"numFrames":-5\},"divergence"`, `"topState":"native"`}},
		"whole stack":                                                  {},
		"undefined code":                                               {},
		"a.Ünicode.c":                                                  {}, // the agent's text may differ
		`a.B".c`:                                                       {},
		"a.B.c…":                                                       {},
	} {
		if at := []string{"upcall", "below upcall", "continuation", "deoptimised", "bottom frame"}; !slices.ContainsFunc(
			at,
			func(begin string) bool { return strings.HasPrefix(place, begin) },
		) {
			want.Unlike = []string{deoptimisedCaller} // another cause of the same cut
		}
		want.Kind, want.Check, want.MismatchKind = "mismatch", "gst-asgct", "truncated"
		got := ExpectOf(&misstepv1.Finding{
			Signature: &misstepv1.Signature{
				Kind:    "mismatch",
				Parts:   []string{"gst-asgct", "truncated", place},
				Version: signature.Version,
			},
			Example: &misstepv1.Outcome{Mismatches: []*misstepv1.Mismatch{{}, {DeoptimisedCaller: &misstepv1.Frame{}}}},
		})
		assert.Equal(t, want, got, place)
	}
}

// An agent from before the field tells a deoptimised caller by what it is not.
func TestExpectOfAnOlderAgent(t *testing.T) {
	got := ExpectOf(&misstepv1.Finding{
		Signature: &misstepv1.Signature{
			Kind:    "mismatch",
			Parts:   []string{"gst-asgct", "truncated", "deoptimised caller"},
			Version: signature.Version,
		},
		Example: &misstepv1.Outcome{Mismatches: []*misstepv1.Mismatch{{}}},
	})
	assert.Empty(t, got.Like)
	assert.Equal(t, []string{upcallFrame, virtualThread}, got.Unlike)
}

// The report shows the record whose cause is the finding's, not the shorter one of another.
func TestChooseMismatchByItsCause(t *testing.T) {
	record := func(frames int, caller *misstepv1.Frame) *misstepv1.Mismatch {
		return &misstepv1.Mismatch{
			Check:             "gst-asgct",
			Kind:              "truncated",
			DeoptimisedCaller: caller,
			Reference:         &misstepv1.Trace{Frames: make([]*misstepv1.Frame, frames)},
		}
	}
	short, long := record(2, nil), record(3, &misstepv1.Frame{})
	example := &misstepv1.Outcome{Mismatches: []*misstepv1.Mismatch{short, long}}
	for place, want := range map[string]*misstepv1.Mismatch{"deoptimised caller": long, "a.B.c <- a.D.e": short} {
		e := ExpectOf(
			&misstepv1.Finding{
				Signature: &misstepv1.Signature{
					Kind:    "mismatch",
					Parts:   []string{"gst-asgct", "truncated", place},
					Version: signature.Version,
				},
				Example: example,
			},
		)
		assert.Same(t, want, chooseMismatch(example, e), place)
	}
}
