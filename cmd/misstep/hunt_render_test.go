package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mattn/go-runewidth"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"misstep/app/hunt"
	misstepv1 "misstep/proto/misstep/v1"
)

// found is a hunt with these numbers of new and known bugs, of five findings each.
func found(fresh, known int) *hunt.Result {
	r := &hunt.Result{Dir: "/tmp/my hunt", Campaign: &misstepv1.CampaignStatus{Id: "C1"}, Bundles: map[string]string{}}
	for i := range fresh + known {
		b := &misstepv1.Bug{
			Id: fmt.Sprintf("F%012d", i), Status: "new", Hits: 10, Rate: &misstepv1.Reliability{Hits: 8, Tries: 200},
			Title: "gst-asgct: " + strings.Repeat("frames are missing between the callee and its caller, ", 3) + "at the end",
			Jdks:  []string{"jdk8", "jdk11", "jdk17", "jdk25"},
		}
		if i >= fresh {
			b.Id, b.Status = fmt.Sprintf("JDK-%07d", i), "known"
		}
		for j := range 5 {
			id := fmt.Sprintf("F%08d%04d", i, j)
			b.FindingIds = append(b.FindingIds, id)
			r.Bundles[id] = "/tmp/my hunt/bundles/" + id + ".zip"
		}
		r.Bugs = append(r.Bugs, b)
	}
	return r
}

// However much was found, a hunt ends with one screen: new bugs first and in full, then known ones, then what to type.
func TestAHuntEndsWithOneScreen(t *testing.T) {
	for _, fresh := range []int{0, 1, 3, 40} {
		for _, known := range []int{0, 1, 3, 40} {
			for _, height := range []int{14, 24, 50} {
				r := found(fresh, known)
				lines := huntLines(r, 80, height)
				text := strings.Join(lines, "\n")
				require.LessOrEqual(t, len(lines), height, "%d new and %d known in %d lines:\n%s", fresh, known, height, text)
				for _, line := range lines {
					if !strings.Contains(line, "misstep ") { // a command is whole
						assert.LessOrEqual(t, runewidth.StringWidth(line), 80, line)
					}
				}
				if fresh+known == 0 {
					assert.Equal(t, "no findings", text)
					continue
				}
				assert.Equal(t, "list them with: misstep findings list --dir '/tmp/my hunt'", lines[len(lines)-2])
				assert.Equal(t, "look at them in a browser: misstep web --dir '/tmp/my hunt'", lines[len(lines)-1])
				assert.Contains(t, text, "repeat one with: misstep replay '/tmp/my hunt/bundles/F000000000000.zip'")
				if fresh > 0 {
					assert.Regexp(t, `^\d+ new bugs?:$`, lines[0])
					assert.Contains(t, lines[1], "F000000000000  gst-asgct: frames are missing")
					assert.Contains(t, text, "8 of 200 trials (4 %) on jdk8, jdk11, jdk17, jdk25, 5 findings\n")
					assert.Contains(t, strings.Join(strings.Fields(text), " "), "its caller, at the end 8 of 200 trials")
					assert.NotContains(t, strings.Join(lines[:4], ""), "…", "a new bug is shown in full")
				} else {
					assert.Equal(t, "no new bugs", lines[0])
				}
				if known > 0 {
					assert.Contains(t, text, plural(known, "known bug")+" ("+plural(5*known, "finding")+"):")
				}
				if known == 1 {
					assert.Regexp(t, `\n  JDK-\d{7}  5 findings  10 hits  jdk8 jdk11 \+2  gst-asgct: frames.*…\n`, text)
				}
			}
		}
	}
	part := found(1, 0)
	part.Findings = []*misstepv1.Finding{{Id: part.Bugs[0].GetId(), KnownOn: []*misstepv1.KnownOn{
		{Jdk: &misstepv1.Jdk{Name: "jdk8"}, KnownAs: "JDK-8302320"}, {Jdk: &misstepv1.Jdk{Name: "jdk25"}},
	}}}
	assert.Contains(t, strings.Join(huntLines(part, 80, 24), "\n"), "  known as JDK-8302320 on jdk8; not on jdk25\n")
	assert.Contains(t, strings.Join(huntLines(found(40, 0), 80, 24), "\n"), "  … and 37 more\n")
	assert.Contains(t, strings.Join(huntLines(found(0, 40), 80, 24), "\n"), "  … and 23 more\n")
}

func TestATableFitsOrIsAsNarrowAsItsIDsAllow(t *testing.T) {
	columns := []column{{title: "id"}, {title: "n", drop: 1}, {title: "when", drop: 2}, {title: "what", cut: 20}}
	rows := [][]string{{"F000000000001", "12", "three days ago", "a title\nof 日本 that is much longer than the width of the screen"}}
	for width, want := range map[int]string{
		120: "F000000000001  12  three days ago  a title?of 日本 that is much longer than the width of the screen",
		60:  "F000000000001  12  three days ago  a title?of 日本 that is …",
		50:  "F000000000001  12  a title?of 日本 that is much l…",
		38:  "F000000000001  a title?of 日本 that i…",
		20:  "F000000000001  a title?of …",
	} {
		got := fitTable(width, columns, rows)
		require.Len(t, got, 2)
		assert.Equal(t, want, got[1], "width %d", width)
	}
}

func TestSizeOfWhatIsNoTerminal(t *testing.T) {
	t.Setenv("COLUMNS", "")
	t.Setenv("LINES", "")
	width, height := sizeOf(&bytes.Buffer{})
	assert.Equal(t, []int{132, 40}, []int{width, height})
	t.Setenv("COLUMNS", "90")
	t.Setenv("LINES", "30")
	width, height = sizeOf(&bytes.Buffer{})
	assert.Equal(t, []int{90, 30}, []int{width, height})
	t.Setenv("COLUMNS", "3")
	width, _ = sizeOf(&bytes.Buffer{})
	assert.Equal(t, 40, width, "narrower is not legible")
}

// Nothing is left of what is done, and what is not done is not 100 %.
func TestNothingIsLeftAtTheEnd(t *testing.T) {
	start := time.Unix(1_800_000_000, 0)
	const running, done = misstepv1.CampaignState_CAMPAIGN_STATE_RUNNING, misstepv1.CampaignState_CAMPAIGN_STATE_DONE
	for _, c := range []struct {
		elapsed time.Duration
		state   misstepv1.CampaignState
		planned uint64
		want    string
	}{
		{164 * time.Second, running, 40, "91 % ETA 16s"},
		{164 * time.Second, running, 20, "100 % ETA 0s"}, // all trials are over before the time is
		{164 * time.Second, done, 0, "100 % ETA 0s"},
		{179500 * time.Millisecond, running, 0, "99 % ETA 1s"},
		{200 * time.Second, running, 0, "100 % ETA 0s"}, // in the time of grace
	} {
		left, when := portion(start.Add(c.elapsed), &misstepv1.CampaignStatus{
			Submitted: timestamppb.New(start), State: c.state, Planned: c.planned, Outcomes: map[string]uint64{"clean": 20},
			Campaign: &misstepv1.Campaign{Budget: &misstepv1.Budget{Time: durationpb.New(180 * time.Second)}},
		})
		assert.Equal(t, c.want, fmt.Sprintf("%d %% %s", wholePercent(left), eta(when)), "%+v", c)
	}
}

// A hunt reports which walker hardly anything was compared, on which JDK, before it says what it found, or by what it bounds it.
func TestAHuntTellsWhatWasNotCompared(t *testing.T) {
	on := func(jdk string, match uint64) *misstepv1.ComparedOn {
		return &misstepv1.ComparedOn{Jdk: jdk, Profiler: "async-profiler,1ms,cstack=vm", Checks: []*misstepv1.CheckCount{
			{Check: "profiler-shadow", Total: 4795, Match: match, Unwalkable: map[int32]uint64{-1: 4795 - match}},
		}}
	}
	r := found(0, 0)
	r.Campaign.Compared = []*misstepv1.ComparedOn{on("jdk28", 1), on("jdk17", 4795)}
	t.Setenv("COLUMNS", "80")
	var b bytes.Buffer
	renderHunt(&b, r)
	text := strings.Join(strings.Fields(b.String()), " ")
	doubt := strings.Index(text, "async-profiler,cstack=vm on jdk28 hardly gave anything to compare (profiler-shadow): 4795 asked")
	require.Positive(t, doubt, text)
	assert.Less(t, doubt, strings.Index(text, "no findings; with 95 % confidence at most 98 % of what is compared is wrong"))
	assert.NotContains(t, text, "jdk17 hardly")
	assert.NotContains(t, text, "jdk17 lost")
}
