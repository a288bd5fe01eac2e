package coordinator_test

import (
	"context"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"misstep/coordinator"
	"misstep/coordinator/access"
	"misstep/coordinator/projects"
	"misstep/coordinator/reproduce/reproducetest"
	"misstep/coordinator/store"
	"misstep/coordinator/store/memory"
	"misstep/known"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/triage"
)

// lab is a coordinator with a runner that draws the outcomes of a model; the recipe alone decides an outcome.
type lab struct {
	t      *testing.T
	store  store.Store
	server *coordinator.Server
	// project of its calls.
	project string
	now     time.Time
	// rate of a recipe; fault is true when the machine fails, void when the trial proves nothing.
	rate        func(*misstepv1.Recipe) float64
	fault, void func(*misstepv1.Recipe, *rand.Rand) bool
	// ran counts executions by recipe.
	ran map[string]int
	// other is a second bug that shows now and then.
	other float64
}

func newLab(t *testing.T, s store.Store, rate func(*misstepv1.Recipe) float64) *lab {
	l := &lab{t: t, store: s, project: projects.Default, now: time.Unix(1_800_000_000, 0), rate: rate, ran: map[string]int{}}
	l.restart()
	return l
}

func (l *lab) ctx(t *testing.T) context.Context { return access.InProject(t.Context(), l.project) }

func (l *lab) restart() {
	catalogue, err := known.Parse([]byte(`[{id: TEST-1, title: t, description: d, versions: ["17..17.0.3"],
		matches: [{kind: mismatch, parts: [gst-asgct, truncated]}]}]`))
	require.NoError(l.t, err)
	l.server = coordinator.New(coordinator.Config{
		Store: l.store, Clock: func() time.Time { return l.now }, LeaseTime: time.Minute, Known: catalogue,
	})
}

func (l *lab) outcome(r *misstepv1.Recipe) *misstepv1.HeldLease {
	digest, err := misstepv1.RecipeDigest(r)
	require.NoError(l.t, err)
	l.ran[digest]++
	h := fnv.New64a()
	_, _ = h.Write([]byte(digest))
	random := rand.New(rand.NewPCG(h.Sum64(), 1))
	held := &misstepv1.HeldLease{}
	if l.fault != nil && l.fault(r, random) {
		held.State = &misstepv1.HeldLease_Failure{
			Failure: &misstepv1.InfrastructureFailure{Message: "no such JDK here", Permanent: true},
		}
		return held
	}
	o := &misstepv1.Outcome{
		Kind: misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN, Wall: durationpb.New(2 * time.Second),
		Checks: []*misstepv1.CheckCount{{Check: "gst-asgct", Total: 5, Match: 5}},
	}
	frame := func(class, method string) *misstepv1.Frame {
		return &misstepv1.Frame{ClassName: class, Method: method, Descriptor_: "()V"}
	}
	add := func(class, kind string) {
		o.Kind = misstepv1.OutcomeKind_OUTCOME_KIND_MISMATCHES
		top := []*misstepv1.Frame{frame("app.ClassA", "method"), frame(class, "callee")}
		o.Mismatches = append(o.Mismatches, &misstepv1.Mismatch{
			Check: "gst-asgct", Kind: kind, Divergence: 2, Count: 1,
			Reference: &misstepv1.Trace{
				Source: "gst", Frames: append(top, frame(class, "caller"), frame("app.Main", "main")), NumFrames: 4,
			},
			Suspect: &misstepv1.Trace{Source: "asgct", Frames: top, NumFrames: 2},
		})
	}
	if l.void != nil && l.void(r, random) {
		o = &misstepv1.Outcome{Kind: misstepv1.OutcomeKind_OUTCOME_KIND_VOID, Reason: "nothing was checked"}
	} else {
		if random.Float64() < l.rate(r) {
			add("app.Bug", "truncated")
		}
		if random.Float64() < l.other {
			add("app.Other", "wrong-bci")
		}
	}
	held.State = &misstepv1.HeldLease_Outcome{Outcome: o}
	return held
}

// work runs trials until nothing is left, or for that many steps; slots trials at a time.
func (l *lab) work(slots uint32, rounds int) {
	held := map[string]*misstepv1.Recipe{}
	for range rounds {
		req := &misstepv1.SynchronizeRequest{Runner: &misstepv1.Runner{Id: "r", Slots: slots}, FreeSlots: slots}
		for id, recipe := range held {
			h := l.outcome(recipe)
			h.LeaseId = id
			req.Held = append(req.Held, h)
		}
		l.now = l.now.Add(time.Second)
		resp, err := l.server.Synchronize(l.ctx(l.t), req)
		require.NoError(l.t, err)
		clear(held)
		for _, d := range resp.GetDesired() {
			held[d.GetId()] = d.GetRecipe()
		}
		if len(held) == 0 {
			return
		}
	}
}

// find runs a campaign until the bug's finding exists and returns its id.
func (l *lab) find(trials uint64) string {
	s := submission(trials)
	s.Campaign.FlagSets = []*misstepv1.FlagSet{
		{Name: "all", Flags: []string{"-Xcomp", "-Xss1m", "-XX:TieredStopAtLevel=1", "-Xmx64m"}},
	}
	s.Campaign.Checks = append(s.Campaign.Checks, &misstepv1.Check{Name: "asgct-shadow"}, &misstepv1.Check{Name: "liveness"})
	s.Campaign.Sampling = []*misstepv1.Sampling{{Interval: durationpb.New(time.Millisecond), Jitter: 0.5}}
	_, err := l.server.SubmitCampaign(l.ctx(l.t), s)
	require.NoError(l.t, err)
	l.work(4, 10_000)
	got, err := l.server.ListFindings(l.ctx(l.t), &misstepv1.ListFindingsRequest{})
	require.NoError(l.t, err)
	for _, f := range got.GetFindings() {
		if slices.Contains(f.GetSignature().GetParts(), "truncated") {
			return f.GetId()
		}
	}
	l.t.Fatalf("the campaign did not find the bug: %v", got)
	return ""
}

func builds(n int) (out []*misstepv1.JdkBuild) {
	for i := range n {
		out = append(out, &misstepv1.JdkBuild{
			Jdk: &misstepv1.Jdk{
				Name: "17." + string(rune('0'+i)), Digest: digest(string(rune('0' + i))), Version: "17.0." + string(rune('0'+i)) +
					"+1",
			},
			Feature: 17, Vendor: "Debian",
		})
	}
	return out
}

// bug needs one flag, the check and builds from 17.2 on.
func bug(p float64) func(*misstepv1.Recipe) float64 {
	return func(r *misstepv1.Recipe) float64 {
		old := strings.HasPrefix(r.GetJdk().GetName(), "17.") && r.GetJdk().GetName() < "17.2"
		if old || !reproducetest.Has(r, "-Xcomp") || !reproducetest.Checks(r, "gst-asgct") ||
			!reproducetest.Instruments(r, "app/ClassA.method()V") {
			return 0
		}
		return p
	}
}

func (l *lab) get(id string) *misstepv1.ReproductionStatus {
	got, err := l.server.GetReproduction(l.ctx(l.t), &misstepv1.GetReproductionRequest{ReproductionId: id})
	require.NoError(l.t, err)
	return got.GetReproduction()
}

// From a finding to a reproducer, with parallel runners, machine failures, void trials and another bug on the way, on every store.
func TestReproduction(t *testing.T) {
	test := func(t *testing.T, project string, open func(*testing.T) store.Store) {
		s := open(t)
		defer func() { require.NoError(t, s.Close()) }()
		l := newLab(t, s, bug(0.7))
		l.project = project
		id := l.find(8)
		l.void = func(_ *misstepv1.Recipe, r *rand.Rand) bool { return r.Float64() < 0.1 }
		l.fault = func(r *misstepv1.Recipe, _ *rand.Rand) bool { return r.GetJdk().GetName() == "17.6" }
		l.other = 0.1
		req := &misstepv1.StartReproductionRequest{FindingId: id[:5], Builds: builds(7), Seed: 5}
		started, err := l.server.StartReproduction(l.ctx(t), req)
		require.NoError(t, err)
		again, err := l.server.StartReproduction(l.ctx(t), req)
		require.NoError(t, err)
		assert.True(t, again.GetExisting())
		assert.Equal(t, started.GetReproductionId(), again.GetReproductionId())
		l.work(4, 10_000)

		st := l.get(started.GetReproductionId()[:4])
		require.Equal(t, misstepv1.ReproductionState_REPRODUCTION_STATE_DONE, st.GetState(), st.GetFailure())
		p := st.GetReproducer()
		assert.Equal(t, []string{"-Xcomp"}, p.GetRecipe().GetJvmFlags())
		assert.Equal(t, []string{"app/ClassA.method()V"}, p.GetRecipe().GetInstrumentation().GetOnly())
		assert.Len(t, p.GetRecipe().GetChecks(), 1)
		assert.Nil(t, p.GetRecipe().GetSampling())
		assert.Equal(t, id, p.GetFinding().GetId())
		assert.InDelta(t, 0.7, float64(p.GetReliability().GetHits())/float64(p.GetReliability().GetTries()), 0.3)
		b := p.GetBisection()
		assert.Equal(t, []string{"17.1", "17.2", "17.5", ""},
			[]string{b.GetLastGood(), b.GetFirstAffected(), b.GetLastAffected(), b.GetFirstFixed()})
		assert.Equal(t, "no such JDK here", b.GetBuilds()[6].GetSkipped())
		assert.Greater(t, b.GetNewestAffected(), 0.95)
		require.NotEmpty(t, st.GetOthers())
		other, err := l.server.GetFinding(l.ctx(t), &misstepv1.GetFindingRequest{FindingId: st.GetOthers()[0]})
		require.NoError(t, err)
		assert.Contains(t, other.GetFinding().GetSignature().GetParts(), "wrong-bci")
		for recipe, n := range l.ran {
			assert.Equal(t, 1, n, "%s was run twice", recipe)
		}
		// Its probes are no trials of a campaign and change no rates.
		campaigns, err := l.server.ListCampaigns(l.ctx(t), &misstepv1.ListCampaignsRequest{})
		require.NoError(t, err)
		assert.Len(t, campaigns.GetCampaigns(), 1)
		f, err := l.server.GetFinding(l.ctx(t), &misstepv1.GetFindingRequest{FindingId: id})
		require.NoError(t, err)
		for _, rate := range f.GetFinding().GetRates() {
			assert.EqualValues(t, 8, rate.GetTrials())
		}
		// Its bundle says where the bug showed and where it did not.
		require.NotEmpty(t, p.GetFinding().GetRates())
		require.Len(t, p.GetFinding().GetRates(), len(f.GetFinding().GetRates()))
		for i, rate := range f.GetFinding().GetRates() {
			assert.True(t, proto.Equal(rate, p.GetFinding().GetRates()[i]), "%v", p.GetFinding().GetRates())
		}
		// A build that only its probes ran on is one that showed it.
		assert.Equal(t, "TEST-1 on 17, 17.2, 17.3; not on 17.5", misstepv1.KnownText(f.GetFinding()))
		assert.Empty(t, f.GetFinding().GetKnownAs())
		assert.Equal(t, misstepv1.KnownText(f.GetFinding()), misstepv1.KnownText(p.GetFinding()))
		list, err := l.server.ListReproductions(l.ctx(t), &misstepv1.ListReproductionsRequest{FindingId: id})
		require.NoError(t, err)
		assert.Len(t, list.GetReproductions(), 1)
	}
	onEveryStore(t, func(t *testing.T, open func(*testing.T) store.Store) { test(t, projects.Default, open) })
	t.Run("project", func(t *testing.T) { test(t, "p", func(*testing.T) store.Store { return memory.New() }) })
}

// What a bisection's tries say is seen while it runs, and is the reproducer's afterwards.
func TestBisectionUnderWay(t *testing.T) {
	l := newLab(t, memory.New(), bug(0.7))
	id := l.find(8)
	started, err := l.server.StartReproduction(l.ctx(t), &misstepv1.StartReproductionRequest{
		FindingId: id, Builds: builds(7), Seed: 5,
	})
	require.NoError(t, err)
	var seen []*misstepv1.Bisection
	l.void = func(*misstepv1.Recipe, *rand.Rand) bool {
		if b := l.get(started.GetReproductionId()).GetBisection(); b != nil {
			seen = append(seen, b)
		}
		return false
	}
	l.work(4, 10_000)
	st := l.get(started.GetReproductionId())
	require.Equal(t, misstepv1.ReproductionState_REPRODUCTION_STATE_DONE, st.GetState(), st.GetFailure())
	assert.Nil(t, st.GetBisection())
	require.NotEmpty(t, seen)
	assert.Len(t, seen[0].GetBuilds(), 7)
	assert.Less(t, seen[0].GetConfidence(), st.GetReproducer().GetBisection().GetConfidence())
}

// After a merge a reproduction of either finding is one of both, and a reproducer that shows the alias's stacks has its signature.
func TestReproductionOfMergedFindings(t *testing.T) {
	l := newLab(t, memory.New(), bug(0.7))
	l.other = 1
	alias := l.find(8)
	list, err := l.server.ListFindings(l.ctx(t), &misstepv1.ListFindingsRequest{})
	require.NoError(t, err)
	require.Len(t, list.GetFindings(), 2)
	head := list.GetFindings()[0]
	if head.GetId() == alias {
		head = list.GetFindings()[1]
	}
	reproduce := func(finding string, seed uint64) *misstepv1.ReproductionStatus {
		started, err := l.server.StartReproduction(l.ctx(t), &misstepv1.StartReproductionRequest{FindingId: finding, Seed: seed})
		require.NoError(t, err)
		l.work(4, 10_000)
		st := l.get(started.GetReproductionId())
		require.Equal(t, misstepv1.ReproductionState_REPRODUCTION_STATE_DONE, st.GetState(), st.GetFailure())
		return st
	}
	alone := reproduce(alias, 1)
	assert.Empty(t, alone.GetReproducer().GetFinding().GetAliases())
	_, err = l.server.MergeFindings(l.ctx(t), &misstepv1.MergeFindingsRequest{FindingId: alias, IntoId: head.GetId()})
	require.NoError(t, err)
	l.other = 0 // from now on the bug shows as the merged one only
	together := reproduce(head.GetId(), 2).GetReproducer().GetFinding()
	assert.Equal(t, head.GetId(), together.GetId())
	assert.Equal(t, []string{alias}, together.GetAliases())
	assert.NotNil(t, triage.Shown(together.GetExample(), together.GetSignature()), "the example does not show %v",
		together.GetSignature())
	assert.True(t, proto.Equal(alone.GetReproducer().GetFinding().GetSignature(), together.GetSignature()))
	for _, id := range []string{alias, head.GetId()} {
		list, err := l.server.ListReproductions(l.ctx(t), &misstepv1.ListReproductionsRequest{FindingId: id})
		require.NoError(t, err)
		assert.Len(t, list.GetReproductions(), 2, id)
	}
}

// The same request resumes or returns the existing reproduction with its clean tries; another request, or again, starts a new one.
func TestReproductionIsNotRepeated(t *testing.T) {
	l := newLab(t, memory.New(), bug(1))
	request := func(change func(*misstepv1.StartReproductionRequest)) *misstepv1.StartReproductionRequest {
		r := &misstepv1.StartReproductionRequest{
			Builds: builds(1), Seed: 5, Trials: 2000,
			Perturbations: []*misstepv1.Perturbation{{Strategy: "chaos", Mechanism: "agent"}},
		}
		change(r)
		return r
	}
	finding := l.find(8)
	start := func(r *misstepv1.StartReproductionRequest) (string, bool) {
		r.FindingId = finding
		started, err := l.server.StartReproduction(l.ctx(t), r)
		require.NoError(t, err)
		return started.GetReproductionId(), started.GetExisting()
	}
	same := func(*misstepv1.StartReproductionRequest) {}
	first, existing := start(request(same))
	require.False(t, existing)
	clean := func(id string, hits, tries uint32) codes.Code {
		_,
			err := l.server.RecordClean(l.ctx(t),
			&misstepv1.RecordCleanRequest{ReproductionId: id, Clean: &misstepv1.Reliability{Hits: hits, Tries: tries}})
		return status.Code(err)
	}
	assert.Equal(t, codes.FailedPrecondition, clean(first, 1, 2))
	l.work(4, 10_000)
	require.Equal(t, misstepv1.ReproductionState_REPRODUCTION_STATE_DONE, l.get(first).GetState())
	assert.Equal(t, codes.InvalidArgument, clean(first, 3, 2))
	assert.Equal(t, codes.InvalidArgument, clean(first, 0, 0))
	assert.Equal(t, codes.NotFound, clean("Rnone", 1, 2))
	require.Equal(t, codes.OK, clean(first, 7, 10))
	l.restart()
	kept := l.get(first).GetReproducer().GetClean()
	assert.EqualValues(t, 7, kept.GetHits())
	assert.InDelta(t, 0.40, kept.GetLow(), 0.01)

	again, existing := start(request(same))
	assert.Equal(t, first, again)
	assert.True(t, existing)
	_, existing = start(request(func(r *misstepv1.StartReproductionRequest) { r.Instrumented = []string{"app/Later.method()V"} }))
	assert.True(t, existing, "what follows from the example does not count")
	for name, change := range map[string]func(*misstepv1.StartReproductionRequest){
		"again":         func(r *misstepv1.StartReproductionRequest) { r.Again = true },
		"seed":          func(r *misstepv1.StartReproductionRequest) { r.Seed++ },
		"builds":        func(r *misstepv1.StartReproductionRequest) { r.Builds = builds(2) },
		"trials":        func(r *misstepv1.StartReproductionRequest) { r.Trials++ },
		"time":          func(r *misstepv1.StartReproductionRequest) { r.Time = durationpb.New(time.Hour) },
		"agent":         func(r *misstepv1.StartReproductionRequest) { r.AgentDigest = digest("f") },
		"perturbations": func(r *misstepv1.StartReproductionRequest) { r.Perturbations = nil },
	} {
		id, existing := start(request(change))
		assert.False(t, existing, name)
		_, err := l.server.CancelReproduction(l.ctx(t), &misstepv1.CancelReproductionRequest{ReproductionId: id})
		require.NoError(t, err)
		l.now = l.now.Add(time.Second)
		_, existing = start(request(same))
		assert.False(t, existing, "the newest was cancelled")
		l.now = l.now.Add(time.Second)
		l.work(4, 10_000)
	}
}

func TestReproductionEnds(t *testing.T) {
	start := func(t *testing.T, l *lab, req *misstepv1.StartReproductionRequest) string {
		req.FindingId = l.find(8)
		started, err := l.server.StartReproduction(l.ctx(t), req)
		require.NoError(t, err)
		return started.GetReproductionId()
	}
	t.Run("cancelled", func(t *testing.T) {
		l := newLab(t, memory.New(), bug(0.7))
		id := start(t, l, &misstepv1.StartReproductionRequest{Seed: 1})
		l.work(2, 3)
		_, err := l.server.CancelReproduction(l.ctx(t), &misstepv1.CancelReproductionRequest{ReproductionId: id})
		require.NoError(t, err)
		st := l.get(id)
		assert.Equal(t, misstepv1.ReproductionState_REPRODUCTION_STATE_CANCELLED, st.GetState())
		assert.Zero(t, st.GetRunning()+st.GetQueued())
		ran := len(l.ran)
		l.work(2, 10)
		assert.Len(t, l.ran, ran, "nothing runs any more")
	})
	t.Run("does not show again", func(t *testing.T) {
		l := newLab(t, memory.New(), bug(0.7))
		req := &misstepv1.StartReproductionRequest{Trials: 100}
		id := start(t, l, req)
		l.rate = func(*misstepv1.Recipe) float64 { return 0 }
		l.work(4, 10_000)
		st := l.get(id)
		assert.Equal(t, misstepv1.ReproductionState_REPRODUCTION_STATE_FAILED, st.GetState())
		assert.Contains(t, st.GetFailure(), "did not show again")
		assert.LessOrEqual(t, st.GetTrials(), uint64(100))
	})
	t.Run("trials used up", func(t *testing.T) {
		l := newLab(t, memory.New(), bug(0.3))
		id := start(t, l, &misstepv1.StartReproductionRequest{Trials: 120, Builds: builds(5)})
		l.work(4, 10_000)
		st := l.get(id)
		require.Equal(t, misstepv1.ReproductionState_REPRODUCTION_STATE_DONE, st.GetState(), st.GetFailure())
		assert.LessOrEqual(t, st.GetTrials(), uint64(120))
		cut := false
		for _, s := range st.GetSteps() {
			cut = cut || s.GetCut()
		}
		assert.True(t, cut, "it says that it was cut short")
		assert.NotZero(t, st.GetReproducer().GetReliability().GetHits())
	})
	t.Run("time used up", func(t *testing.T) {
		l := newLab(t, memory.New(), bug(0.3))
		id := start(t, l, &misstepv1.StartReproductionRequest{Time: durationpb.New(30 * time.Second)})
		l.work(4, 10_000)
		l.now = l.now.Add(time.Minute)
		l.work(4, 10_000)
		st := l.get(id)
		assert.NotEqual(t, misstepv1.ReproductionState_REPRODUCTION_STATE_RUNNING, st.GetState())
		assert.Less(t, st.GetTrials(), uint64(200))
	})
	t.Run("perturbations", func(t *testing.T) {
		l := newLab(t, memory.New(), bug(0.7))
		finding := l.find(8)
		_,
			err := l.server.StartReproduction(l.ctx(t),
			&misstepv1.StartReproductionRequest{
				FindingId: finding, Perturbations: []*misstepv1.Perturbation{{Strategy: "chaos"}},
			})
		assert.Equal(t, codes.FailedPrecondition, status.Code(err), "trials that no runner takes would use up the time")
		require.ErrorContains(t, err, "sched_ext")

		// Where the agent has no points to perturb at, what it could do is left out, and the same request is still the same.
		require.NoError(t, l.store.Update(t.Context(), func(tx store.Tx) error {
			f, err := tx.Finding(finding)
			if err != nil {
				return err
			}
			f.Proto.ExampleRecipe.Instrumentation = &misstepv1.Instrumentation{}
			return tx.PutFinding(f)
		}))
		l.rate = func(*misstepv1.Recipe) float64 { return 0.1 }
		req := &misstepv1.StartReproductionRequest{
			FindingId: finding, Trials: 300, Perturbations: []*misstepv1.Perturbation{{Strategy: "chaos", Mechanism: "agent"}},
		}
		started, err := l.server.StartReproduction(l.ctx(t), req)
		require.NoError(t, err)
		require.NoError(t, l.store.View(t.Context(), func(tx store.Tx) error {
			r, err := tx.Reproduction(started.GetReproductionId())
			assert.Empty(t, r.GetSpec().GetPerturbations())
			return err
		}))
		l.work(4, 10_000)
		require.Equal(t, misstepv1.ReproductionState_REPRODUCTION_STATE_DONE, l.get(started.GetReproductionId()).GetState())
		again, err := l.server.StartReproduction(l.ctx(t), req)
		require.NoError(t, err)
		assert.Equal(t, started.GetReproductionId(), again.GetReproductionId())
	})
	t.Run("bad requests", func(t *testing.T) {
		l := newLab(t, memory.New(), bug(1))
		for _, c := range []struct {
			req  *misstepv1.StartReproductionRequest
			code codes.Code
		}{
			{&misstepv1.StartReproductionRequest{FindingId: "Fnone"}, codes.NotFound},
			{&misstepv1.StartReproductionRequest{}, codes.InvalidArgument},
			{&misstepv1.StartReproductionRequest{FindingId: "F", Trials: 1 << 40}, codes.InvalidArgument},
			{&misstepv1.StartReproductionRequest{FindingId: "F", AgentDigest: "x"}, codes.InvalidArgument},
			{
				&misstepv1.StartReproductionRequest{
					FindingId: "F", Builds: []*misstepv1.JdkBuild{{Jdk: &misstepv1.Jdk{Name: "x"}}},
				}, codes.InvalidArgument,
			},
			{&misstepv1.StartReproductionRequest{FindingId: "F", Time: durationpb.New(-1)}, codes.InvalidArgument},
		} {
			_, err := l.server.StartReproduction(l.ctx(t), c.req)
			assert.Equal(t, c.code, status.Code(err), "%v", err)
		}
		_, err := l.server.GetReproduction(l.ctx(t), &misstepv1.GetReproductionRequest{ReproductionId: "R"})
		assert.Equal(t, codes.NotFound, status.Code(err))
	})
}
