package triage_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/signature"
	"misstep/triage"
	"misstep/triage/triagetest"
)

// deepFault is a walk that is cut off below the method number place, in a stack of 1,000 frames of 300 methods.
func deepFault(check string, place, variant int) *misstepv1.Mismatch {
	const depth = 1000
	frames := make([]*misstepv1.Frame, depth)
	for i := range frames {
		frames[i] = &misstepv1.Frame{
			ClassName: "org.example.compiler.phases.TreeTransformer", Method: fmt.Sprintf("transformFollowingDeep%d", (i*7+i/300)%300),
			Descriptor_: "(Lorg/example/compiler/Tree;Lorg/example/compiler/Context;)Lorg/example/compiler/Tree;", Bci: int32(i % 90),
		}
	}
	frames[0].Method = fmt.Sprintf("entry%d", variant)
	end := 1 + place
	frames[end-1] = &misstepv1.Frame{ClassName: "org.example.Last", Method: fmt.Sprintf("kept%d", place), Descriptor_: "()V"}
	frames[end] = &misstepv1.Frame{ClassName: "org.example.First", Method: fmt.Sprintf("lost%d", place), Descriptor_: "()V"}
	suspect := make([]*misstepv1.Frame, end)
	for i := range suspect {
		suspect[i] = proto.CloneOf(frames[i])
	}
	return &misstepv1.Mismatch{
		Check: check, Kind: "truncated", Count: uint64(2 + variant),
		Reference: &misstepv1.Trace{Source: "gst", Frames: frames},
		Suspect:   &misstepv1.Trace{Source: "asgct", Frames: suspect, NumFrames: int32(end)},
	}
}

// counts sums the counts of an outcome's mismatches by the id of their signatures.
func counts(o *misstepv1.Outcome) map[string]uint64 {
	sums := map[string]uint64{}
	for _, m := range o.GetMismatches() {
		sig, _ := triage.Mismatch(m)
		sums[signature.ID(sig)] += m.GetCount()
	}
	return sums
}

func TestFitLosesNoSignatureHoweverManyAndDeep(t *testing.T) {
	o := &misstepv1.Outcome{}
	for place := 1; place <= 500; place++ {
		for variant := range 2 {
			o.Mismatches = append(o.Mismatches, deepFault(recipe.GstAsgct, place, variant))
		}
	}
	before := counts(o)
	require.Greater(t, len(before), 400)
	hits := triage.Triage(o)
	triage.Fit(o, triage.MaxOutcome)
	require.LessOrEqual(t, proto.Size(o), triage.MaxOutcome)
	require.Equal(t, before, counts(o))
	require.Zero(t, o.GetSignaturesLeftOut())
	require.EqualValues(t, 1000-len(before), o.GetMismatchesLeftOut())
	after := triage.Triage(o)
	require.Len(t, after, len(hits))
	for i, h := range after {
		require.Equal(t, hits[i].ID, h.ID)
		require.Equal(t, hits[i].Title, h.Title, "a title counts what is left out")
	}
}

func TestFitCountsWhatHasNoRoomAtAll(t *testing.T) {
	o := &misstepv1.Outcome{}
	for place := range 100 {
		o.Mismatches = append(o.Mismatches, deepFault(recipe.GstAsgct, 1+place, 0))
	}
	triage.Fit(o, 20<<10)
	require.LessOrEqual(t, proto.Size(o), 20<<10)
	require.Positive(t, o.GetSignaturesLeftOut())
	require.Equal(t, 100, int(o.GetSignaturesLeftOut())+len(o.GetMismatches()))
}

func TestFitLeavesAloneWhatHasRoom(t *testing.T) {
	o := &misstepv1.Outcome{Mismatches: []*misstepv1.Mismatch{
		deepFault(recipe.GstAsgct, 5, 0), deepFault(recipe.GstAsgct, 5, 1),
	}}
	before := proto.CloneOf(o)
	triage.Fit(o, triage.MaxOutcome)
	require.True(t, proto.Equal(before, o))
}

func TestShortenKeepsTopBottomAndWhereStacksPart(t *testing.T) {
	m := deepFault(recipe.GstAsgct, 400, 0)
	before := proto.CloneOf(m)
	short := triage.Shorten(m, 16)
	require.True(t, proto.Equal(before, m), "the argument is not changed")
	require.Equal(t, 1000, short.GetReference().Depth())
	require.Equal(t, 401, short.GetSuspect().Depth())
	names := func(tr *misstepv1.Trace) (out []string) {
		for _, f := range tr.GetFrames() {
			out = append(out, f.GetMethod())
		}
		return out
	}
	require.Len(t, short.GetReference().GetFrames(), 32)
	for _, name := range []string{"entry0", "kept400", "lost400", m.GetReference().GetFrames()[999].GetMethod()} {
		require.Contains(t, names(short.GetReference()), name)
	}
	require.Equal(t, "kept400", names(short.GetSuspect())[15])
	require.Contains(t, fmt.Sprint(short.GetSuspect().Shown()), "… 385 frames omitted …")
	require.Same(t, short, triage.Shorten(short, 6), "gaps are made once")
}

// A sample's reference lacks the methods that are not instrumented.
// What is left out is not copied first: of a deep stack that is nearly all.
func TestShortenCopiesNoFrames(t *testing.T) {
	m := deepFault("gst-asgct", 300, 0)
	for range 4 {
		m.Reference.Frames = append(m.Reference.Frames, m.GetReference().GetFrames()...)
	}
	whole := testing.AllocsPerRun(3, func() { proto.CloneOf(m) })
	before := proto.CloneOf(m)
	judged := testing.AllocsPerRun(3, func() { triage.Mismatch(m) })
	var short *misstepv1.Mismatch
	took := testing.AllocsPerRun(3, func() { short = triage.Shorten(m, 6) })
	require.Less(t, len(short.GetReference().GetFrames()), 100)
	require.Less(t, took-2*judged, whole, "allocations, beside those of triage before and after")
	require.True(t, proto.Equal(before, m), "the argument is as it was")
}

func TestShortenOfASampleLeavesOutWhatLiesBetween(t *testing.T) {
	m := deepFault(recipe.AsgctShadow, 600, 0)
	m.Reference.Source, m.Pc = "shadow", 1
	var mixed []*misstepv1.Frame
	for i, f := range m.GetSuspect().GetFrames() {
		mixed = append(mixed, f)
		if i%2 == 1 {
			mixed = append(mixed, &misstepv1.Frame{ClassName: "java.util.List", Method: "get", Descriptor_: "(I)V", Bci: int32(i)})
		}
	}
	m.Suspect.Frames = mixed
	before, title := triage.Mismatch(m)
	short := triage.Shorten(m, 64)
	after, shortTitle := triage.Mismatch(short)
	require.True(t, signature.Same(before, after))
	require.Equal(t, title, shortTitle)
	require.Less(t, len(short.GetSuspect().GetFrames()), 110)
	require.Equal(t, len(mixed), short.GetSuspect().Depth())
	list := func(f *misstepv1.Frame) bool { return f.GetMethod() == "get" }
	require.True(t, slices.ContainsFunc(short.GetSuspect().GetFrames(), list))
}

// Of all labelled mismatches of real JVMs, none is another one when it is short.
func TestShortenedMismatchesOfRealJVMs(t *testing.T) {
	shortened := 0
	all, err := triagetest.Open("triagetest/testdata/labelled.jsonl.gz")
	require.NoError(t, err)
	for _, l := range all {
		for _, m := range l.Outcome.GetMismatches() {
			short := triage.Shorten(m, 6)
			before, title := triage.Mismatch(m)
			after, shortTitle := triage.Mismatch(short)
			require.True(t, signature.Same(before, after))
			require.Equal(t, title, shortTitle)
			if short != m {
				shortened++
			}
		}
	}
	require.Greater(t, shortened, 50)
}
