package coordinator_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"misstep/coordinator"
	"misstep/coordinator/catalogue"
	"misstep/coordinator/store"
	"misstep/coordinator/store/memory"
	misstepv1 "misstep/proto/misstep/v1"
)

const day = 24 * time.Hour

// stock adds a workload "w" and a build of a JDK.
func (s *shelf) stock(jdk, content string) *misstepv1.AddCatalogueEntryResponse {
	s.t.Helper()
	_, err := s.AddCatalogueEntry(s.t.Context(), &misstepv1.AddCatalogueEntryRequest{
		Kind: catalogue.Workload, Name: "w", Digest: s.manifest("dir lib", s.file("file", "workload.yaml",
			"name: w\ndescription: d\nmain: M\nclasspath: [lib]\nrepetitions: 1\nmin_feature: 17\n")),
	})
	require.NoError(s.t, err)
	added, err := s.AddCatalogueEntry(s.t.Context(), request(jdk, s.jdk(content)))
	require.NoError(s.t, err)
	return added
}

func nightly(jdk string) *misstepv1.Campaign {
	return &misstepv1.Campaign{
		Name: "nightly", Seed: 5, Jdks: []string{jdk}, Workloads: []*misstepv1.CampaignWorkload{{Name: "w"}},
		Checks: []*misstepv1.Check{{Name: "gst-asgct"}}, Budget: &misstepv1.Budget{Trials: 3},
	}
}

func (s *shelf) schedule(r *misstepv1.CreateScheduleRequest) *misstepv1.Schedule {
	s.t.Helper()
	made, err := s.CreateSchedule(person(s.t.Context(), "anna", hunter), r)
	require.NoError(s.t, err)
	return made.GetSchedule()
}

// campaigns returns the campaigns that schedules have submitted, oldest first.
func (s *shelf) campaigns() (all []*store.Campaign) {
	s.t.Helper()
	require.NoError(s.t, s.store.View(s.t.Context(), func(tx store.Tx) (err error) {
		all, err = tx.Campaigns(false)
		return err
	}))
	all = slices.DeleteFunc(all, func(c *store.Campaign) bool { return c.Probes })
	slices.Reverse(all)
	return all
}

func (s *shelf) tick(after time.Duration) {
	s.t.Helper()
	s.now = s.now.Add(after)
	require.NoError(s.t, s.Tick(s.t.Context()))
}

func TestNamesThatASubmissionLeavesOpen(t *testing.T) {
	s := newShelf(t)
	added := s.stock("openjdk-28", "a")
	submission := &misstepv1.SubmitCampaignRequest{Campaign: nightly("openjdk-28")}
	submission.Campaign.Jdks = append(submission.Campaign.Jdks, "mine")
	submission.Campaign.FlagSets = []*misstepv1.FlagSet{{Preset: "g1"}, {Preset: "zgc"}}
	submission.Campaign.Profiler = []*misstepv1.Profiler{{Name: "none"}, {Name: "async-profiler"}}
	submission.Jdks = []*misstepv1.Jdk{{Name: "mine", Digest: digest("a")}}
	submission.Presets = []*misstepv1.JdkPreset{
		{Jdk: "mine", Preset: "g1", Flags: []string{"-XX:+UseG1GC"}}, {Jdk: "mine", Preset: "zgc", Flags: []string{"-XX:+UseZGC"}},
	}
	checked, err := s.CheckCampaign(t.Context(), &misstepv1.CheckCampaignRequest{Submission: submission})
	require.NoError(t, err)
	assert.Len(t, checked.GetFromCatalogue(), 2)
	assert.EqualValues(t, 5, checked.GetCombinations(), "g1 on both, zgc on mine; async-profiler on mine only")
	assert.Empty(t, s.campaigns())
	s.now = s.now.Add(time.Hour)
	submitted, err := s.SubmitCampaign(t.Context(), submission)
	require.NoError(t, err)
	assert.Equal(t, "openjdk-28", submitted.GetFromCatalogue()[0].GetName())
	stored := s.campaigns()[0].Submission
	assert.Equal(t, added.GetEntry().GetDigest(), stored.GetJdks()[1].GetDigest())
	assert.Equal(t, digest("a"), stored.GetJdks()[0].GetDigest(), "what the submission resolves stays")
	list, err := s.ListCatalogueEntries(t.Context(), &misstepv1.ListCatalogueEntriesRequest{})
	require.NoError(t, err)
	for _, e := range list.GetEntries() {
		assert.Equal(t, s.now.UTC(), e.GetUsed().AsTime(), e.GetName())
	}
	for says, change := range map[string]func(*misstepv1.Campaign){
		`jdks[0]: "openjdk-82" is a JDK neither of the submission nor of the shared catalogue, did you mean openjdk-28?`: func(c *misstepv1.Campaign) {
			c.Jdks[0] = "openjdk-82"
		},
		`workloads[0].name: "v" is a workload neither`: func(c *misstepv1.Campaign) { c.Workloads[0].Name = "v" },
		"does not say what the preset \"newer\" is on it": func(c *misstepv1.Campaign) {
			c.FlagSets = []*misstepv1.FlagSet{{Preset: "newer"}}
		},
	} {
		wrong := &misstepv1.SubmitCampaignRequest{Campaign: nightly("openjdk-28")}
		change(wrong.GetCampaign())
		_, err := s.SubmitCampaign(t.Context(), wrong)
		assert.Equal(t, codes.InvalidArgument, status.Code(err))
		require.ErrorContains(t, err, says)
	}
	old := &misstepv1.SubmitCampaignRequest{Campaign: nightly("openjdk-28"), ScheduleId: "S1"}
	_, err = s.SubmitCampaign(t.Context(), old)
	require.ErrorContains(t, err, "schedule_id")
}

func TestScheduleRunsEachTimeOnce(t *testing.T) {
	s := newShelf(t)
	s.stock("openjdk-28", "a")
	made := s.schedule(&misstepv1.CreateScheduleRequest{Campaign: nightly("openjdk-28"), Every: durationpb.New(day)})
	start := s.now
	assert.Empty(t, s.campaigns())
	s.tick(time.Second)
	require.Len(t, s.campaigns(), 1)
	s.tick(time.Second)
	s.tick(day - 3*time.Second)
	require.Len(t, s.campaigns(), 1)
	s.tick(time.Second)
	require.Len(t, s.campaigns(), 2, "a day after it was made, whenever the clock ticked")
	s.tick(5*day + time.Hour)
	s.tick(time.Second)
	all := s.campaigns()
	require.Len(t, all, 3, "four missed times are one run")
	seeds := map[uint64]bool{}
	for _, c := range all {
		seeds[c.Submission.GetCampaign().GetSeed()] = true
		assert.Equal(t, made.GetId(), c.Submission.GetScheduleId())
		assert.Len(t, c.Submission.GetJdks(), 1)
	}
	assert.Len(t, seeds, 3)
	list, err := s.ListSchedules(t.Context(), &misstepv1.ListSchedulesRequest{})
	require.NoError(t, err)
	one := list.GetSchedules()[0]
	assert.EqualValues(t, 3, one.GetRuns())
	assert.Equal(t, "anna", one.GetOwner())
	assert.Equal(t, all[2].ID, one.GetRecent()[0].GetCampaignId())
	assert.Equal(t, start.Add(7*day).UTC(), one.GetNext().AsTime())

	// The clock is set back by a year and forward again: no run is made up for, and none is a year away.
	s.tick(-365 * day)
	s.tick(time.Second)
	require.Len(t, s.campaigns(), 3)
	s.tick(day)
	require.Len(t, s.campaigns(), 4)
	s.tick(365 * day)
	require.Len(t, s.campaigns(), 5)
	s.tick(time.Second)
	require.Len(t, s.campaigns(), 5)
}

// A name whose build was replaced means the new one; one that is gone is a failure that keeps nobody else from running.
func TestScheduleResolvesNamesAnew(t *testing.T) {
	s := newShelf(t)
	first := s.stock("openjdk-28", "a")
	s.schedule(&misstepv1.CreateScheduleRequest{Campaign: nightly("openjdk-28"), Every: durationpb.New(day)})
	s.tick(time.Second)
	second := request("openjdk-28", s.jdk("b"))
	second.Replace = true
	replaced, err := s.AddCatalogueEntry(t.Context(), second)
	require.NoError(t, err)
	s.tick(day)
	all := s.campaigns()
	require.Len(t, all, 2)
	assert.Equal(t, first.GetEntry().GetDigest(), all[0].Submission.GetJdks()[0].GetDigest())
	assert.Equal(t, replaced.GetEntry().GetDigest(), all[1].Submission.GetJdks()[0].GetDigest())

	other := s.stock("other", "c").GetEntry()
	s.schedule(&misstepv1.CreateScheduleRequest{Campaign: nightly(other.GetName()), Every: durationpb.New(day)})
	_, err = s.RemoveCatalogueEntry(t.Context(), &misstepv1.RemoveCatalogueEntryRequest{Kind: catalogue.JDK, Name: "openjdk-28"})
	require.NoError(t, err)
	s.tick(day)
	all = s.campaigns()
	require.Len(t, all, 3)
	assert.Equal(t, []string{"other"}, all[2].Submission.GetCampaign().GetJdks())
	list, err := s.ListSchedules(t.Context(), &misstepv1.ListSchedulesRequest{})
	require.NoError(t, err)
	var failures []string
	for _, one := range list.GetSchedules() {
		failures = append(failures, one.GetRecent()[0].GetFailure())
	}
	slices.Sort(failures)
	assert.Empty(t, failures[0])
	assert.Contains(t, failures[1], `"openjdk-28" is a JDK neither of the submission nor of the shared catalogue`)
}

// Two coordinators on one store, and builds that are added through both, make each run once.
func TestTwoCoordinatorsRunASchedule(t *testing.T) {
	s := newShelf(t)
	s.stock("openjdk-28", "a")
	s.schedule(&misstepv1.CreateScheduleRequest{Campaign: nightly("openjdk-28"), Every: durationpb.New(day)})
	s.schedule(&misstepv1.CreateScheduleRequest{Campaign: nightly("x"), OnNewJdk: "pr-*"})
	servers := []*coordinator.Server{s.Server, s.another()}
	digest := s.jdk("b")
	for range 5 {
		var all sync.WaitGroup
		for _, server := range servers {
			for range 4 {
				all.Go(func() { assert.NoError(t, server.Tick(t.Context())) })
			}
			all.Go(func() {
				_, err := server.AddCatalogueEntry(t.Context(), request("pr-1", digest))
				assert.NoError(t, err)
			})
		}
		all.Wait()
		s.now = s.now.Add(day)
	}
	var builds []string
	for _, c := range s.campaigns() {
		builds = append(builds, c.Submission.GetCampaign().GetJdks()...)
	}
	slices.Sort(builds)
	assert.Equal(t, []string{"openjdk-28", "openjdk-28", "openjdk-28", "openjdk-28", "openjdk-28", "pr-1"}, builds)
}

func TestSchedulesBelongToTheirOwners(t *testing.T) {
	s := newShelf(t)
	s.stock("openjdk-28", "a")
	made := s.schedule(&misstepv1.CreateScheduleRequest{
		Campaign: nightly("openjdk-28"), Every: durationpb.New(day), OnNewJdk: "pr-*",
	})
	ben, anna := person(t.Context(), "ben", hunter), person(t.Context(), "anna", hunter)
	_, err := s.PauseSchedule(ben, &misstepv1.PauseScheduleRequest{ScheduleId: made.GetId()})
	assert.Equal(t, codes.PermissionDenied, status.Code(err))
	_, err = s.RemoveSchedule(ben, &misstepv1.RemoveScheduleRequest{ScheduleId: made.GetId()})
	assert.Equal(t, codes.PermissionDenied, status.Code(err))
	_, err = s.PauseSchedule(anna, &misstepv1.PauseScheduleRequest{ScheduleId: made.GetId()[:3]})
	require.NoError(t, err)
	s.tick(3 * day)
	s.stock("pr-1", "b")
	assert.Empty(t, s.campaigns(), "it is paused")
	resumed, err := s.PauseSchedule(anna, &misstepv1.PauseScheduleRequest{ScheduleId: made.GetId(), Resume: true})
	require.NoError(t, err)
	assert.Equal(t, s.now.Add(day).UTC(), resumed.GetSchedule().GetNext().AsTime())
	s.tick(day)
	require.Len(t, s.campaigns(), 1)
	_, err = s.RemoveSchedule(person(t.Context(), "root", admin), &misstepv1.RemoveScheduleRequest{ScheduleId: made.GetId()})
	require.NoError(t, err)
	s.tick(day)
	require.Len(t, s.campaigns(), 1)
	_, err = s.RemoveSchedule(anna, &misstepv1.RemoveScheduleRequest{ScheduleId: made.GetId()})
	assert.Equal(t, codes.NotFound, status.Code(err))
	for says, r := range map[string]*misstepv1.CreateScheduleRequest{
		"campaign: is required":                  {},
		"every: a schedule needs every, on_new_": {Campaign: nightly("openjdk-28")},
		"every: expected a duration from 1m0s":   {Campaign: nightly("openjdk-28"), Every: durationpb.New(time.Second)},
		"on_new_jdk: syntax error in pattern":    {Campaign: nightly("openjdk-28"), OnNewJdk: "["},
		`jdks[0]: "nonesuch" is a JDK neither`:   {Campaign: nightly("nonesuch"), Every: durationpb.New(day)},
		"budget":                                 {Campaign: &misstepv1.Campaign{Name: "n", Jdks: []string{"x"}}, OnNewJdk: "*"},
	} {
		_, err := s.CreateSchedule(anna, r)
		assert.Equal(t, codes.InvalidArgument, status.Code(err), says)
		require.ErrorContains(t, err, says)
	}
}

// A new build gets the schedule's campaign, and every reproducer is repeated on it: the history of a finding says on which builds
// it is gone.
func TestNewBuildsAreRetested(t *testing.T) {
	l := newLab(t, memory.New(), func(r *misstepv1.Recipe) float64 {
		if r.GetJdk().GetName() == "pr-fixed" {
			return 0
		}
		return 1
	})
	finding := l.find(3)
	started, err := l.server.StartReproduction(t.Context(), &misstepv1.StartReproductionRequest{FindingId: finding, Seed: 1})
	require.NoError(t, err)
	l.work(4, 10_000)
	require.Equal(t, misstepv1.ReproductionState_REPRODUCTION_STATE_DONE, l.get(started.GetReproductionId()).GetState())

	s := newShelf(t)
	s.store, s.now = l.store, l.now
	s.Server = s.another()
	l.server = s.Server
	s.stock("openjdk-28", "a")
	for range 2 { // two that wait for the same builds retest once
		s.schedule(&misstepv1.CreateScheduleRequest{Campaign: nightly("any"), OnNewJdk: "pr-*"})
	}
	s.schedule(&misstepv1.CreateScheduleRequest{Campaign: nightly("any"), OnNewJdk: "*", NoRetest: true})
	for i, name := range []string{"pr-same", "pr-fixed"} {
		s.now = l.now
		added := s.stock(name, name)
		assert.Len(t, added.GetCampaignIds(), 3)
		for range 200 {
			l.now = l.now.Add(time.Second)
			s.now = l.now
			l.work(4, 1_000)
		}
		var retests []*misstepv1.Retest
		list, err := s.ListRetests(t.Context(), &misstepv1.ListRetestsRequest{FindingId: finding[:6]})
		require.NoError(t, err)
		retests = list.GetRetests()
		require.Len(t, retests, i+1)
		r := retests[0]
		assert.Equal(t, name, r.GetJdk().GetName())
		require.NotNil(t, r.GetEnded(), "%v", r)
		assert.Equal(t, r.GetPlanned(), r.GetNow().GetTries())
		assert.Positive(t, r.GetKnown().GetHits())
		assert.Equal(t, map[string]string{"pr-same": "still present", "pr-fixed": "fixed"}[name], r.GetVerdict())
		if name == "pr-fixed" {
			assert.Zero(t, r.GetNow().GetHits())
			assert.Less(t, r.GetP(), 0.01)
		}
		require.NoError(t, s.store.View(t.Context(), func(tx store.Tx) error {
			running, err := tx.Campaigns(true)
			for _, c := range running {
				assert.False(t, c.Probes, "the campaign of retests has ended")
			}
			return err
		}))
	}
	for recipe, n := range l.ran {
		assert.Equal(t, 1, n, "%s was run twice", recipe)
	}

	// Whoever made the schedule may stop the retests of a build; what was to come is not waited for.
	s.stock("pr-stopped", "pr-stopped")
	var id string
	require.NoError(t, s.store.View(t.Context(), func(tx store.Tx) error {
		running, err := tx.Campaigns(true)
		for _, c := range running {
			if c.Probes {
				id = c.ID
			}
		}
		return err
	}))
	require.True(t, strings.HasPrefix(id, store.RetestPrefix), id)
	stop := &misstepv1.StopCampaignRequest{CampaignId: id}
	_, err = s.StopCampaign(person(t.Context(), "ben", hunter), stop)
	assert.Equal(t, codes.PermissionDenied, status.Code(err))
	_, err = s.StopCampaign(person(t.Context(), "anna", hunter), stop)
	require.NoError(t, err)
	list, err := s.ListRetests(t.Context(), &misstepv1.ListRetestsRequest{FindingId: finding})
	require.NoError(t, err)
	stopped := list.GetRetests()[0]
	assert.Equal(t, "pr-stopped", stopped.GetJdk().GetName())
	assert.NotNil(t, stopped.GetEnded())
	assert.Equal(t, "stopped", stopped.GetTrouble())
	got, err := s.GetCampaign(t.Context(), &misstepv1.GetCampaignRequest{CampaignId: id})
	require.NoError(t, err)
	assert.Equal(t, misstepv1.CampaignState_CAMPAIGN_STATE_STOPPED, got.GetCampaign().GetState())
	again, err := s.StartReproduction(t.Context(), &misstepv1.StartReproductionRequest{FindingId: finding, Seed: 2})
	require.NoError(t, err)
	_, err = s.StopCampaign(t.Context(), &misstepv1.StopCampaignRequest{CampaignId: again.GetReproductionId()})
	require.ErrorContains(t, err, "misstep reproduce cancel "+again.GetReproductionId())
}
