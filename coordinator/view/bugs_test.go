package view_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	"misstep/coordinator/rates"
	"misstep/coordinator/store"
	"misstep/coordinator/store/memory"
	"misstep/coordinator/view"
	"misstep/known"
	misstepv1 "misstep/proto/misstep/v1"
)

// catalogue with one bug in two checks and one in crashes, on 17 only.
func catalogue(t *testing.T) known.Catalogue {
	t.Helper()
	c, err := known.Parse([]byte(`
- id: JDK-1
  title: upcalls cut stacks
  description: d
  versions: ["17..17"]
  matches: [{kind: mismatch, parts: ["*", truncated, "*"]}]
- id: JDK-2
  title: walks read freed code
  description: d
  versions: ["17..17"]
  matches: [{kind: crash, parts: ["*"]}]
`))
	require.NoError(t, err)
	return c
}

// show is a trial of a campaign on a JDK and the findings it showed.
type show struct {
	campaign, jdk, checks, findings string
}

// populated is a store of two campaigns on two JDKs. F1 and F2 are one known bug; F3 is known on 17 and new on 25; F4 is a known
// crash; F5 and F6 were merged into one new finding.
func populated(t *testing.T) *memory.Store {
	t.Helper()
	s := memory.New()
	jdks := []*misstepv1.Jdk{{Name: "jdk17", Version: "17.0.15"}, {Name: "jdk25", Version: "25.0.3"}}
	findings := []struct {
		id, kind, parts, campaigns string
		first, last                time.Duration // ago
	}{
		{"F1", "mismatch", "gst-asgct truncated a", "C1", 9 * time.Hour, 5 * time.Hour},
		{"F2", "mismatch", "shadow-gst truncated b", "C1 C2", 8 * time.Hour, 3 * time.Hour},
		{"F3", "mismatch", "gst-asgct truncated c", "C1", 7 * time.Hour, 7 * time.Hour},
		{"F4", "crash", "SIGSEGV", "C2", 1 * time.Hour, 1 * time.Hour},
		{"F5", "mismatch", "gst-asgct extra d", "C1", 6 * time.Hour, 6 * time.Hour},
		{"F6", "mismatch", "gst-asgct extra e", "C1", 10 * time.Hour, 4 * time.Hour},
	}
	shows := []show{
		{"C1", "jdk17", "gst-asgct,shadow-gst", "F1 F2"},
		{"C1", "jdk17", "gst-asgct,shadow-gst", "F1"},
		{"C2", "jdk17", "shadow-gst", "F2 F4"},
		{"C1", "jdk17", "gst-asgct,shadow-gst", "F3"},
		{"C1", "jdk25", "gst-asgct,shadow-gst", "F3"},
		{"C1", "jdk25", "gst-asgct,shadow-gst", "F5 F6"},
		{"C1", "jdk25", "gst-asgct,shadow-gst", "F6"},
		{"C1", "jdk25", "liveness", ""},
		{"C1", "jdk17", "liveness", ""},
	}
	require.NoError(t, s.Update(t.Context(), func(tx store.Tx) error {
		for _, id := range []string{"C1", "C2"} {
			require.NoError(t, tx.PutCampaign(&store.Campaign{
				ID: id, Submission: &misstepv1.SubmitCampaignRequest{Jdks: jdks}, Tally: &misstepv1.CampaignStatus{},
			}))
		}
		for _, f := range findings {
			require.NoError(t, tx.PutFinding(&store.Finding{Proto: &misstepv1.Finding{
				Id: f.id, Title: "title of " + f.id, Campaigns: strings.Fields(f.campaigns),
				Signature: &misstepv1.Signature{Kind: f.kind, Parts: strings.Fields(f.parts)},
				FirstSeen: timestamppb.New(now.Add(-f.first)), LastSeen: timestamppb.New(now.Add(-f.last)),
			}}))
		}
		for i, x := range shows {
			r := &misstepv1.Recipe{Jdk: &misstepv1.Jdk{Name: x.jdk}, Workload: &misstepv1.Workload{Name: "w"}}
			for name := range strings.SplitSeq(x.checks, ",") {
				r.Checks = append(r.Checks, &misstepv1.Check{Name: name})
			}
			err := tx.AddTrial(&store.Trial{
				Campaign: x.campaign, Index: uint64(i), Recipe: r, FindingIDs: strings.Fields(x.findings),
				Outcome: &misstepv1.Outcome{Kind: misstepv1.OutcomeKind_OUTCOME_KIND_MISMATCHES},
			})
			require.NoError(t, err)
		}
		_, err := tx.AddDecision(&misstepv1.TriageDecision{Kind: "merge", Finding: "F6", Into: "F5"})
		return err
	}))
	return s
}

func ids[T interface{ GetId() string }](all []T) string {
	var out []string
	for _, x := range all {
		out = append(out, x.GetId())
	}
	return strings.Join(out, " ")
}

func TestSelectionsAndOrders(t *testing.T) {
	s := populated(t)
	r := reader(fleet{})
	r.Known = catalogue(t)
	for _, c := range []struct {
		selection      view.Selection
		findings, bugs string
	}{
		{view.Selection{}, "F5 F3 F4 F2 F1", "F5 F3 JDK-2 JDK-1"},
		{view.Selection{Status: "known"}, "F4 F2 F1", "JDK-2 JDK-1"},
		{view.Selection{Status: "new"}, "F5 F3", "F5 F3"},
		{view.Selection{Kind: "crash"}, "F4", "JDK-2"},
		{view.Selection{Kind: "hang"}, "", ""},
		{view.Selection{Check: "shadow-gst"}, "F2", "JDK-1"},
		{view.Selection{Campaign: "C2"}, "F4 F2", "JDK-2 JDK-1"},
		{view.Selection{JDK: "jdk25"}, "F5 F3", "F5 F3"},
		{view.Selection{JDK: "17"}, "F3 F4 F2 F1", "F3 JDK-2 JDK-1"},
		{view.Selection{JDK: "17.0.15"}, "F3 F4 F2 F1", "F3 JDK-2 JDK-1"},
		{view.Selection{JDK: "17.0.1"}, "", ""},
		{view.Selection{JDK: "1"}, "", ""},
		{view.Selection{SeenSince: now.Add(-3 * time.Hour)}, "F4 F2", "JDK-2 JDK-1"},
		{view.Selection{JDK: "17", Kind: "mismatch", Status: "known"}, "F2 F1", "JDK-1"},
		{view.Selection{Bug: "JDK-1"}, "F2 F1", "JDK-1"},
		{view.Selection{Bug: "F3"}, "F3", "F3"},
		{view.Selection{Bug: "F1"}, "", ""},
		{view.Selection{Sort: "last"}, "F4 F2 F5 F1 F3", "JDK-2 JDK-1 F5 F3"},
		{view.Selection{Sort: "first"}, "F4 F3 F2 F1 F5", "JDK-2 F3 JDK-1 F5"},
		{view.Selection{Sort: "hits"}, "F5 F3 F2 F1 F4", "JDK-1 F5 F3 JDK-2"},
		{view.Selection{Sort: "rate"}, "F5 F3 F1 F2 F4", "JDK-1 F5 F3 JDK-2"},
		{view.Selection{Sort: "kind"}, "F4 F5 F3 F2 F1", "JDK-2 F5 F3 JDK-1"},
		{view.Selection{Sort: "jdk"}, "F3 F4 F2 F1 F5", "F3 JDK-2 JDK-1 F5"},
	} {
		t.Run(fmt.Sprintf("%+v", c.selection), func(t *testing.T) {
			require.NoError(t, s.View(t.Context(), func(tx store.Tx) error {
				findings, err := r.Findings(tx, c.selection)
				require.NoError(t, err)
				assert.Equal(t, 5, findings.Total, "findings after merges")
				assert.Equal(t, c.findings, ids(findings.All))
				bugs, err := r.Bugs(tx, c.selection)
				require.NoError(t, err)
				assert.Equal(t, 5, bugs.Total)
				assert.Equal(t, c.bugs, ids(bugs.All))
				return nil
			}))
		})
	}
}

// What a bug sums up: trials that showed several of its findings count once, and only trials that could have shown it count.
func TestABugSumsUpItsFindings(t *testing.T) {
	r := reader(fleet{})
	r.Known = catalogue(t)
	require.NoError(t, populated(t).View(t.Context(), func(tx store.Tx) error {
		list, err := r.Bugs(tx, view.Selection{})
		require.NoError(t, err)
		bugs := list.All
		require.Len(t, bugs, 4)
		for _, b := range bugs {
			list.Fill(b)
		}
		merged, mixed, label := bugs[0], bugs[1], bugs[3]
		assert.Equal(t, []string{"F1", "F2"}, label.GetFindingIds())
		assert.Equal(t, "upcalls cut stacks", label.GetTitle())
		assert.Equal(t, "known", label.GetStatus())
		assert.Equal(t, []string{"mismatch"}, label.GetKinds())
		assert.Equal(t, []string{"jdk17"}, label.GetJdks())
		assert.Equal(t, now.Add(-9*time.Hour).UTC(), label.GetFirstSeen().AsTime())
		assert.Equal(t, now.Add(-3*time.Hour).UTC(), label.GetLastSeen().AsTime())
		assert.EqualValues(t, 3, label.GetHits(), "one trial showed both findings")
		assert.Equal(t, []uint32{3, 7}, []uint32{label.GetRate().GetHits(), label.GetRate().GetTries()},
			"without those that only looked at liveness")
		assert.Equal(t, []string{"F3"}, mixed.GetFindingIds(), "new on 25: not in the bug that it is on 17")
		assert.Equal(t, "new", mixed.GetStatus())
		assert.Equal(t, []string{"jdk17", "jdk25"}, mixed.GetJdks())
		assert.Equal(t, []string{"F5"}, merged.GetFindingIds())
		assert.EqualValues(t, 2, merged.GetHits())
		return nil
	}))
}

// counting counts reads of a transaction.
type counting struct {
	store.Tx
	reads map[string]int
}

func (c counting) Findings() ([]*store.Finding, error) { c.reads["Findings"]++; return c.Tx.Findings() }

func (c counting) Finding(id string) (*store.Finding, error) {
	c.reads["Finding"]++
	return c.Tx.Finding(id)
}
func (c counting) Log() (*rates.Log, error)       { c.reads["Log"]++; return c.Tx.Log() }
func (c counting) Counts() ([]rates.Count, error) { c.reads["Counts"]++; return c.Tx.Counts() }
func (c counting) Hits(ids ...string) ([]rates.Count, error) {
	c.reads["Hits"]++
	return c.Tx.Hits(ids...)
}
func (c counting) Shown() ([]rates.Shown, error) { c.reads["Shown"]++; return c.Tx.Shown() }
func (c counting) Campaign(id string) (*store.Campaign, error) {
	c.reads["Campaign"]++
	return c.Tx.Campaign(id)
}

func (c counting) Decisions() ([]*misstepv1.TriageDecision, error) {
	c.reads["Decisions"]++
	return c.Tx.Decisions()
}

func (c counting) Trials(campaign string, after uint64, limit int) ([]*store.Trial, error) {
	c.reads["Trials"]++
	return c.Tx.Trials(campaign, after, limit)
}

// A thousand findings cost as many reads of the store as one.
func TestAThousandFindingsCostAsManyReadsAsOne(t *testing.T) {
	r := reader(fleet{})
	r.Known = catalogue(t)
	for _, findings := range []int{1, 1000} {
		s := memory.New()
		require.NoError(t, s.Update(t.Context(), func(tx store.Tx) error {
			require.NoError(t, tx.PutCampaign(&store.Campaign{
				ID: "C1", Tally: &misstepv1.CampaignStatus{}, Submission: &misstepv1.SubmitCampaignRequest{
					Jdks: []*misstepv1.Jdk{{Name: "jdk17", Version: "17.0.15"}},
				},
			}))
			for i := range findings {
				kind := []string{"truncated", "extra"}[i%2]
				id := fmt.Sprintf("F%04d", i)
				require.NoError(t, tx.PutFinding(&store.Finding{Proto: &misstepv1.Finding{
					Id: id, Campaigns: []string{"C1"}, LastSeen: timestamppb.New(now),
					Signature: &misstepv1.Signature{Kind: "mismatch", Parts: []string{"gst-asgct", kind, id}},
				}}))
				err := tx.AddTrial(&store.Trial{
					Campaign: "C1", Index: uint64(i), FindingIDs: []string{id},
					Recipe:  &misstepv1.Recipe{Jdk: &misstepv1.Jdk{Name: "jdk17"}, Checks: []*misstepv1.Check{{Name: "gst-asgct"}}},
					Outcome: &misstepv1.Outcome{Kind: misstepv1.OutcomeKind_OUTCOME_KIND_MISMATCHES},
				})
				require.NoError(t, err)
			}
			return nil
		}))
		require.NoError(t, s.View(t.Context(), func(tx store.Tx) error {
			once := map[string]int{"Findings": 1, "Decisions": 1, "Log": 1, "Campaign": 1}
			c := counting{tx, map[string]int{}}
			list, err := r.Findings(c, view.Selection{})
			require.NoError(t, err)
			assert.Len(t, list.All, findings)
			assert.Equal(t, once, c.reads)
			c.reads = map[string]int{}
			grouped, err := r.Bugs(counting{tx, c.reads}, view.Selection{})
			require.NoError(t, err)
			bugs := grouped.All
			assert.Len(t, bugs, findings/2+1, "the known bug and the new findings")
			assert.Equal(t, once, c.reads)
			if findings > 1 {
				assert.Len(t, bugs[len(bugs)-1].GetFindingIds(), findings/2, "the known bug comes last")
			}
			return nil
		}))
	}
}

// A JDK without a trial is told from one whose trials showed nothing.
func TestTrialsOnASelectedJDK(t *testing.T) {
	r := reader(fleet{})
	require.NoError(t, populated(t).View(t.Context(), func(tx store.Tx) error {
		counts, err := tx.Counts()
		require.NoError(t, err)
		want := map[string]uint64{} // by campaign and JDK
		for _, c := range counts {
			want[c.Campaign+" "+c.JDK] += c.N
		}
		require.NotZero(t, want["C1 jdk17"])
		require.NotZero(t, want["C2 jdk17"])
		for selection, n := range map[view.Selection]uint64{
			{JDK: "17"}:                               want["C1 jdk17"] + want["C2 jdk17"],
			{JDK: "jdk17", Kind: "hang"}:              want["C1 jdk17"] + want["C2 jdk17"],
			{JDK: "17.0.15", Campaign: "C1"}:          want["C1 jdk17"],
			{JDK: "jdk25", Campaign: "C2"}:            want["C2 jdk25"],
			{JDK: "jdk99"}:                            0,
			{JDK: "jdk99", Campaign: "C1", Bug: "F3"}: 0,
		} {
			findings, err := r.Findings(tx, selection)
			require.NoError(t, err)
			bugs, err := r.Bugs(tx, selection)
			require.NoError(t, err)
			require.NotNil(t, findings.JDKTrials)
			require.NotNil(t, bugs.JDKTrials)
			assert.Equal(t, n, *findings.JDKTrials, "%+v", selection)
			assert.Equal(t, n, *bugs.JDKTrials, "%+v", selection)
		}
		findings, err := r.Findings(tx, view.Selection{})
		require.NoError(t, err)
		assert.Nil(t, findings.JDKTrials, "nothing was asked")
		return nil
	}))
}
