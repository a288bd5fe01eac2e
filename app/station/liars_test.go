package station_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/coordinator"
	"misstep/coordinator/access"
	"misstep/coordinator/store/memory"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner"
	"misstep/runner/sim"
)

// liars are owners whose runners are simulated, of a coordinator that has trials run once more; lie changes the first one's
// results.
type liars struct {
	t       *testing.T
	server  *coordinator.Server
	config  coordinator.Config
	now     time.Time
	machine *sim.Executor
	held    map[string][]*misstepv1.Lease
	lie     func(*misstepv1.Lease, *misstepv1.Outcome) *misstepv1.Outcome
	trials  int // of the first
	id      string
}

func newLiars(t *testing.T, share float64) *liars {
	machine, err := sim.New(sim.Script{
		Seed: 7, Fresh: true, Events: []sim.Event{{Rate: 0.1, Outcome: sim.Crash("f")}},
	}, runner.SystemClock{})
	require.NoError(t, err)
	p := &liars{t: t, machine: machine, held: map[string][]*misstepv1.Lease{}, now: time.Unix(1_800_000_000, 0)}
	p.config = coordinator.Config{Store: memory.New(), AuditShare: share, Clock: func() time.Time { return p.now }}
	p.server = coordinator.New(p.config)
	blob := "sha256:" + strings.Repeat("a", 64)
	sub, err := p.server.SubmitCampaign(t.Context(), &misstepv1.SubmitCampaignRequest{
		Campaign: &misstepv1.Campaign{
			Name: "liars", Jdks: []string{"17"}, Workloads: []*misstepv1.CampaignWorkload{{Name: "w"}},
			Checks: []*misstepv1.Check{{Name: "gst-asgct"}}, Budget: &misstepv1.Budget{Trials: 1_000_000},
		},
		Jdks:      []*misstepv1.Jdk{{Name: "17", Digest: blob}},
		Workloads: []*misstepv1.Workload{{Name: "w", Digest: blob}},
	})
	require.NoError(t, err)
	p.id = sub.GetCampaignId()
	return p
}

func (p *liars) call(owner string, slots uint32, held []*misstepv1.HeldLease) []*misstepv1.Lease {
	ctx := access.With(p.t.Context(), &access.Caller{
		Name: "runner " + owner, Kind: access.Runner, Grants: []access.Grant{{Role: misstepv1.Role_ROLE_RUNNER}},
	})
	response, err := p.server.Synchronize(ctx, &misstepv1.SynchronizeRequest{
		Runner: &misstepv1.Runner{Id: "r", Slots: slots}, FreeSlots: slots, Held: held,
	})
	require.NoError(p.t, err)
	return response.GetDesired()
}

func (p *liars) after(d time.Duration) {
	p.now = p.now.Add(d)
	require.NoError(p.t, p.server.Tick(p.t.Context()))
}

// round lets each owner report and take. Only the first one's runners have slots for trials of their own.
func (p *liars) round(ctx context.Context) {
	for i, owner := range []string{"first", "b", "c", "d"} {
		var results []*misstepv1.HeldLease
		for _, l := range p.held[owner] {
			o, err := p.machine.Run(ctx, l.GetRecipe(), func(*misstepv1.Progress) {})
			require.NoError(p.t, err)
			o.RecipeDigest, err = misstepv1.RecipeDigest(l.GetRecipe())
			require.NoError(p.t, err)
			if i == 0 {
				p.trials++
				if p.lie != nil {
					o = p.lie(l, o)
				}
			}
			results = append(results, &misstepv1.HeldLease{
				LeaseId: l.GetId(), State: &misstepv1.HeldLease_Outcome{Outcome: o},
			})
		}
		p.held[owner] = p.call(owner, []uint32{16, 1, 1, 1}[i], results)
	}
}

func (p *liars) aside() (reason string) {
	list, err := p.server.ListRunners(p.t.Context(), &misstepv1.ListRunnersRequest{})
	require.NoError(p.t, err)
	for _, one := range list.GetRunners() {
		if one.GetOwner() == "runner first" {
			reason = one.GetSetAside()
		} else {
			require.Empty(p.t, one.GetSetAside(), one.GetOwner())
		}
	}
	return reason
}

// Whoever runs nearly everything alone is found out by repetition, by a coordinator that was restarted meanwhile; who is honest is
// not.
func TestALiarIsFoundByRepetition(t *testing.T) {
	for name, lie := range map[string]func(*misstepv1.Lease, *misstepv1.Outcome) *misstepv1.Outcome{
		"honest": nil,
		"runs nothing": func(l *misstepv1.Lease, _ *misstepv1.Outcome) *misstepv1.Outcome {
			return quiet(l).GetOutcome()
		},
		"reports no finding": func(l *misstepv1.Lease, o *misstepv1.Outcome) *misstepv1.Outcome {
			if o.GetCrash() != nil {
				return quiet(l).GetOutcome()
			}
			return o
		},
		"invents findings": func(l *misstepv1.Lease, o *misstepv1.Outcome) *misstepv1.Outcome {
			if l.GetTrial()%2 == 0 {
				return crashed(t, l)
			}
			return o
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newLiars(t, 0.2)
			p.lie = lie
			rounds := 0
			for ; rounds < 400 && p.aside() == ""; rounds++ {
				p.round(t.Context())
				p.after(time.Second)
				if rounds == 100 {
					p.after(time.Minute)
					p.server = coordinator.New(p.config)
				}
			}
			t.Logf("%d trials: %s", p.trials, p.aside())
			assert.Equal(t, lie != nil, p.aside() != "")
			got, err := p.server.GetCampaign(t.Context(), &misstepv1.GetCampaignRequest{CampaignId: p.id})
			require.NoError(t, err)
			assert.Positive(t, got.GetCampaign().GetRepetitions().GetEnded())
		})
	}
}

func crashed(t *testing.T, l *misstepv1.Lease) *misstepv1.Outcome {
	t.Helper()
	o := quiet(l).GetOutcome()
	o.Kind, o.Crash = misstepv1.OutcomeKind_OUTCOME_KIND_CRASH, &misstepv1.Crash{Error: "SIGSEGV (0xb)", ProblematicFrame: "C f"}
	var err error
	o.RecipeDigest, err = misstepv1.RecipeDigest(l.GetRecipe())
	require.NoError(t, err)
	return o
}
