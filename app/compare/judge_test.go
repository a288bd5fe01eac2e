package compare

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/internal/paired"
	misstepv1 "misstep/proto/misstep/v1"
)

// pairsOf are pairs in which a trial has so many lost of 1,000 samples, and one mismatch of bug B where the second number is not 0.
func pairsOf(n int, before, after [2]uint64) [][2]Trial {
	var pairs [][2]Trial
	for i := range n {
		var pair [2]Trial
		for side, x := range [][2]uint64{before, after} {
			t := Trial{
				Pair: i, Side: Side(side), Outcome: "mismatches", Recipe: "mix",
				Checks: map[string]Counts{"asgct-shadow": {Asked: 1000, Judged: 1000, Lost: x[0] + uint64(i%3)}},
			}
			if x[1] > 0 {
				t.Bugs = map[string]map[string]uint64{"B": {"asgct-shadow": x[1]}}
			}
			pair[side] = t
		}
		pairs = append(pairs, pair)
	}
	return pairs
}

func find(t *testing.T, all []Measure, of, what string) Measure {
	t.Helper()
	for _, m := range all {
		if m.Of == of && m.What == what {
			return m
		}
	}
	require.Fail(t, "no measure "+of+" "+what)
	return Measure{}
}

var defaults = Options{Margin: Margin, Level: Level, PairTime: time.Minute}

func TestJudge(t *testing.T) {
	j := Judge(pairsOf(12, [2]uint64{100, 4}, [2]uint64{180, 0}), map[string]Bug{"B": {ID: "B", Title: "lost bottoms"}}, defaults)
	lost := find(t, j.Walkers, "asgct-shadow", "lost")
	assert.Equal(t, paired.Worse, lost.Verdict)
	assert.InDelta(t, 1.79, *lost.Ratio, 0.02)
	assert.Equal(t, "AsyncGetCallTrace", lost.Walker)
	bug := find(t, j.Bugs, "B", "")
	assert.Equal(t, paired.Better, bug.Verdict, "gone")
	assert.Equal(t, [2]int{12, 0}, bug.Trials)
	assert.Equal(t, "lost bottoms", bug.Title)
	assert.Equal(t, 2, j.Tested, "what was not seen is not tested")
	cut := find(t, j.Walkers, "asgct-shadow", "cut")
	assert.Equal(t, paired.NotSeen, cut.Verdict)
	assert.InDelta(t, 0.142, cut.Bound, 0.001, "0 of 24 trials")
	assert.Equal(t, lost.Of, j.Walkers[0].Of, "what is worse comes first")
	assert.Equal(t, "lost", j.Walkers[0].What)
}

func TestUndecidedNamesABudget(t *testing.T) {
	j := Judge(pairsOf(3, [2]uint64{100, 4}, [2]uint64{180, 0}), nil, defaults)
	bug := find(t, j.Bugs, "B", "")
	assert.Equal(t, paired.Undecided, bug.Verdict)
	assert.GreaterOrEqual(t, bug.Needed, 6.0)
	assert.Equal(t, time.Duration(bug.Needed)*time.Minute, bug.Time)
	assert.Equal(t, "undecided ("+Budget(bug.Time)+")", bug.VerdictText())
}

// What was compared less must not look better.
func TestVoidSamplesAreMeasured(t *testing.T) {
	pairs := pairsOf(12, [2]uint64{100, 0}, [2]uint64{0, 0})
	for i := range pairs {
		pairs[i][After].Checks = map[string]Counts{"asgct-shadow": {Asked: 1000, Judged: 300 + uint64(i)}}
	}
	j := Judge(pairs, nil, defaults)
	assert.Equal(t, paired.Worse, find(t, j.Walkers, "asgct-shadow", "void").Verdict)
}

// A pair counts for what both of its trials could show.
func TestTrialsThatShowNothingDoNotCount(t *testing.T) {
	pairs := pairsOf(4, [2]uint64{10, 1}, [2]uint64{10, 1})
	pairs[0][After].Checks = map[string]Counts{"asgct-shadow": {Asked: 5}}
	pairs[1][After].Checks = map[string]Counts{}
	j := Judge(pairs, nil, defaults)
	assert.Equal(t, 2, find(t, j.Walkers, "asgct-shadow", "lost").Pairs)
	assert.Equal(t, 3, find(t, j.Bugs, "B", "").Pairs, "a recipe without checks may show a crash")
}

// A signature that is known on one build is the same bug on both; a crash counts once.
func TestCounter(t *testing.T) {
	upcall := &misstepv1.Mismatch{
		Check: "gst-asgct", Kind: "truncated", Count: 3, Divergence: 1,
		Reference: &misstepv1.Trace{Source: "gst", NumFrames: 3, Frames: []*misstepv1.Frame{
			{ClassName: "A", Method: "f", Descriptor_: "()V"},
			{ClassName: "A", Method: "<clinit>", Descriptor_: "()V"},
			{ClassName: "B", Method: "main", Descriptor_: "()V"},
		}},
		Suspect: &misstepv1.Trace{Source: "asgct", NumFrames: 2, Frames: []*misstepv1.Frame{
			{ClassName: "A", Method: "f", Descriptor_: "()V"}, {ClassName: "A", Method: "<clinit>", Descriptor_: "()V"},
		}},
	}
	c := newCounter([2]*misstepv1.Jdk{{Version: "OpenJDK 64-Bit Server VM (25.0.3+9) for linux-amd64"}, {}})
	got := c.trial(&misstepv1.Outcome{
		Kind: misstepv1.OutcomeKind_OUTCOME_KIND_CRASH,
		Checks: []*misstepv1.CheckCount{
			{Check: "gst-asgct", Total: 12, Match: 7, Mismatch: 3, Void: map[string]uint64{"exit": 2}}, {Check: "liveness", Total: 9},
		},
		Mismatches: []*misstepv1.Mismatch{upcall},
		Crash:      &misstepv1.Crash{Error: "SIGSEGV (0xb)", ProblematicFrame: "V  [libjvm.so+0x1]  f()"},
	})
	assert.Equal(t, map[string]Counts{"gst-asgct": {Asked: 12, Judged: 10, Cut: 3}}, got.Checks)
	require.Len(t, got.Bugs, 2)
	crashes := 0
	for id, by := range got.Bugs {
		if by[""] == 1 {
			crashes++
			continue
		}
		assert.Equal(t, map[string]uint64{"gst-asgct": 3}, by)
		assert.True(t, c.bugs[id].Known, "%v", c.bugs[id])
	}
	assert.Equal(t, 1, crashes)
}

func TestOverall(t *testing.T) {
	of := func(pairs [][2]Trial) paired.Verdict {
		r := Report{Pairs: len(pairs), Judged: Judge(pairs, nil, defaults)}
		return r.overall()
	}
	assert.Equal(t, paired.Undecided, of(nil), "nothing was compared")
	assert.Equal(t, paired.Worse, of(pairsOf(12, [2]uint64{100, 4}, [2]uint64{180, 0})), "whatever is better")
	assert.Equal(t, paired.Better, of(pairsOf(12, [2]uint64{180, 0}, [2]uint64{100, 0})))
	assert.Equal(t, paired.Same, of(pairsOf(12, [2]uint64{100, 0}, [2]uint64{101, 0})))
	assert.Equal(t, paired.Undecided, of(pairsOf(3, [2]uint64{100, 1}, [2]uint64{101, 2})))
}

// outsideRE finds what a browser would fetch or run.
var outsideRE = regexp.MustCompile(`(?i)(src|href|srcset|action|data)\s*=|url\(|@import|<(script|iframe|link|base|object|embed)|\bon\w+\s*=`)

func TestPage(t *testing.T) {
	page := func(text string) string {
		r := &Report{
			Pairs: 9, Campaign: text, Builds: [2]Build{{JDK: text, Version: text, Profiler: text, Profilers: text}, {JDK: text}}, LeftOut: []string{text},
			Options: defaults, Judged: Judge(pairsOf(9, [2]uint64{100, 4}, [2]uint64{180, 3}), map[string]Bug{"B": {ID: text, Title: text}}, defaults),
		}
		r.Overall = r.overall()
		file := filepath.Join(t.TempDir(), PageFile)
		require.NoError(t, WriteHTML(file, r))
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		return string(b)
	}
	plain := page("text")
	assert.Empty(t, outsideRE.FindAllString(plain, -1))
	assert.NotContains(t, plain, "://")
	assert.Contains(t, plain, `default-src 'none'`)
	assert.Contains(t, plain, "Worse: of 1 bugs")
	assert.Contains(t, plain, `class="worse">worse`)
	tags := func(page string) int { return strings.Count(page, "<") }
	for _, text := range []string{`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `</title></style><svg onload=alert(1)>`} {
		assert.Equal(t, tags(plain), tags(page(text)), "%q adds no element", text)
	}
}

func TestTrialsAreKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "compared")
	k, err := newKeeper(dir)
	require.NoError(t, err)
	pairs := pairsOf(2, [2]uint64{100, 4}, [2]uint64{180, 0})
	for _, p := range pairs {
		require.NoError(t, k.keep(p))
	}
	require.NoError(t, k.close())
	text, err := os.ReadFile(filepath.Join(dir, TrialsFile))
	require.NoError(t, err)
	got, err := ReadTrials(bytes.NewReader(text))
	require.NoError(t, err)
	assert.Equal(t, []Trial{pairs[0][0], pairs[0][1], pairs[1][0], pairs[1][1]}, got)
	_, err = newKeeper(dir)
	require.ErrorContains(t, err, "choose another --dir")
	_, err = json.Marshal(Judge(pairs, nil, defaults))
	require.NoError(t, err, "no number that JSON lacks")
}
