package coordinator_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"misstep/coordinator"
	"misstep/coordinator/custody"
	"misstep/coordinator/store"
	"misstep/coordinator/store/memory"
	misstepv1 "misstep/proto/misstep/v1"
)

// repeated is a coordinator that has a share of trials run once more, at a time that the test says.
type repeated struct {
	*strangers
	now time.Time
}

func newRepeated(t *testing.T, trials uint64, share float64) *repeated {
	t.Helper()
	r := &repeated{strangers: &strangers{t: t, store: memory.New(), drops: &drops{by: map[string]int{}}}}
	r.now = time.Unix(1_800_000_000, 0)
	r.start(share)
	sub, err := r.server.SubmitCampaign(t.Context(), submission(trials))
	require.NoError(t, err)
	r.id = sub.GetCampaignId()
	return r
}

func (r *repeated) start(share float64) {
	var err error
	r.receipts, err = custody.OpenReceipts(r.t.Context(), r.store)
	require.NoError(r.t, err)
	r.server = coordinator.New(coordinator.Config{
		Store: r.store, Metrics: r.drops, Receipts: r.receipts, AuditShare: share, LeaseTime: 10 * time.Minute,
		Clock: func() time.Time { return r.now },
	})
}

func (r *repeated) after(d time.Duration) {
	r.t.Helper()
	r.now = r.now.Add(d)
	require.NoError(r.t, r.server.Tick(r.t.Context()))
}

func (r *repeated) campaign() *misstepv1.CampaignStatus {
	r.t.Helper()
	got, err := r.server.GetCampaign(r.t.Context(), &misstepv1.GetCampaignRequest{CampaignId: r.id})
	require.NoError(r.t, err)
	return got.GetCampaign()
}

func (r *repeated) repetitions(drawn, ended, dropped, differing uint64) {
	r.t.Helper()
	want := &misstepv1.Repetitions{Drawn: drawn, Ended: ended, Dropped: dropped, Differing: differing}
	got := r.campaign().GetRepetitions()
	assert.True(r.t, proto.Equal(want, got), "want %v, got %v", want, got)
}

// To the runner that repeats a trial its lease is as any other. The second result is no trial; a finding that it shows is one.
func TestATrialIsRepeatedByAnotherOwner(t *testing.T) {
	r := newRepeated(t, 1, 1)
	first := r.call("a", "r", 1)
	require.Len(t, first, 1)
	r.call("a", "r", 0, ended(first[0], cleanOf(first[0])))
	assert.Equal(t, misstepv1.CampaignState_CAMPAIGN_STATE_DONE, r.campaign().GetState(), "the campaign does not wait for it")
	r.repetitions(1, 0, 0, 0)
	assert.Empty(t, r.call("a", "r", 4), "not its own trials")
	assert.Empty(t, r.call("a", "r2", 4), "nor those of its owner's other runners")
	second := r.call("b", "r", 4)
	require.Len(t, second, 1)
	again := proto.CloneOf(first[0])
	again.Id, again.Deadline = second[0].GetId(), second[0].GetDeadline()
	assert.True(t, proto.Equal(again, second[0]), "%v", second[0])
	assert.Empty(t, r.call("c", "r", 4), "once")
	r.call("b", "r", 0, ended(second[0], crashOf(t, second[0])))
	r.repetitions(1, 1, 0, 1)
	require.Len(t, r.trials(), 1)
	assert.Empty(t, r.trials()[0].GetFindingIds())

	found, err := r.server.ListFindings(t.Context(), &misstepv1.ListFindingsRequest{})
	require.NoError(t, err)
	require.Len(t, found.GetFindings(), 1)
	f := found.GetFindings()[0]
	assert.Equal(t, []string{r.id}, f.GetCampaigns())
	assert.Equal(t, []string{f.GetId()}, r.campaign().GetFindingIds())
	assert.Equal(t, map[string]uint64{"clean": 1}, r.campaign().GetOutcomes())
	require.NoError(t, r.store.View(t.Context(), func(tx store.Tx) error {
		hits, err := tx.Hits(f.GetId())
		assert.Empty(t, hits, "no rate")
		counts, err2 := tx.Counts()
		require.NoError(t, err2)
		require.Len(t, counts, 1)
		assert.EqualValues(t, 1, counts[0].N)
		return err
	}))
	pairs := func() {
		list, err := r.server.ListRunners(t.Context(), &misstepv1.ListRunnersRequest{})
		require.NoError(t, err)
		require.NotEmpty(t, list.GetRunners())
		for _, one := range list.GetRunners() {
			want := map[string]uint64{"runner a": 1, "runner b": 1}[one.GetOwner()]
			assert.Equal(t, want, one.GetRepeated(), one.GetOwner())
		}
	}
	pairs()
	r.after(time.Minute)
	pairs()
	r.start(1)
	r.call("a", "r", 0)
	r.call("b", "r", 0)
	pairs()
}

// Without others the repetition waits: for the same owner's other runners, and then no longer.
func TestNobodyElsewhere(t *testing.T) {
	r := newRepeated(t, 2, 1)
	first := r.call("a", "r", 2)
	r.call("a", "r", 0, ended(first[0], cleanOf(first[0])), ended(first[1], cleanOf(first[1])))
	r.after(29 * time.Minute)
	assert.Empty(t, r.call("a", "r2", 4))
	r.after(time.Minute)
	assert.Empty(t, r.call("a", "r", 4), "the same runner proves nothing")
	late := r.call("a", "r2", 1)
	require.Len(t, late, 1)
	r.call("a", "r2", 0, ended(late[0], cleanOf(late[0])))
	r.repetitions(2, 1, 0, 0)
	r.after(30 * time.Minute)
	r.repetitions(2, 1, 1, 0)
	assert.Empty(t, r.call("b", "r", 4))
}

// A repetition that has no result is tried again, three times.
func TestRepetitionsThatFail(t *testing.T) {
	r := newRepeated(t, 1, 1)
	first := r.call("a", "r", 1)
	r.call("a", "r", 0, ended(first[0], cleanOf(first[0])))
	for _, owner := range []string{"b", "c"} {
		l := r.call(owner, "r", 1)
		require.Len(t, l, 1, owner)
		r.call(owner, "r", 0, failed(l[0]))
		r.after(time.Second)
	}
	l := r.call("b", "r", 1)
	require.Len(t, l, 1)
	interrupted := failed(l[0])
	interrupted.GetFailure().Interrupted = true
	r.call("b", "r", 0, interrupted)
	r.after(time.Second)
	require.Len(t, r.call("b", "r", 1), 1, "who was interrupted has not failed")
	r.repetitions(1, 0, 0, 0)
	r.after(11 * time.Minute) // its lease ends
	assert.Empty(t, r.call("c", "r", 1))
	r.repetitions(1, 0, 1, 0)
	assert.Zero(t, r.campaign().GetFailed())
	assert.Zero(t, r.campaign().GetRetries())
}

// Nothing of a stopped campaign runs.
func TestRepetitionsOfAStoppedCampaign(t *testing.T) {
	r := newRepeated(t, 9, 1)
	first := r.call("a", "r", 2)
	r.call("a", "r", 0, ended(first[0], cleanOf(first[0])), ended(first[1], cleanOf(first[1])))
	running := r.call("b", "r", 1)
	require.Len(t, running, 1)
	_, err := r.server.StopCampaign(t.Context(), &misstepv1.StopCampaignRequest{CampaignId: r.id})
	require.NoError(t, err)
	assert.Empty(t, r.call("b", "r", 4), "neither the one that runs nor the one that waits")
	r.repetitions(2, 0, 1, 0)
	assert.Zero(t, r.campaign().GetCancelled())
}

// About the share of trials is drawn, and which depends on a key that the coordinator made.
func TestTheShare(t *testing.T) {
	drawn := func() (trials []uint64) {
		r := newRepeated(t, 400, 0.25)
		for range 25 {
			var results []*misstepv1.HeldLease
			for _, l := range r.call("a", "r", 16) {
				results = append(results, ended(l, cleanOf(l)))
			}
			r.call("a", "r", 0, results...)
		}
		require.NoError(t, r.store.View(t.Context(), func(tx store.Tx) error {
			all, err := tx.Repetitions(store.RepetitionFilter{})
			for _, one := range all {
				trials = append(trials, one.Index)
			}
			return err
		}))
		slices.Sort(trials)
		return trials
	}
	one, other := drawn(), drawn()
	assert.InDelta(t, 100, len(one), 40)
	assert.NotEqual(t, one, other)
}
