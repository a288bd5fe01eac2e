package coordinator_test

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"

	"misstep/coordinator"
	"misstep/coordinator/store"
	"misstep/coordinator/store/memory"
	misstepv1 "misstep/proto/misstep/v1"
)

// readable is a read-only store, such as a replica.
type readable struct{ store.Store }

func (readable) Update(context.Context, func(store.Tx) error) error {
	return errors.New("somebody writes to a store that is for reading")
}

// Every query works on a read-only store, also in a new coordinator, and at any time.
func TestQueriesDoNotWrite(t *testing.T) {
	l := newLab(t, memory.New(), bug(1))
	finding := l.find(3)
	started, err := l.server.StartReproduction(t.Context(), &misstepv1.StartReproductionRequest{FindingId: finding})
	require.NoError(t, err)
	campaigns, err := l.server.ListCampaigns(t.Context(), &misstepv1.ListCampaignsRequest{})
	require.NoError(t, err)
	id := campaigns.GetCampaigns()[0].GetId()
	_, err = l.server.Synchronize(t.Context(),
		&misstepv1.SynchronizeRequest{Runner: &misstepv1.Runner{Id: "r", Slots: 1}, FreeSlots: 1})
	require.NoError(t, err)

	runners, err := l.server.ListRunners(t.Context(), &misstepv1.ListRunnersRequest{})
	require.NoError(t, err)
	require.Len(t, runners.GetRunners(), 1)
	assert.Equal(t, "r", runners.GetRunners()[0].GetRunner().GetId())
	assert.EqualValues(t, 1, runners.GetRunners()[0].GetRunning())

	l.now = l.now.Add(1000 * time.Hour)
	s := coordinator.New(coordinator.Config{Store: readable{l.store}, Clock: func() time.Time { return l.now }})
	require.Error(t, s.Tick(t.Context()), "the decorator decorates")
	queries := map[string]func() (any, error){
		"ListCampaigns": func() (any, error) { return s.ListCampaigns(t.Context(), &misstepv1.ListCampaignsRequest{}) },
		"GetBacklog":    func() (any, error) { return s.GetBacklog(t.Context(), &misstepv1.GetBacklogRequest{}) },
		"ListQuotas":    func() (any, error) { return s.ListQuotas(t.Context(), &misstepv1.ListQuotasRequest{}) },
		"ListRunners":   func() (any, error) { return s.ListRunners(t.Context(), &misstepv1.ListRunnersRequest{}) },
		"GetCampaign": func() (any, error) {
			return s.GetCampaign(t.Context(), &misstepv1.GetCampaignRequest{CampaignId: id})
		},
		"ListTrials": func() (any, error) {
			return s.ListTrials(t.Context(), &misstepv1.ListTrialsRequest{CampaignId: id})
		},
		"ListFindings": func() (any, error) { return s.ListFindings(t.Context(), &misstepv1.ListFindingsRequest{}) },
		"ListBugs":     func() (any, error) { return s.ListBugs(t.Context(), &misstepv1.ListBugsRequest{}) },
		"GetFinding": func() (any, error) {
			return s.GetFinding(t.Context(), &misstepv1.GetFindingRequest{FindingId: finding})
		},
		"ListDecisions": func() (any, error) { return s.ListDecisions(t.Context(), &misstepv1.ListDecisionsRequest{}) },
		"ListKnownBugs": func() (any, error) { return s.ListKnownBugs(t.Context(), &misstepv1.ListKnownBugsRequest{}) },
		"ListReproductions": func() (any, error) {
			return s.ListReproductions(t.Context(), &misstepv1.ListReproductionsRequest{})
		},
		"GetReproduction": func() (any, error) {
			return s.GetReproduction(t.Context(), &misstepv1.GetReproductionRequest{ReproductionId: started.GetReproductionId()})
		},
	}
	queries["ListCatalogueEntries"] = func() (any, error) {
		return s.ListCatalogueEntries(t.Context(), &misstepv1.ListCatalogueEntriesRequest{})
	}
	queries["CheckCampaign"] = func() (any, error) {
		return s.CheckCampaign(t.Context(), &misstepv1.CheckCampaignRequest{Submission: submission(1)})
	}
	queries["ListSchedules"] = func() (any, error) { return s.ListSchedules(t.Context(), &misstepv1.ListSchedulesRequest{}) }
	queries["ListRetests"] = func() (any, error) { return s.ListRetests(t.Context(), &misstepv1.ListRetestsRequest{}) }
	changes := regexp.MustCompile(
		"^(Add|Create|Pause|Set|Submit|Stop|Drain|Merge|Note|Split|Undo|Start|Cancel|Record|Put|Remove|Trust)")
	for _, m := range slices.Concat(misstepv1.AdminService_ServiceDesc.Methods, misstepv1.CatalogueService_ServiceDesc.Methods,
		misstepv1.ScheduleService_ServiceDesc.Methods) {
		if !changes.MatchString(m.MethodName) {
			assert.NotNil(t, queries[m.MethodName], "%s is not tested: add it to queries, or its verb to changes, in this file",
				m.MethodName)
		}
	}
	for name, query := range queries {
		answer, err := query()
		require.NoError(t, err, name)
		assert.NotNil(t, answer, name)
	}
}

// A campaign whose time is over is shown as ended by the first query, which shows what is stored later.
func TestEndIsShownBeforeItIsStored(t *testing.T) {
	st := memory.New()
	now := time.Unix(1_800_000_000, 0)
	s := coordinator.New(coordinator.Config{Store: st, Clock: func() time.Time { return now }, Grace: 10 * time.Second})
	sub := submission(100)
	sub.Campaign.Budget = &misstepv1.Budget{Trials: 100, Time: durationpb.New(time.Minute)}
	submitted, err := s.SubmitCampaign(t.Context(), sub)
	require.NoError(t, err)
	_, err = s.Synchronize(t.Context(), &misstepv1.SynchronizeRequest{Runner: &misstepv1.Runner{Id: "r", Slots: 2}, FreeSlots: 2})
	require.NoError(t, err)
	shown := func() *misstepv1.CampaignStatus {
		got, err := s.GetCampaign(t.Context(), &misstepv1.GetCampaignRequest{CampaignId: submitted.GetCampaignId()})
		require.NoError(t, err)
		return got.GetCampaign()
	}
	stored := func() *store.Campaign {
		var c *store.Campaign
		require.NoError(t, st.View(t.Context(), func(tx store.Tx) (err error) {
			c, err = tx.Campaign(submitted.GetCampaignId())
			return err
		}))
		return c
	}
	now = now.Add(time.Minute)
	assert.Equal(t, misstepv1.CampaignState_CAMPAIGN_STATE_RUNNING, shown().GetState(), "two trials have their grace")
	assert.EqualValues(t, 2, shown().GetRunning())
	assert.Zero(t, shown().GetQueued())
	now = now.Add(10 * time.Second)
	before := shown()
	assert.Equal(t, misstepv1.CampaignState_CAMPAIGN_STATE_DONE, before.GetState())
	assert.EqualValues(t, 2, before.GetCancelled())
	assert.EqualValues(t, 2, before.GetUnfinished(), "they ran")
	assert.Zero(t, before.GetRunning())
	assert.Equal(t, misstepv1.CampaignState_CAMPAIGN_STATE_RUNNING, stored().State, "nobody has stored it")
	require.NoError(t, s.Tick(t.Context()))
	assert.Equal(t, misstepv1.CampaignState_CAMPAIGN_STATE_DONE, stored().State)
	assert.Equal(t, before.String(), shown().String())
}

// A coordinator expires the leases of its runners even when none of them calls any more.
func TestRunTakesBackLostLeases(t *testing.T) {
	s := coordinator.New(coordinator.Config{Store: memory.New(), LeaseTime: time.Millisecond})
	submitted, err := s.SubmitCampaign(t.Context(), submission(1))
	require.NoError(t, err)
	_, err = s.Synchronize(t.Context(), &misstepv1.SynchronizeRequest{Runner: &misstepv1.Runner{Id: "r", Slots: 1}, FreeSlots: 1})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		s.Run(ctx)
		close(ended)
	}()
	require.Eventually(t, func() bool {
		got, err := s.GetCampaign(t.Context(), &misstepv1.GetCampaignRequest{CampaignId: submitted.GetCampaignId()})
		require.NoError(t, err)
		return got.GetCampaign().GetRunning() == 0 && got.GetCampaign().GetQueued() == 1
	}, 20*time.Second, 50*time.Millisecond)
	cancel()
	<-ended
}
