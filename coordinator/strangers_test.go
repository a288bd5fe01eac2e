package coordinator_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"misstep/coordinator"
	"misstep/coordinator/access"
	"misstep/coordinator/custody"
	"misstep/coordinator/store"
	"misstep/coordinator/store/memory"
	misstepv1 "misstep/proto/misstep/v1"
)

// as returns the context of a call by a runner that has authenticated.
func as(ctx context.Context, name string) context.Context {
	return access.With(ctx, &access.Caller{
		Name: "runner " + name, Kind: access.Runner, Grants: []access.Grant{{Role: misstepv1.Role_ROLE_RUNNER}},
	})
}

// drops counts the results that a server dropped, by reason.
type drops struct {
	coordinator.Metrics
	by map[string]int
}

func (d *drops) Granted(int) {}
func (d *drops) Result(kind string) {
	d.by["recorded"]++
	if kind == coordinator.HandedBack {
		d.by[kind]++
	}
}
func (d *drops) Dropped(reason string, count int) { d.by[reason] += count }
func (d *drops) Batch(int)                        {}

// strangers is a coordinator with a campaign of several trials, which runners of several owners call.
type strangers struct {
	t        *testing.T
	server   *coordinator.Server
	store    store.Store
	drops    *drops
	receipts *custody.Receipts
	id       string // of the campaign
	// unclaimed evidence is of this day.
	unclaimed *custody.Unclaimed
	now       time.Time
}

func newStrangers(t *testing.T, trials uint64) *strangers {
	t.Helper()
	s := &strangers{t: t, store: memory.New(), drops: &drops{by: map[string]int{}}}
	var err error
	s.receipts, err = custody.OpenReceipts(t.Context(), s.store)
	require.NoError(t, err)
	s.now = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	s.unclaimed = custody.NewUnclaimed(2<<30, func() time.Time { return s.now })
	s.server = coordinator.New(coordinator.Config{
		Store: s.store, Metrics: s.drops, Receipts: s.receipts, OwnerSlots: 24, Unclaimed: s.unclaimed,
	})
	sub, err := s.server.SubmitCampaign(t.Context(), submission(trials))
	require.NoError(t, err)
	s.id = sub.GetCampaignId()
	return s
}

// call is one of owner's runner with that id, which wants n leases.
func (s *strangers) call(owner, id string, n uint32, held ...*misstepv1.HeldLease) []*misstepv1.Lease {
	s.t.Helper()
	return s.answer(owner, id, n, held...).GetDesired()
}

func (s *strangers) answer(owner, id string, n uint32, held ...*misstepv1.HeldLease) *misstepv1.SynchronizeResponse {
	s.t.Helper()
	response, err := s.server.Synchronize(as(s.t.Context(), owner), &misstepv1.SynchronizeRequest{
		Runner: &misstepv1.Runner{Id: id, Slots: 16}, FreeSlots: n, Held: held,
	})
	require.NoError(s.t, err)
	return response
}

func (s *strangers) trials() []*misstepv1.Trial {
	s.t.Helper()
	list, err := s.server.ListTrials(s.t.Context(), &misstepv1.ListTrialsRequest{CampaignId: s.id})
	require.NoError(s.t, err)
	return list.GetTrials()
}

func cleanOf(l *misstepv1.Lease) *misstepv1.Outcome {
	o := &misstepv1.Outcome{Kind: misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN}
	for _, c := range l.GetRecipe().GetChecks() {
		o.Checks = append(o.Checks, &misstepv1.CheckCount{Check: c.GetName(), Total: 2, Match: 2})
	}
	return o
}

func crashOf(t *testing.T, l *misstepv1.Lease) *misstepv1.Outcome {
	t.Helper()
	o := cleanOf(l)
	o.Kind, o.Crash = misstepv1.OutcomeKind_OUTCOME_KIND_CRASH, &misstepv1.Crash{Error: "SIGSEGV (0xb)", ProblematicFrame: "C f"}
	var err error
	o.RecipeDigest, err = misstepv1.RecipeDigest(l.GetRecipe())
	require.NoError(t, err)
	return o
}

func ended(l *misstepv1.Lease, o *misstepv1.Outcome) *misstepv1.HeldLease {
	return &misstepv1.HeldLease{LeaseId: l.GetId(), State: &misstepv1.HeldLease_Outcome{Outcome: o}}
}

func failed(l *misstepv1.Lease) *misstepv1.HeldLease {
	return &misstepv1.HeldLease{LeaseId: l.GetId(), State: &misstepv1.HeldLease_Failure{
		Failure: &misstepv1.InfrastructureFailure{Message: "no", Permanent: true},
	}}
}

// A runner ends the leases that it holds, and no others: neither by their ids nor by calling itself what another owner's runner is
// called.
func TestARunnerReportsOnItsOwnLeases(t *testing.T) {
	s := newStrangers(t, 3)
	held := s.call("honest", "r", 1)
	require.Len(t, held, 1)
	for _, forged := range []*misstepv1.HeldLease{ended(held[0], crashOf(t, held[0])), failed(held[0])} {
		for _, id := range []string{"r", "other"} {
			assert.Empty(t, s.call("hostile", id, 0, forged), "%s is told nothing of others' leases", id)
		}
	}
	assert.Empty(t, s.trials())
	assert.Equal(t, map[string]int{coordinator.NotHeld: 4}, s.drops.by)
	assert.Len(t, s.call("honest", "r", 0), 1, "the holder has its lease still")

	assert.Empty(t, s.call("honest", "r", 0, ended(held[0], cleanOf(held[0]))))
	require.Len(t, s.trials(), 1)
	assert.Empty(t, s.call("honest", "r", 0, ended(held[0], crashOf(t, held[0]))), "a second outcome of the same lease")
	require.Len(t, s.trials(), 1)
	assert.Equal(t, misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN, s.trials()[0].GetOutcome().GetKind(), "the first outcome counts")
	assert.Equal(t, map[string]int{coordinator.NotHeld: 5, "recorded": 1}, s.drops.by)
}

// Two owners whose runners call themselves the same are two runners, everywhere.
func TestRunnersOfTwoOwnersWithTheSameID(t *testing.T) {
	s := newStrangers(t, 3)
	a, b := s.call("a", "r", 1), s.call("b", "r", 1)
	require.NotEqual(t, a[0].GetId(), b[0].GetId())
	assert.Len(t, s.call("a", "r", 0), 1)
	list, err := s.server.ListRunners(t.Context(), &misstepv1.ListRunnersRequest{})
	require.NoError(t, err)
	require.Len(t, list.GetRunners(), 2)
	for i, owner := range []string{"runner a", "runner b"} {
		assert.Equal(t, owner, list.GetRunners()[i].GetOwner())
		assert.Equal(t, "r", list.GetRunners()[i].GetRunner().GetId())
		assert.EqualValues(t, 1, list.GetRunners()[i].GetRunning())
	}
}

// An outcome that its recipe cannot give is not recorded: the trial goes to a runner again.
func TestAnOutcomeMustFitItsLease(t *testing.T) {
	s := newStrangers(t, 1)
	held := s.call("hostile", "r", 1)
	require.Len(t, held, 1)
	foreign := cleanOf(held[0])
	foreign.Checks[0].Check = "edges"
	assert.Empty(t, s.call("hostile", "r", 0, ended(held[0], foreign)))
	assert.Empty(t, s.trials())
	assert.Equal(t, map[string]int{coordinator.Unfit: 1}, s.drops.by)
	require.NoError(t, s.store.View(t.Context(), func(tx store.Tx) error {
		jobs, err := tx.Jobs(s.id)
		require.Len(t, jobs, 1)
		assert.EqualValues(t, 1, jobs[0].Failures)
		return err
	}))
}

// A finding is recorded with the digest of its lease's recipe only; what a quiet outcome claims is not kept.
func TestAFindingNamesItsRecipe(t *testing.T) {
	s := newStrangers(t, 3)
	held := s.call("a", "r", 3)
	require.Len(t, held, 3)
	wrong, quiet := crashOf(t, held[0]), cleanOf(held[1])
	wrong.RecipeDigest = crashOf(t, held[2]).GetRecipeDigest()
	quiet.RecipeDigest = wrong.GetRecipeDigest()
	s.call("a", "r", 0, ended(held[0], wrong), ended(held[1], quiet), ended(held[2], crashOf(t, held[2])))
	trials := s.trials()
	require.Len(t, trials, 2)
	assert.Empty(t, trials[0].GetOutcome().GetRecipeDigest())
	assert.Equal(t, wrong.GetRecipeDigest(), trials[1].GetOutcome().GetRecipeDigest())
	assert.Equal(t, map[string]int{coordinator.Unfit: 1, "recorded": 2}, s.drops.by)
}

// What one stranger's runner calls impossible is tried again.
func TestOneStrangerDoesNotGiveATrialUp(t *testing.T) {
	s := newStrangers(t, 1)
	held := s.call("a", "r", 1)
	s.call("a", "r", 0, failed(held[0]))
	assert.Empty(t, s.trials())
}

// An owner's runners hold no more trials than it may have, under whatever ids and with whatever slots they call.
func TestSlotsOfAnOwner(t *testing.T) {
	s := newStrangers(t, 100)
	first := s.call("a", "r1", 16)
	require.Len(t, first, 16)
	require.Len(t, s.call("a", "r2", 16), 8, "24 are the owner's")
	require.Empty(t, s.call("a", "r3", 16))
	require.Len(t, s.call("b", "r1", 16), 16, "another owner has its own")

	fewer, err := s.server.Synchronize(as(t.Context(), "a"), &misstepv1.SynchronizeRequest{Runner: &misstepv1.Runner{Id: "r1"}})
	require.NoError(t, err)
	require.Len(t, fewer.GetDesired(), 16)
	require.Empty(t, s.call("a", "r3", 16), "a runner that says it has no slots still holds its trials")

	s.call("a", "r1", 0, ended(first[0], cleanOf(first[0])))
	require.Len(t, s.call("a", "r1", 16), 16, "who calls again keeps its place")
	require.Len(t, s.call("a", "r2", 16), 8)
}

// A runner that goes leaves its share to the one that comes, at once.
func TestSlotsOfARunnerThatGoes(t *testing.T) {
	s := newStrangers(t, 100)
	held := s.call("a", "r1", 16)
	s.call("a", "r2", 16)
	var handed []*misstepv1.HeldLease
	for _, l := range held {
		handed = append(handed, ended(l, cleanOf(l)))
	}
	require.Empty(t, s.call("a", "r1", 0, handed...))
	require.Len(t, s.call("a", "r3", 16), 16)
}

// A runner that gets less than it has slots is told why, with figures, and so is who lists the runners.
func TestWhyARunnerIsHeldBack(t *testing.T) {
	s := newStrangers(t, 100)
	require.Empty(t, s.answer("a", "r1", 16).GetHeldBack())
	const why = "the runners of runner a may hold 24 trials at once (misstep coordinator --owner-slots), which leaves 8 for the 16 " +
		"slots of this one until others end or are silent for 1m0s: stop some, or raise the limit"
	require.Equal(t, why, s.answer("a", "r2", 16).GetHeldBack())
	require.Empty(t, s.answer("b", "r3", 16).GetHeldBack())

	all, err := s.server.ListRunners(t.Context(), &misstepv1.ListRunnersRequest{})
	require.NoError(t, err)
	for _, r := range all.GetRunners() {
		require.Equal(t, r.GetRunner().GetId() == "r2", r.GetHeldBack() == why, r.GetRunner().GetId())
	}
	load, err := s.server.Load(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1, load.HeldBack)
}

// While the evidence of one more trial may not fit, its owner gets no trials, and those whose evidence was refused are handed back:
// they do not run again and again, and do not count as failed.
func TestNoTrialsWhoseEvidenceIsRefused(t *testing.T) {
	s := newStrangers(t, 100)
	held := s.call("a", "r1", 1)
	require.Len(t, held, 1)
	require.Nil(t, s.unclaimed.Take("runner a", 1<<30+1))
	refused := &misstepv1.HeldLease{LeaseId: held[0].GetId(), State: &misstepv1.HeldLease_Failure{
		Failure: &misstepv1.InfrastructureFailure{Message: "keep evidence: refused"},
	}}
	answer := s.answer("a", "r1", 16, refused)
	require.Empty(t, answer.GetDesired())
	require.Equal(t, "1.0 GiB of the 2.0 GiB of evidence that an owner may write on a day without an outcome that names it are used "+
		"(misstep coordinator --owner-unclaimed): it is counted anew at 2026-11-30 00:00 UTC; find out why the outcomes do not "+
		"arrive, or raise the limit", answer.GetHeldBack())
	require.Equal(t, map[string]int{"recorded": 1, coordinator.HandedBack: 1}, s.drops.by)
	c, err := s.server.GetCampaign(t.Context(), &misstepv1.GetCampaignRequest{CampaignId: s.id})
	require.NoError(t, err)
	require.Zero(t, c.GetCampaign().GetRetries())
	require.Len(t, s.call("b", "r1", 16), 16, "another owner's runs it")

	s.unclaimed.Claim("runner a", []*misstepv1.Evidence{{Size: 1}})
	require.Len(t, s.call("a", "r1", 16), 16, "an outcome named it")
	require.Nil(t, s.unclaimed.Take("runner a", 1))
	require.NotEmpty(t, s.answer("a", "r2", 16).GetHeldBack())
	s.now = s.now.AddDate(0, 0, 1)
	require.Len(t, s.call("a", "r2", 8), 8, "the next day")
}

// Calls at the same time get no more together.
func TestSlotsOfAnOwnerAtTheSameTime(t *testing.T) {
	s := newStrangers(t, 1000)
	var held atomic.Int64
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			answer, err := s.server.Synchronize(as(t.Context(), "a"), &misstepv1.SynchronizeRequest{
				Runner: &misstepv1.Runner{Id: fmt.Sprint("r", i), Slots: 16}, FreeSlots: 16,
			})
			if assert.Equal(t, codes.OK, status.Code(err)) {
				held.Add(int64(len(answer.GetDesired())))
			}
		})
	}
	all.Wait()
	require.LessOrEqual(t, held.Load(), int64(24))
}

// An outcome names the evidence that its own owner wrote, and no other.
func TestEvidenceHasReceipts(t *testing.T) {
	for name, c := range map[string]struct {
		receipt func(*custody.Receipts) []byte
		ok      bool
	}{
		"own":             {func(r *custody.Receipts) []byte { return r.Of("runner a", digest("a"), 3) }, true},
		"another owner's": {func(r *custody.Receipts) []byte { return r.Of("runner b", digest("a"), 3) }, false},
		"of another blob": {func(r *custody.Receipts) []byte { return r.Of("runner a", digest("b"), 3) }, false},
		"of another size": {func(r *custody.Receipts) []byte { return r.Of("runner a", digest("a"), 4) }, false},
		"none":            {func(*custody.Receipts) []byte { return nil }, false},
	} {
		s := newStrangers(t, 1)
		held := s.call("a", "r", 1)
		o := cleanOf(held[0])
		o.Evidence = []*misstepv1.Evidence{{Name: "x", Digest: digest("a"), Size: 3, Receipt: c.receipt(s.receipts)}}
		s.call("a", "r", 0, ended(held[0], o))
		trials := s.trials()
		require.Equal(t, c.ok, len(trials) == 1, name)
		if c.ok {
			assert.Empty(t, trials[0].GetOutcome().GetEvidence()[0].GetReceipt(), "receipts are not kept")
		}
	}
}

func TestEvidenceNames(t *testing.T) {
	for name, ok := range map[string]bool{
		"hs_err.log": true, "größe.txt": true, "a b": true,
		"": false, ".": false, "..": false, ".hidden": false, "../x": false, "a/b": false, `a\b`: false, "a\x00b": false,
		"a\x1b[2J": false, "a\nb": false, "a\u0085b": false, "\xff": false, strings.Repeat("x", 257): false,
	} {
		s := newStrangers(t, 1)
		held := s.call("a", "r", 1)
		o := cleanOf(held[0])
		o.Evidence = []*misstepv1.Evidence{{Name: name, Digest: digest("a"), Receipt: s.receipts.Of("runner a", digest("a"), 0)}}
		s.call("a", "r", 0, ended(held[0], o))
		assert.Equal(t, ok, len(s.trials()) == 1, "%q", name)
	}
}

// Any message whatever leaves another owner's lease as it was, and what is recorded fits its lease.
func FuzzSynchronize(f *testing.F) {
	seed := func(req *misstepv1.SynchronizeRequest) {
		raw, err := proto.Marshal(req)
		require.NoError(f, err)
		f.Add(raw, uint8(0))
		f.Add(raw, uint8(1))
	}
	runner := &misstepv1.Runner{Id: "r", Slots: 2}
	clean := &misstepv1.HeldLease_Outcome{Outcome: &misstepv1.Outcome{Kind: misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN}}
	seed(&misstepv1.SynchronizeRequest{Runner: runner, FreeSlots: 2})
	seed(&misstepv1.SynchronizeRequest{Runner: runner, Held: []*misstepv1.HeldLease{{LeaseId: "?", State: clean}}})
	seed(&misstepv1.SynchronizeRequest{Runner: runner, Held: []*misstepv1.HeldLease{{LeaseId: "?"}, {LeaseId: "?"}}})
	seed(&misstepv1.SynchronizeRequest{Runner: runner, Held: []*misstepv1.HeldLease{{LeaseId: "?", State: &misstepv1.HeldLease_Outcome{
		Outcome: &misstepv1.Outcome{
			Kind: misstepv1.OutcomeKind_OUTCOME_KIND_CRASH, Crash: &misstepv1.Crash{Error: "SIGSEGV (0xb)"},
			Evidence: []*misstepv1.Evidence{{Name: "../../x", Digest: digest("a"), Size: 1 << 63}},
		},
	}}}})
	seed(&misstepv1.SynchronizeRequest{Runner: runner, Held: []*misstepv1.HeldLease{{LeaseId: "?", State: &misstepv1.HeldLease_Failure{
		Failure: &misstepv1.InfrastructureFailure{Permanent: true},
	}}}})
	f.Fuzz(func(t *testing.T, raw []byte, whose uint8) {
		req := &misstepv1.SynchronizeRequest{}
		if proto.Unmarshal(raw, req) != nil {
			return
		}
		s := newStrangers(t, 2)
		victim, own := s.call("honest", "r", 1), s.call("hostile", "r", 1)
		for _, h := range req.GetHeld() { // a fuzzer does not guess ids
			if h.GetLeaseId() == "?" {
				h.LeaseId = append(victim, own...)[whose%2].GetId()
			}
		}
		_, err := s.server.Synchronize(as(t.Context(), "hostile"), req)
		if err != nil {
			require.Equal(t, codes.InvalidArgument, status.Code(err), "%v", err)
		}
		left := s.call("honest", "r", 0)
		require.Len(t, left, 1)
		assert.Equal(t, victim[0].GetId(), left[0].GetId())
		for _, trial := range s.trials() {
			assert.True(t, proto.Equal(own[0].GetRecipe(), trial.GetRecipe()))
			for _, e := range trial.GetOutcome().GetEvidence() {
				assert.Equal(t, e.GetName(), filepath.Base(filepath.Join("/f", e.GetName())))
			}
		}
	})
}

// An owner that reports what the others' trials do not show is set aside, by all coordinators of the store, until an admin trusts
// it.
func TestAnOwnerThatDisagreesIsSetAside(t *testing.T) {
	s := newStrangers(t, 100_000)
	owners := []string{"a", "b", "c", "liar"}
	held := map[string][]*misstepv1.Lease{}
	play := func(rounds int) (reported int) {
		for range rounds {
			for _, owner := range owners {
				var results []*misstepv1.HeldLease
				for _, l := range held[owner] {
					o := cleanOf(l)
					if owner == "liar" {
						o = crashOf(t, l)
						reported++
					}
					results = append(results, ended(l, o))
				}
				held[owner] = s.call(owner, "r", 8, results...)
			}
		}
		return reported
	}
	reported := play(12)
	assert.Empty(t, held["liar"], "it gets no leases")
	assert.Len(t, held["a"], 8)
	assert.LessOrEqual(t, reported, 100)
	list, err := s.server.ListRunners(t.Context(), &misstepv1.ListRunnersRequest{})
	require.NoError(t, err)
	for _, r := range list.GetRunners() {
		if r.GetOwner() == "runner liar" {
			assert.Contains(t, r.GetSetAside(), "showed findings, where the trials of others let expect 0.0")
		} else {
			assert.Empty(t, r.GetSetAside(), r.GetOwner())
		}
	}
	by := map[string]bool{}
	for _, trial := range s.trials() {
		by[trial.GetOutcome().GetReportedBy()] = true
		assert.Equal(t, trial.GetOutcome().GetReportedBy() == "runner liar", len(trial.GetFindingIds()) > 0)
	}
	assert.Len(t, by, 4, "results say who reported them")

	s.server = coordinator.New(coordinator.Config{Store: s.store})
	assert.Empty(t, s.call("liar", "r", 8), "another coordinator knows it, too")
	list, err = s.server.ListRunners(t.Context(), &misstepv1.ListRunnersRequest{})
	require.NoError(t, err)
	require.Contains(t, list.GetSetAside().GetByOwner(), "runner liar")
	load, err := s.server.Load(t.Context())
	require.NoError(t, err)
	assert.EqualValues(t, 1, load.SetAside)
	doubted := func() []*misstepv1.Finding {
		found, err := s.server.ListFindings(t.Context(), &misstepv1.ListFindingsRequest{Doubted: true})
		require.NoError(t, err)
		require.EqualValues(t, 1, found.GetTotal())
		return found.GetFindings()
	}
	require.Len(t, doubted(), 1, "nobody else has seen it")
	finding := doubted()[0]
	assert.True(t, finding.GetDoubted())
	assert.Equal(t, []string{"runner liar"}, finding.GetReportedBy())
	one, err := s.server.GetFinding(t.Context(), &misstepv1.GetFindingRequest{FindingId: finding.GetId()})
	require.NoError(t, err)
	assert.True(t, one.GetFinding().GetDoubted())
	var aside []byte
	require.NoError(t, s.store.View(t.Context(), func(tx store.Tx) (err error) {
		aside, err = tx.WorkerState("set-aside")
		return err
	}))
	_, err = s.server.TrustOwner(t.Context(), &misstepv1.TrustOwnerRequest{Owner: "runner b"})
	require.Equal(t, codes.NotFound, status.Code(err))
	_, err = s.server.TrustOwner(t.Context(), &misstepv1.TrustOwnerRequest{Owner: "runner liar"})
	require.NoError(t, err)
	assert.Len(t, s.call("liar", "r", 8), 8)
	assert.Empty(t, doubted(), "it counts again")

	// What an honest owner sees, too, is not doubted.
	require.NoError(t, s.store.Update(t.Context(), func(tx store.Tx) error {
		return tx.PutWorkerState("set-aside", aside)
	}))
	s.server = coordinator.New(coordinator.Config{Store: s.store})
	held["a"] = s.call("a", "r", 8)
	require.Len(t, doubted(), 1)
	s.call("a", "r", 0, ended(held["a"][0], crashOf(t, held["a"][0])))
	assert.Empty(t, doubted())
}
