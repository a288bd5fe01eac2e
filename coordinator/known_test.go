package coordinator_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"misstep/coordinator"
	"misstep/coordinator/store"
	"misstep/coordinator/store/memory"
	"misstep/known"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/signature"
)

const (
	jdk1715 = "OpenJDK 64-Bit Server VM (17.0.15+6) for linux-amd64 JRE (17.0.15+6)"
	jdk1716 = "OpenJDK 64-Bit Server VM (17.0.16+8) for linux-amd64 JRE (17.0.16+8)"
)

// watched is a coordinator whose trials are put into its store directly.
type watched struct {
	*coordinator.Server
	t     *testing.T
	store store.Store
	next  uint64
}

func newWatched(t *testing.T, sigs ...*misstepv1.Signature) *watched {
	w := &watched{t: t, store: memory.New()}
	w.Server = coordinator.New(coordinator.Config{Store: w.store, Known: known.Default()})
	require.NoError(t, w.store.Update(t.Context(), func(tx store.Tx) error {
		for _, s := range sigs {
			if err := tx.PutFinding(&store.Finding{Proto: &misstepv1.Finding{
				Id: signature.ID(s), Signature: s, Campaigns: []string{"C1"}, LastSeen: timestamppb.New(time.Unix(1, 0)),
				ExampleRecipe: &misstepv1.Recipe{},
			}}); err != nil {
				return err
			}
		}
		return tx.PutCampaign(&store.Campaign{
			ID: "C1", Tally: &misstepv1.CampaignStatus{}, Submission: &misstepv1.SubmitCampaignRequest{Jdks: []*misstepv1.Jdk{
				{Name: "old", Version: jdk1715}, {Name: "new", Version: jdk1716},
			}},
		})
	}))
	return w
}

// run stores n trials on a JDK, each showing the findings.
func (w *watched) run(n int, jdk string, shows ...*misstepv1.Signature) {
	var ids []string
	for _, s := range shows {
		ids = append(ids, signature.ID(s))
	}
	require.NoError(w.t, w.store.Update(w.t.Context(), func(tx store.Tx) error {
		for range n {
			w.next++
			if err := tx.AddTrial(&store.Trial{
				Campaign: "C1", Index: w.next, FindingIDs: ids, Ended: time.Unix(int64(w.next), 0),
				Recipe:  &misstepv1.Recipe{Jdk: &misstepv1.Jdk{Name: jdk}, Workload: &misstepv1.Workload{Name: "w"}},
				Outcome: &misstepv1.Outcome{Kind: misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN},
			}); err != nil {
				return err
			}
		}
		return nil
	}))
}

func (w *watched) finding(s *misstepv1.Signature) *misstepv1.Finding {
	got, err := w.GetFinding(w.t.Context(), &misstepv1.GetFindingRequest{FindingId: signature.ID(s)})
	require.NoError(w.t, err)
	all, err := w.ListFindings(w.t.Context(), &misstepv1.ListFindingsRequest{})
	require.NoError(w.t, err)
	for _, f := range all.GetFindings() {
		if f.GetId() == got.GetFinding().GetId() {
			assert.Equal(w.t, f.GetKnownAs(), got.GetFinding().GetKnownAs())
			assert.Len(w.t, got.GetFinding().GetStates(), len(f.GetStates()), "a list shows the same states")
		}
	}
	return got.GetFinding()
}

// inState lists the ids of the findings in a state.
func (w *watched) inState(kind string) []string {
	resp, err := w.ListFindings(w.t.Context(), &misstepv1.ListFindingsRequest{State: kind})
	require.NoError(w.t, err)
	var ids []string
	for _, f := range resp.GetFindings() {
		ids = append(ids, f.GetId())
	}
	return ids
}

func crashIn(frame string) *misstepv1.Signature {
	return signature.Proto(signature.Crash{Error: "SIGSEGV", Frame: frame, Thread: "Java", Operation: "none"})
}

func (w *watched) know(b *misstepv1.KnownBug) []string {
	resp, err := w.PutKnownBugs(w.t.Context(), &misstepv1.PutKnownBugsRequest{Bugs: []*misstepv1.KnownBug{b}})
	require.NoError(w.t, err)
	return resp.GetWarnings()
}

func matching(id string, parts ...string) *misstepv1.KnownBug {
	return &misstepv1.KnownBug{Id: id, Matches: []*misstepv1.KnownMatch{{Kind: "crash", Parts: parts}}}
}

func TestOwnKnownBugs(t *testing.T) {
	sender, other := crashIn("V frame::sender"), crashIn("V frame::other")
	w := newWatched(t, sender, other)
	w.run(3, "old", sender, other)
	assert.Empty(t, w.finding(sender).GetKnownAs())

	bug := matching("P-1", "SIGSEGV", "frame: V frame::sender")
	bug.Link, bug.Note = "https://tracker/P-1", "ask the GC team"
	assert.Empty(t, w.know(bug))
	got := w.finding(sender)
	assert.Equal(t, "P-1", got.GetKnownAs())
	assert.Equal(t, "ask the GC team", got.GetBugs()[0].GetNote())
	assert.NotNil(t, got.GetBugs()[0].GetAdded())
	assert.Empty(t, w.finding(other).GetKnownAs(), "another frame is another bug")

	assert.NotEmpty(t, w.know(matching("P-2", "SIGSEGV")), "any SIGSEGV")
	assert.Equal(t, []string{"P-2"}, w.finding(sender).GetKnownOn()[0].GetAlsoAs())
	assert.Equal(t, "P-2", w.finding(other).GetKnownAs())
	_, err := w.RemoveKnownBug(t.Context(), &misstepv1.RemoveKnownBugRequest{BugId: "P-2"})
	require.NoError(t, err)
	assert.Empty(t, w.finding(other).GetKnownAs())
	_, err = w.RemoveKnownBug(t.Context(), &misstepv1.RemoveKnownBugRequest{BugId: "P-2"})
	assert.Equal(t, codes.NotFound, status.Code(err))
	_, err = w.PutKnownBugs(t.Context(), &misstepv1.PutKnownBugsRequest{
		Bugs: []*misstepv1.KnownBug{matching("P-3", "*", "frame: *")},
	})
	assert.Equal(t, codes.InvalidArgument, status.Code(err))
}

// On a build with the fix the finding is not the known bug: it is new there, and said to be back.
func TestBack(t *testing.T) {
	sender := crashIn("V frame::sender")
	w := newWatched(t, sender)
	bug := matching("P-1", "SIGSEGV", "frame: V frame::sender")
	bug.FixedIn = []string{"17.0.16"}
	bug.Title = "the sender of a torn frame"
	w.know(bug)
	w.run(5, "old", sender)
	w.run(100, "new")
	assert.Equal(t, "P-1", w.finding(sender).GetKnownAs())
	bugs, err := w.ListBugs(t.Context(), &misstepv1.ListBugsRequest{})
	require.NoError(t, err)
	require.Len(t, bugs.GetBugs(), 1)
	assert.Equal(t, bug.GetTitle(), bugs.GetBugs()[0].GetTitle(), "a bug of one's own has its own title")
	assert.Empty(t, w.finding(sender).GetStates())
	w.run(2, "new", sender)
	got := w.finding(sender)
	assert.Empty(t, got.GetKnownAs())
	require.Len(t, got.GetStates(), 1)
	s := got.GetStates()[0]
	assert.Equal(t, []string{"back", "new", "P-1", "17.0.16"}, []string{s.GetKind(), s.GetJdk(), s.GetBug(), s.GetFixedIn()})
	assert.Equal(t, []uint64{2, 102}, []uint64{s.GetHits(), s.GetTrials()})
}

func TestQuiet(t *testing.T) {
	sender, other := crashIn("V frame::sender"), crashIn("V frame::other")
	w := newWatched(t, sender, other)
	for range 10 {
		w.run(9, "old")
		w.run(1, "old", sender)
	}
	w.run(1000, "new")
	assert.Empty(t, w.finding(sender).GetStates(), "trials on another JDK prove nothing")
	w.run(50, "old")
	assert.Empty(t, w.finding(sender).GetStates(), "five are expected")
	w.run(250, "old", other)
	got := w.finding(sender).GetStates()
	require.Len(t, got, 1)
	assert.Equal(t, []uint64{10, 300}, []uint64{got[0].GetHits(), got[0].GetTrials()})
	assert.InDelta(t, 30, got[0].GetExpected(), 0.1)
	assert.Less(t, got[0].GetP(), got[0].GetLevel())
	assert.Equal(t, "quiet", got[0].GetKind())
	assert.Equal(t, []string{signature.ID(sender)}, w.inState("quiet"))
	assert.Empty(t, w.inState("back"))
	_, err := w.ListFindings(t.Context(), &misstepv1.ListFindingsRequest{State: "loud"})
	require.ErrorContains(t, err, "state: unknown value")
	bugs, err := w.ListBugs(t.Context(), &misstepv1.ListBugsRequest{Findings: &misstepv1.ListFindingsRequest{State: "quiet"}})
	require.NoError(t, err)
	require.Len(t, bugs.GetBugs(), 1)
	assert.Equal(t, []string{"quiet"}, bugs.GetBugs()[0].GetStates())
	w.run(1, "old", sender)
	assert.Empty(t, w.finding(sender).GetStates(), "it is there again")
}

// A bucket of assorted failures is not labelled, merged, reproduced or watched, and says why.
func TestAssortedIsNoBug(t *testing.T) {
	bucket, sender := crashIn("V libjvm.so"), crashIn("V frame::sender")
	w := newWatched(t, bucket, sender)
	w.know(matching("P-1", "SIGSEGV"))
	w.run(20, "old", bucket)
	w.run(2000, "old", sender)
	f := w.finding(bucket)
	assert.Empty(t, f.GetKnownAs())
	assert.Empty(t, f.GetStates())
	assert.Contains(t, f.GetAssorted(), "symbol")
	assert.Empty(t, w.finding(sender).GetAssorted())
	for _, pair := range [][2]*misstepv1.Signature{{bucket, sender}, {sender, bucket}} {
		_, err := w.MergeFindings(t.Context(), &misstepv1.MergeFindingsRequest{
			FindingId: signature.ID(pair[0]), IntoId: signature.ID(pair[1]),
		})
		assert.Equal(t, codes.FailedPrecondition, status.Code(err))
		require.ErrorContains(t, err, "cannot be merged")
	}
	_, err := w.StartReproduction(t.Context(), &misstepv1.StartReproductionRequest{FindingId: signature.ID(bucket)})
	assert.Equal(t, codes.FailedPrecondition, status.Code(err))
	assert.ErrorContains(t, err, "no frame of the crash has a symbol")
}
