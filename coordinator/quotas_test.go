package coordinator_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"misstep/coordinator"
	"misstep/coordinator/store"
	"misstep/coordinator/store/memory"
	misstepv1 "misstep/proto/misstep/v1"
)

// office is a coordinator with people who hunt.
type office struct {
	*testing.T
	store  store.Store
	server *coordinator.Server
	now    time.Time
}

func newOffice(t *testing.T) *office {
	o := &office{T: t, store: memory.New(), now: time.Date(2027, 1, 31, 12, 0, 0, 0, time.UTC)}
	o.server = o.coordinator(false)
	return o
}

func (o *office) coordinator(shared bool) *coordinator.Server {
	return coordinator.New(coordinator.Config{Store: o.store, Clock: func() time.Time { return o.now }, Shared: shared})
}

func (o *office) hunter(name, project string) context.Context {
	return by(o.T, name, project, misstepv1.Role_ROLE_HUNTER, project)
}

func (o *office) submit(name, project string, trials uint64) string {
	o.Helper()
	r, err := o.server.SubmitCampaign(o.hunter(name, project), submission(trials))
	require.NoError(o, err)
	return r.GetCampaignId()
}

func (o *office) set(req *misstepv1.SetQuotaRequest) {
	o.Helper()
	_, err := o.server.SetQuota(by(o.T, "adam", "default", misstepv1.Role_ROLE_ADMIN, ""), req)
	require.NoError(o, err)
}

// sync makes a call of a runner and returns what it holds.
func (o *office) sync(s *coordinator.Server, runner string, free uint32, held ...*misstepv1.HeldLease) []*misstepv1.Lease {
	o.Helper()
	r, err := s.Synchronize(o.Context(), &misstepv1.SynchronizeRequest{
		Runner: &misstepv1.Runner{Id: runner, Slots: 100}, FreeSlots: free, Held: held,
	})
	require.NoError(o, err)
	return r.GetDesired()
}

// finish reports a clean outcome of each lease, with evidence of a size.
func (o *office) finish(runner string, leases []*misstepv1.Lease, size uint64) {
	o.Helper()
	var held []*misstepv1.HeldLease
	for i, l := range leases {
		held = append(held, &misstepv1.HeldLease{LeaseId: l.GetId(), State: &misstepv1.HeldLease_Outcome{Outcome: &misstepv1.Outcome{
			Kind: misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN, Evidence: []*misstepv1.Evidence{{
				Name: "output", Digest: "sha256:" + strings.Repeat(fmt.Sprint(i%10), 64), Size: size,
			}},
		}}})
	}
	require.Empty(o, o.sync(o.server, runner, 0, held...))
}

func (o *office) held(name, project, campaign string) []string {
	o.Helper()
	r, err := o.server.GetCampaign(o.hunter(name, project), &misstepv1.GetCampaignRequest{CampaignId: campaign})
	require.NoError(o, err)
	return r.GetCampaign().GetHeld()
}

func byCampaign(leases []*misstepv1.Lease) map[string]int {
	n := map[string]int{}
	for _, l := range leases {
		n[l.GetCampaignId()]++
	}
	return n
}

// Whoever reached a quota is passed over, and no slot stays free that another may use.
func TestAQuotaLeavesTheRunnersToOthers(t *testing.T) {
	o := newOffice(t)
	annas, again := o.submit("anna", "p", 1000), o.submit("anna", "q", 1000)
	bens := o.submit("ben", "p", 20)
	o.set(&misstepv1.SetQuotaRequest{Person: "anna", Runners: proto.Uint64(3)})
	got := byCampaign(o.sync(o.server, "r", 10))
	assert.Equal(t, 3, got[annas]+got[again])
	assert.Equal(t, 7, got[bens], "more than half, since anna may have no more")
	assert.Equal(t, []string{"quota of person anna: 3 trials at once run"}, o.held("anna", "p", annas))
	assert.Empty(t, o.held("ben", "p", bens))

	// Only what nobody may use stays free: ben has 13 more.
	got = byCampaign(o.sync(o.server, "s", 50))
	assert.Equal(t, map[string]int{bens: 13}, got)
	// More is granted as soon as more is allowed.
	o.set(&misstepv1.SetQuotaRequest{Person: "anna", Runners: proto.Uint64(5)})
	assert.Len(t, o.sync(o.server, "t", 50), 2)
	o.set(&misstepv1.SetQuotaRequest{Project: "q", Runners: proto.Uint64(9)})
	o.set(&misstepv1.SetQuotaRequest{Person: "anna"})
	in := byCampaign(o.sync(o.server, "u", 90))
	assert.Equal(t, 9, countIn(t, o, "q"))
	assert.Equal(t, 90, in[annas]+in[again], "the other project has no bound")
	assert.Equal(t, []string{"quota of project q: 9 trials at once run"}, o.held("anna", "q", again))
}

// countIn returns how many trials of a project run.
func countIn(t *testing.T, o *office, project string) int {
	t.Helper()
	r, err := o.server.ListQuotas(by(t, "adam", "default", misstepv1.Role_ROLE_ADMIN, ""), &misstepv1.ListQuotasRequest{})
	require.NoError(t, err)
	for _, q := range r.GetQuotas() {
		if q.GetQuota().GetProject() == project {
			return int(q.GetRunning()) //nolint:gosec // a few
		}
	}
	return -1
}

// A quota of trials a day is exact, over campaigns that have ended, and begins anew at midnight in UTC.
func TestAQuotaOfADay(t *testing.T) {
	o := newOffice(t)
	o.set(&misstepv1.SetQuotaRequest{Person: "anna", TrialsADay: proto.Uint64(7)})
	ran := 0
	for range 3 { // campaigns that end
		id := o.submit("anna", "p", 2)
		leases := o.sync(o.server, "r", 10)
		ran += len(leases)
		o.finish("r", leases, 0)
		o.sync(o.server, "r", 0) // ends what is complete
		assert.Empty(t, o.held("anna", "p", id), "it has ended")
	}
	require.Equal(t, 6, ran)
	id := o.submit("anna", "q", 100)
	last := o.sync(o.server, "r", 10)
	require.Len(t, last, 1)
	o.server = o.coordinator(false) // another process finds the same
	assert.Len(t, o.sync(o.server, "r", 9), 1)
	o.finish("r", last, 0)
	assert.Empty(t, o.sync(o.server, "r", 10))
	assert.Equal(t, []string{"quota of person anna: 7 trials a day are used or run, until 2027-02-01 00:00 UTC"},
		o.held("anna", "q", id))
	o.now = o.now.Add(12*time.Hour - time.Second)
	assert.Empty(t, o.sync(o.server, "r", 10))
	o.now = o.now.Add(time.Second)
	assert.Empty(t, o.held("anna", "q", id))
	assert.Len(t, o.sync(o.server, "r", 10), 7)
}

func TestAQuotaOfEvidence(t *testing.T) {
	o := newOffice(t)
	o.set(&misstepv1.SetQuotaRequest{Project: "p", EvidenceADay: proto.Uint64(1000)})
	id := o.submit("anna", "p", 100)
	o.finish("r", o.sync(o.server, "r", 3), 333)
	assert.Empty(t, o.held("anna", "p", id))
	o.finish("r", o.sync(o.server, "r", 1), 1)
	assert.Equal(t, []string{"quota of project p: 1000 bytes of evidence a day are written, until 2027-02-01 00:00 UTC"},
		o.held("anna", "p", id))
	assert.Empty(t, o.sync(o.server, "r", 3))
	r, err := o.server.ListQuotas(o.hunter("anna", "p"), &misstepv1.ListQuotasRequest{})
	require.NoError(t, err)
	require.Len(t, r.GetQuotas(), 1)
	assert.EqualValues(t, 1000, r.GetQuotas()[0].GetToday().GetEvidence())
	assert.EqualValues(t, 4, r.GetQuotas()[0].GetToday().GetTrials())
}

// Another coordinator on the store respects a quota once it has heard of it.
func TestCoordinatorsTellEachOtherOfQuotas(t *testing.T) {
	o := newOffice(t)
	o.server = o.coordinator(true)
	other := o.coordinator(true)
	o.submit("anna", "p", 100)
	require.NoError(t, other.Tick(t.Context()))
	o.set(&misstepv1.SetQuotaRequest{Person: "anna", Runners: proto.Uint64(2)})
	o.now = o.now.Add(30 * time.Second)
	require.NoError(t, other.Tick(t.Context()))
	assert.Len(t, o.sync(other, "r", 10), 2)
}

func TestWhoSeesWhichQuotas(t *testing.T) {
	o := newOffice(t)
	for _, req := range []*misstepv1.SetQuotaRequest{
		{Person: "anna", Runners: proto.Uint64(1)},
		{Person: "ben", Runners: proto.Uint64(1)},
		{Person: "*", Runners: proto.Uint64(1)},
		{Project: "p", Runners: proto.Uint64(1)},
		{Project: "q", Runners: proto.Uint64(1)},
		{Project: "*", Runners: proto.Uint64(1)},
	} {
		o.set(req)
	}
	sees := func(ctx context.Context) (all []string) {
		r, err := o.server.ListQuotas(ctx, &misstepv1.ListQuotasRequest{})
		require.NoError(t, err)
		for _, q := range r.GetQuotas() {
			all = append(all, q.GetQuota().GetProject()+q.GetQuota().GetPerson())
		}
		return all
	}
	assert.Equal(t, []string{"*", "p", "q", "*", "anna", "ben"}, sees(by(t, "adam", "p", misstepv1.Role_ROLE_ADMIN, "")))
	assert.Equal(t, []string{"*", "p", "*", "anna"}, sees(o.hunter("anna", "p")))
	assert.Equal(t, []string{"*", "q", "*"}, sees(by(t, "adam", "q", misstepv1.Role_ROLE_ADMIN, "q")), "of one project")
}

func TestQuotasThatAreRefused(t *testing.T) {
	o := newOffice(t)
	for want, req := range map[string]*misstepv1.SetQuotaRequest{
		"give either project or person":          {},
		"quota: give either project or person":   {Project: "p", Person: "anna"},
		"project: expected the name of a":        {Project: "P!"},
		"person: expected a name of 1 to 200":    {Person: strings.Repeat("x", 201)},
		"project p has no quota; `misstep quota": {Project: "p"},
	} {
		_, err := o.server.SetQuota(by(t, "adam", "default", misstepv1.Role_ROLE_ADMIN, ""), req)
		require.ErrorContains(t, err, want)
	}
	for _, req := range []*misstepv1.SetQuotaRequest{
		{Person: "anna", Runners: new(uint64)}, {Person: "*", TrialsADay: new(uint64)}, {Project: "p", EvidenceADay: new(uint64)},
	} {
		o.set(req)
		_, err := o.server.SubmitCampaign(o.hunter("anna", "p"), submission(1))
		assert.Equal(t, codes.ResourceExhausted, status.Code(err))
		require.ErrorContains(t, err, "leaves no trials: ask an admin for another one")
		o.set(&misstepv1.SetQuotaRequest{Project: req.GetProject(), Person: req.GetPerson()})
	}
	o.submit("anna", "p", 1)
}
