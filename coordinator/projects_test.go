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
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"misstep/coordinator"
	"misstep/coordinator/access"
	"misstep/coordinator/projects"
	"misstep/coordinator/store"
	"misstep/coordinator/store/memory"
	"misstep/coordinator/store/scoped"
	misstepv1 "misstep/proto/misstep/v1"
)

// neighbours are what one project has of each kind.
type neighbours struct {
	campaign, finding, other, reproduction, schedule, bug string
	decision                                              uint64
}

// settle gives a project a campaign with findings, a reproduction, a decision, a known bug, a schedule and a retest. What people
// wrote there begins with the project's name.
func settle(t *testing.T, l *lab, project string, trials uint64) neighbours {
	t.Helper()
	l.project, l.other = project, 1
	n := neighbours{finding: l.find(trials), bug: project + "-bug", schedule: "S" + project + "00000"}
	ctx := l.ctx(t)
	found, err := l.server.ListFindings(ctx, &misstepv1.ListFindingsRequest{})
	require.NoError(t, err)
	require.Len(t, found.GetFindings(), 2)
	for _, f := range found.GetFindings() {
		if f.GetId() != n.finding {
			n.other = f.GetId()
		}
	}
	campaigns, err := l.server.ListCampaigns(ctx, &misstepv1.ListCampaignsRequest{})
	require.NoError(t, err)
	n.campaign = campaigns.GetCampaigns()[0].GetId()
	started, err := l.server.StartReproduction(ctx, &misstepv1.StartReproductionRequest{FindingId: n.finding})
	require.NoError(t, err)
	n.reproduction = started.GetReproductionId()
	l.work(4, 10)
	_, err = l.server.CancelReproduction(ctx, &misstepv1.CancelReproductionRequest{ReproductionId: n.reproduction})
	require.NoError(t, err)
	l.work(4, 10)
	merged, err := l.server.MergeFindings(ctx, &misstepv1.MergeFindingsRequest{
		FindingId: n.other, IntoId: n.finding, Reason: project + "-reason",
	})
	require.NoError(t, err)
	n.decision = merged.GetDecision().GetId()
	_, err = l.server.SplitFinding(ctx, &misstepv1.SplitFindingRequest{FindingId: n.other, Reason: project + "-split"})
	require.NoError(t, err)
	_, err = l.server.PutKnownBugs(ctx, &misstepv1.PutKnownBugsRequest{Bugs: []*misstepv1.KnownBug{{
		Id: n.bug, Title: project + "-title", Description: "d", Versions: []string{"17..18"},
		Matches: []*misstepv1.KnownMatch{{Kind: "mismatch", Parts: []string{"gst-asgct", "wrong-bci"}}},
	}}})
	require.NoError(t, err)
	at := timestamppb.New(l.now)
	require.NoError(t, l.store.Update(t.Context(), func(whole store.Tx) error {
		tx := scoped.In(whole, project)
		require.NoError(t, tx.PutSchedule(&misstepv1.Schedule{
			Id: n.schedule, Owner: project + "-owner", Created: at, Campaign: nightly("openjdk-28"), OnNewJdk: "x-*",
		}))
		return tx.PutRetest(&misstepv1.Retest{Id: "RT" + project, FindingId: n.finding, Started: at, Verdict: project + "-verdict"})
	}))
	return n
}

// ask returns what a call answers.
func ask[Q, A proto.Message](ctx context.Context, call func(context.Context, Q) (A, error), q Q) string {
	a, err := call(ctx, q)
	if err != nil {
		s := status.Convert(err)
		return fmt.Sprintf("%s: %s", s.Code(), s.Message())
	}
	return protojson.MarshalOptions{}.Format(a)
}

// queries are all calls that read, about what a project has, as ids, as prefixes and in lists.
func queriesOf(ctx context.Context, s *coordinator.Server, n neighbours) map[string]string {
	all := map[string]string{
		"ListCampaigns":        ask(ctx, s.ListCampaigns, &misstepv1.ListCampaignsRequest{}),
		"ListFindings":         ask(ctx, s.ListFindings, &misstepv1.ListFindingsRequest{}),
		"ListFindings of":      ask(ctx, s.ListFindings, &misstepv1.ListFindingsRequest{CampaignId: n.campaign[:1]}),
		"ListBugs":             ask(ctx, s.ListBugs, &misstepv1.ListBugsRequest{Findings: &misstepv1.ListFindingsRequest{}}),
		"ListDecisions":        ask(ctx, s.ListDecisions, &misstepv1.ListDecisionsRequest{}),
		"ListKnownBugs":        ask(ctx, s.ListKnownBugs, &misstepv1.ListKnownBugsRequest{}),
		"ListReproductions":    ask(ctx, s.ListReproductions, &misstepv1.ListReproductionsRequest{}),
		"ListSchedules":        ask(ctx, s.ListSchedules, &misstepv1.ListSchedulesRequest{}),
		"ListRetests":          ask(ctx, s.ListRetests, &misstepv1.ListRetestsRequest{}),
		"CheckCampaign":        ask(ctx, s.CheckCampaign, &misstepv1.CheckCampaignRequest{Submission: submission(1)}),
		"ListCatalogueEntries": ask(ctx, s.ListCatalogueEntries, &misstepv1.ListCatalogueEntriesRequest{}),
	}
	for _, length := range []int{1, 4, 13} {
		cut := func(id string) string { return id[:min(length, len(id))] }
		all[fmt.Sprint("GetCampaign ", length)] = ask(ctx, s.GetCampaign,
			&misstepv1.GetCampaignRequest{CampaignId: cut(n.campaign)})
		all[fmt.Sprint("ListTrials ", length)] = ask(ctx, s.ListTrials, &misstepv1.ListTrialsRequest{CampaignId: cut(n.campaign)})
		all[fmt.Sprint("GetFinding ", length)] = ask(ctx, s.GetFinding, &misstepv1.GetFindingRequest{FindingId: cut(n.finding)})
		all[fmt.Sprint("GetReproduction ", length)] = ask(ctx, s.GetReproduction,
			&misstepv1.GetReproductionRequest{ReproductionId: cut(n.reproduction)})
		all[fmt.Sprint("ListRetests ", length)] = ask(ctx, s.ListRetests, &misstepv1.ListRetestsRequest{FindingId: cut(n.finding)})
	}
	return all
}

// What one project is answered is the same whatever another one does, to the last byte: lists, counts, rates, and which prefixes of
// ids are ambiguous.
func TestAProjectIsAnsweredAsIfItWereAlone(t *testing.T) {
	for _, pair := range [][2]string{{"p", "q"}, {projects.Default, "q"}, {"p", projects.Default}} {
		t.Run(pair[0]+" beside "+pair[1], func(t *testing.T) {
			l := newLab(t, memory.New(), bug(0.7))
			own := settle(t, l, pair[0], 6)
			ctx, now := l.ctx(t), l.now
			before := queriesOf(ctx, l.server, own)
			settle(t, l, pair[1], 9)
			l.now = now
			after := queriesOf(ctx, l.server, own)
			assert.Equal(t, before, after)
			for name, answer := range after {
				assert.NotContains(t, answer, "Internal", name)
				assert.NotContains(t, answer, "Unavailable", name)
				if pair[1] == "q" {
					assert.NotContains(t, answer, "q-", name)
				}
			}
			assert.Contains(t, after["GetCampaign 1"], own.campaign, "the only campaign that begins so")
			assert.Contains(t, after["ListDecisions"], pair[0]+"-reason")
			assert.Contains(t, after["ListRetests"], pair[0]+"-verdict")
		})
	}
}

// Ids of another project are answered as ids that nothing has, by every call that takes one, and nothing changes there.
func TestIDsOfAnotherProjectAreNobodys(t *testing.T) {
	l := newLab(t, memory.New(), func(*misstepv1.Recipe) float64 { return 1 })
	foreign := settle(t, l, "q", 9)
	theirs, now := l.ctx(t), l.now
	before := queriesOf(theirs, l.server, foreign)
	s := l.server
	ctx := access.With(access.InProject(t.Context(), "p"), &access.Caller{
		Name: "pia", Kind: access.Person, Grants: []access.Grant{{Project: "p", Role: misstepv1.Role_ROLE_ADMIN}},
	})
	clean := &misstepv1.Reliability{Hits: 1, Tries: 1}
	campaigns := map[string]func(id string) string{
		"GetCampaign": func(id string) string { return ask(ctx, s.GetCampaign, &misstepv1.GetCampaignRequest{CampaignId: id}) },
		"ListTrials":  func(id string) string { return ask(ctx, s.ListTrials, &misstepv1.ListTrialsRequest{CampaignId: id}) },
		"StopCampaign": func(id string) string {
			return ask(ctx, s.StopCampaign, &misstepv1.StopCampaignRequest{CampaignId: id})
		},
		"SetBudget": func(id string) string {
			return ask(ctx, s.SetBudget, &misstepv1.SetBudgetRequest{CampaignId: id, Trials: 5})
		},
		"ListFindings": func(id string) string {
			return ask(ctx, s.ListFindings, &misstepv1.ListFindingsRequest{CampaignId: id})
		},
	}
	findings := map[string]func(id string) string{
		"GetFinding":   func(id string) string { return ask(ctx, s.GetFinding, &misstepv1.GetFindingRequest{FindingId: id}) },
		"SplitFinding": func(id string) string { return ask(ctx, s.SplitFinding, &misstepv1.SplitFindingRequest{FindingId: id}) },
		"NoteFinding": func(id string) string {
			return ask(ctx, s.NoteFinding, &misstepv1.NoteFindingRequest{FindingId: id, Text: "x"})
		},
		"MergeFindings": func(id string) string {
			return ask(ctx, s.MergeFindings, &misstepv1.MergeFindingsRequest{FindingId: id, IntoId: id})
		},
		"StartReproduction": func(id string) string {
			return ask(ctx, s.StartReproduction, &misstepv1.StartReproductionRequest{FindingId: id})
		},
		"ListReproductions": func(id string) string {
			return ask(ctx, s.ListReproductions, &misstepv1.ListReproductionsRequest{FindingId: id})
		},
		"ListRetests": func(id string) string { return ask(ctx, s.ListRetests, &misstepv1.ListRetestsRequest{FindingId: id}) },
	}
	reproductions := map[string]func(id string) string{
		"GetReproduction": func(id string) string {
			return ask(ctx, s.GetReproduction, &misstepv1.GetReproductionRequest{ReproductionId: id})
		},
		"CancelReproduction": func(id string) string {
			return ask(ctx, s.CancelReproduction, &misstepv1.CancelReproductionRequest{ReproductionId: id})
		},
		"RecordClean": func(id string) string {
			return ask(ctx, s.RecordClean, &misstepv1.RecordCleanRequest{ReproductionId: id, Clean: clean})
		},
		"StopCampaign": campaigns["StopCampaign"],
	}
	schedules := map[string]func(id string) string{
		"PauseSchedule": func(id string) string {
			return ask(ctx, s.PauseSchedule, &misstepv1.PauseScheduleRequest{ScheduleId: id})
		},
		"RemoveSchedule": func(id string) string {
			return ask(ctx, s.RemoveSchedule, &misstepv1.RemoveScheduleRequest{ScheduleId: id})
		},
	}
	bugs := map[string]func(id string) string{
		"RemoveKnownBug": func(id string) string { return ask(ctx, s.RemoveKnownBug, &misstepv1.RemoveKnownBugRequest{BugId: id}) },
	}
	for _, kind := range []struct {
		id    string
		calls map[string]func(string) string
	}{
		{foreign.campaign, campaigns},
		{foreign.finding, findings},
		{foreign.reproduction, reproductions},
		{foreign.schedule, schedules},
		{foreign.bug, bugs},
	} {
		nobodys := kind.id[:1] + strings.Repeat("_", len(kind.id)-1)
		for name, call := range kind.calls {
			for form, variant := range map[string]func(string) string{
				"id": func(id string) string { return id }, "prefix": func(id string) string { return id[:4] },
				"key": func(id string) string { return projects.Key("q", id) },
			} {
				got, want := call(variant(kind.id)), call(variant(nobodys))
				assert.Equal(t, want, strings.ReplaceAll(got, variant(kind.id), variant(nobodys)), "%s by %s", name, form)
				assert.True(t, strings.HasPrefix(got, "NotFound"), "%s by %s: %s", name, form, got)
			}
		}
	}
	undo := func(n uint64) string { return ask(ctx, s.UndoDecision, &misstepv1.UndoDecisionRequest{DecisionId: n}) }
	assert.Equal(t, undo(77), strings.Replace(undo(foreign.decision), fmt.Sprint("number ", foreign.decision), "number 77", 1))
	assert.Equal(t, "NotFound: there is no decision to undo", undo(0), "the newest one is another project's")

	l.now = now
	assert.Equal(t, before, queriesOf(theirs, l.server, foreign))
}

// Runners serve all projects and learn of none.
func TestRunnersServeAllProjects(t *testing.T) {
	st := memory.New()
	s := coordinator.New(coordinator.Config{Store: st})
	ids := map[string]bool{}
	for _, p := range []string{projects.Default, "p", "q"} {
		sub, err := s.SubmitCampaign(access.InProject(t.Context(), p), submission(2))
		require.NoError(t, err)
		ids[sub.GetCampaignId()] = true
	}
	got, err := s.Synchronize(t.Context(), &misstepv1.SynchronizeRequest{
		Runner: &misstepv1.Runner{Id: "r", Slots: 3}, FreeSlots: 3,
	})
	require.NoError(t, err)
	require.Len(t, got.GetDesired(), 3)
	for _, l := range got.GetDesired() {
		assert.True(t, ids[l.GetCampaignId()], l.GetCampaignId())
		delete(ids, l.GetCampaignId())
		assert.NotContains(t, protojson.MarshalOptions{}.Format(l), "@")
	}
	for _, p := range []string{projects.Default, "p"} {
		runners, err := s.ListRunners(access.InProject(t.Context(), p), &misstepv1.ListRunnersRequest{})
		require.NoError(t, err)
		require.Len(t, runners.GetRunners(), 1)
		assert.EqualValues(t, 1, runners.GetRunners()[0].GetRunning(), "of the project")
	}
	load, err := s.Load(t.Context())
	require.NoError(t, err)
	assert.EqualValues(t, 3, load.Running, "of the fleet")
}

// A campaign is of the project of the call that submits it.
func TestACampaignNamesNoOtherProject(t *testing.T) {
	s := coordinator.New(coordinator.Config{Store: memory.New()})
	in := access.InProject(t.Context(), "p")
	for _, c := range []struct {
		ctx   context.Context
		named string
		want  string
	}{
		{t.Context(), "", ""},
		{t.Context(), "default", "default"},
		{t.Context(), "p", "give --project p"},
		{in, "", "p"},
		{in, "p", "p"},
		{in, "q", "give --project q"},
		{in, "default", "give --project default"},
		{in, "P q", "expected the name of a project"},
	} {
		request := submission(1)
		request.Campaign.Project = c.named
		got, err := s.SubmitCampaign(c.ctx, request)
		_, checkErr := s.CheckCampaign(c.ctx, &misstepv1.CheckCampaignRequest{Submission: request})
		assert.Equal(t, status.Code(err), status.Code(checkErr))
		assert.Equal(t, c.named, request.GetCampaign().GetProject(), "the request stays as it was")
		if strings.Contains(c.want, " ") {
			assert.Equal(t, codes.InvalidArgument, status.Code(err))
			require.ErrorContains(t, err, c.want)
			continue
		}
		require.NoError(t, err)
		shown, err := s.GetCampaign(c.ctx, &misstepv1.GetCampaignRequest{CampaignId: got.GetCampaignId()})
		require.NoError(t, err)
		assert.Equal(t, c.want, shown.GetCampaign().GetCampaign().GetProject())
	}
}

// Besides admins of the project only the owner stops a campaign and changes its budget.
func TestHuntersChangeTheirOwnCampaigns(t *testing.T) {
	st := memory.New()
	s := coordinator.New(coordinator.Config{Store: st})
	as := func(name, project string, role misstepv1.Role) context.Context {
		return access.With(access.InProject(t.Context(), "p"), &access.Caller{
			Name: name, Kind: access.Person, Grants: []access.Grant{{Project: project, Role: role}},
		})
	}
	anna := as("anna", "p", hunter)
	submitted, err := s.SubmitCampaign(anna, submission(9))
	require.NoError(t, err)
	id := submitted.GetCampaignId()
	shown, err := s.GetCampaign(anna, &misstepv1.GetCampaignRequest{CampaignId: id})
	require.NoError(t, err)
	assert.Equal(t, "anna", shown.GetCampaign().GetOwner())
	change := func(ctx context.Context) []error {
		_, err1 := s.SetBudget(ctx, &misstepv1.SetBudgetRequest{CampaignId: id, Trials: 5, TimeLeft: durationpb.New(time.Hour)})
		_, err2 := s.StopCampaign(ctx, &misstepv1.StopCampaignRequest{CampaignId: id})
		return []error{err1, err2}
	}
	for _, ctx := range []context.Context{as("ben", "p", hunter), as("ben", "q", misstepv1.Role_ROLE_ADMIN), as("", "p", hunter)} {
		for _, err := range change(ctx) {
			assert.Equal(t, codes.PermissionDenied, status.Code(err), err)
			require.ErrorContains(t, err, "belongs to anna")
		}
	}
	for _, ctx := range []context.Context{as("boss", "p", misstepv1.Role_ROLE_ADMIN), anna} {
		submitted, err := s.SubmitCampaign(anna, submission(9))
		require.NoError(t, err)
		id = submitted.GetCampaignId()
		for _, err := range change(ctx) {
			require.NoError(t, err)
		}
	}
	// Of older versions' campaigns nobody knows whose they are.
	require.NoError(t, st.Update(t.Context(), func(tx store.Tx) error {
		c, err := scoped.In(tx, "p").Campaign(id)
		require.NoError(t, err)
		c.Owner = ""
		return scoped.In(tx, "p").PutCampaign(c)
	}))
	for _, err := range change(as("", "p", hunter)) {
		assert.Equal(t, codes.PermissionDenied, status.Code(err), err)
	}
}
