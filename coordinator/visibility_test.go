package coordinator_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"misstep/coordinator"
	"misstep/coordinator/access"
	"misstep/coordinator/notify"
	"misstep/coordinator/projects"
	"misstep/coordinator/store/memory"
	misstepv1 "misstep/proto/misstep/v1"
)

const (
	plain     = misstepv1.Visibility_VISIBILITY_UNSPECIFIED
	shared    = misstepv1.Visibility_VISIBILITY_SHARED
	embargoed = misstepv1.Visibility_VISIBILITY_EMBARGOED
	private   = misstepv1.Visibility_VISIBILITY_PRIVATE
)

// by returns the context of a call that somebody makes in a project, with a role in a project, or in every one.
func by(t *testing.T, name, in string, role misstepv1.Role, project string) context.Context {
	return access.With(access.InProject(t.Context(), in), &access.Caller{
		Name: name, Kind: access.Person, Grants: []access.Grant{{Project: project, Role: role}},
	})
}

// decide sets the visibility of a finding of the project p as a triager.
func decideVisibility(t *testing.T, l *lab, finding string, v misstepv1.Visibility, people ...string) {
	t.Helper()
	req := &misstepv1.SetVisibilityRequest{FindingId: finding, Visibility: v, People: people}
	if v == embargoed {
		req.Until = timestamppb.New(l.now.Add(time.Hour))
	}
	_, err := l.server.SetVisibility(by(t, "tim", "p", misstepv1.Role_ROLE_TRIAGER, "p"), req)
	require.NoError(t, err)
}

// naming are the calls that take what names a finding, or what belongs to one, as %s.
func naming(ctx context.Context, s *coordinator.Server, n neighbours) map[string]func() string {
	clean := &misstepv1.Reliability{Hits: 1, Tries: 1}
	return map[string]func() string{
		"GetFinding":        func() string { return ask(ctx, s.GetFinding, &misstepv1.GetFindingRequest{FindingId: n.finding}) },
		"GetFinding prefix": func() string { return ask(ctx, s.GetFinding, &misstepv1.GetFindingRequest{FindingId: n.finding[:6]}) },
		"StartReproduction": func() string {
			return ask(ctx, s.StartReproduction, &misstepv1.StartReproductionRequest{FindingId: n.finding})
		},
		"ListReproductions": func() string {
			return ask(ctx, s.ListReproductions, &misstepv1.ListReproductionsRequest{FindingId: n.finding})
		},
		"ListRetests": func() string { return ask(ctx, s.ListRetests, &misstepv1.ListRetestsRequest{FindingId: n.finding}) },
		"GetReproduction": func() string {
			return ask(ctx, s.GetReproduction, &misstepv1.GetReproductionRequest{ReproductionId: n.reproduction})
		},
		"CancelReproduction": func() string {
			return ask(ctx, s.CancelReproduction, &misstepv1.CancelReproductionRequest{ReproductionId: n.reproduction})
		},
		"RecordClean": func() string {
			return ask(ctx, s.RecordClean, &misstepv1.RecordCleanRequest{ReproductionId: n.reproduction, Clean: clean})
		},
		"GetCampaign of probes": func() string {
			return ask(ctx, s.GetCampaign, &misstepv1.GetCampaignRequest{CampaignId: n.reproduction})
		},
		"ListTrials of probes": func() string {
			return ask(ctx, s.ListTrials, &misstepv1.ListTrialsRequest{CampaignId: n.reproduction})
		},
		"ListFindings of probes": func() string {
			return ask(ctx, s.ListFindings, &misstepv1.ListFindingsRequest{CampaignId: n.reproduction})
		},
		"StopCampaign of probes": func() string {
			return ask(ctx, s.StopCampaign, &misstepv1.StopCampaignRequest{CampaignId: n.reproduction})
		},
		"SetBudget of probes": func() string {
			return ask(ctx, s.SetBudget, &misstepv1.SetBudgetRequest{CampaignId: n.reproduction, Trials: 3})
		},
	}
}

// listing are the calls whose answers name a finding without being asked for it.
func listing(ctx context.Context, s *coordinator.Server, n neighbours) map[string]string {
	return map[string]string{
		"ListFindings":      ask(ctx, s.ListFindings, &misstepv1.ListFindingsRequest{}),
		"ListFindings of":   ask(ctx, s.ListFindings, &misstepv1.ListFindingsRequest{CampaignId: n.campaign}),
		"ListBugs":          ask(ctx, s.ListBugs, &misstepv1.ListBugsRequest{Findings: &misstepv1.ListFindingsRequest{}}),
		"GetFinding":        ask(ctx, s.GetFinding, &misstepv1.GetFindingRequest{FindingId: n.other}),
		"ListDecisions":     ask(ctx, s.ListDecisions, &misstepv1.ListDecisionsRequest{}),
		"ListReproductions": ask(ctx, s.ListReproductions, &misstepv1.ListReproductionsRequest{}),
		"ListRetests":       ask(ctx, s.ListRetests, &misstepv1.ListRetestsRequest{}),
		"ListCampaigns":     ask(ctx, s.ListCampaigns, &misstepv1.ListCampaignsRequest{}),
		"GetCampaign":       ask(ctx, s.GetCampaign, &misstepv1.GetCampaignRequest{CampaignId: n.campaign}),
		"ListTrials":        ask(ctx, s.ListTrials, &misstepv1.ListTrialsRequest{CampaignId: n.campaign}),
		"ListSchedules":     ask(ctx, s.ListSchedules, &misstepv1.ListSchedulesRequest{}),
		"ListRunners":       ask(ctx, s.ListRunners, &misstepv1.ListRunnersRequest{}),
		"ListKnownBugs":     ask(ctx, s.ListKnownBugs, &misstepv1.ListKnownBugsRequest{}),
		"ListCatalogueEntries": ask(ctx, s.ListCatalogueEntries,
			&misstepv1.ListCatalogueEntriesRequest{}),
	}
}

// unconcerned are the calls in a project that are in neither table: with the reason why they show nobody a finding.
var unconcerned = map[string]string{
	"SubmitCampaign": "answers with a new id", "CheckCampaign": "is about names of the catalogue",
	"SetVisibility": "triagers see all", "MergeFindings": "triagers see all", "SplitFinding": "triagers see all",
	"NoteFinding":  "triagers see all",
	"UndoDecision": "triagers see all", "ListQuotas": "names no finding",
	"PutKnownBugs": "names no finding", "RemoveKnownBug": "names no finding",
	"AddCatalogueEntry": "answers with ids of campaigns", "RemoveCatalogueEntry": "names no finding",
	"CreateSchedule": "names no finding", "PauseSchedule": "names no finding", "RemoveSchedule": "names no finding",
}

// Whoever adds a call in a project says here whether it may show a finding.
func TestEachCallIsDecidedAbout(t *testing.T) {
	l := newLab(t, memory.New(), bug(0.7))
	n := settle(t, l, "p", 6)
	calls := slices.Concat(slices.Collect(maps.Keys(naming(l.ctx(t), l.server, n))),
		slices.Collect(maps.Keys(listing(l.ctx(t), l.server, n))), slices.Collect(maps.Keys(unconcerned)))
	for i, call := range calls {
		calls[i], _, _ = strings.Cut(call, " ")
	}
	for _, s := range access.Services() {
		for i := range s.Methods().Len() {
			m := s.Methods().Get(i)
			if about := access.Describe(m); about.ByProject && !strings.Contains(string(m.FullName()), "CorpusService") {
				assert.Contains(t, calls, string(m.Name()))
			}
		}
	}
}

// Each call that names a finding, by each role, with each visibility.
func TestEachVisibilityByEachRole(t *testing.T) {
	for _, v := range []misstepv1.Visibility{plain, shared, embargoed, private} {
		for _, reader := range []struct {
			name string
			role misstepv1.Role
			sees bool
		}{
			{"vera", misstepv1.Role_ROLE_VIEWER, v == plain || v == shared},
			{"hans", misstepv1.Role_ROLE_HUNTER, v == plain || v == shared},
			{"tina", misstepv1.Role_ROLE_TRIAGER, true},
			{"adam", misstepv1.Role_ROLE_ADMIN, true},
			{"nora", misstepv1.Role_ROLE_VIEWER, true}, // named
			{"nora for anyone", misstepv1.Role_ROLE_VIEWER, v == plain || v == shared},
		} {
			t.Run(fmt.Sprintf("%s by a %s called %s", v, access.RoleName(reader.role), reader.name), func(t *testing.T) {
				l := newLab(t, memory.New(), bug(0.7))
				n := settle(t, l, "p", 9)
				var people []string
				if v == embargoed || v == private {
					people = []string{"nora", "norbert"}
				}
				decideVisibility(t, l, n.finding, v, people...)
				name, forAnyone := strings.CutSuffix(reader.name, " for anyone")
				ctx := by(t, name, "p", reader.role, "p")
				if forAnyone {
					ctx = access.Unnamed(ctx)
				}
				nobodys := n
				nobodys.finding = "F" + strings.Repeat("_", len(n.finding)-1)
				nobodys.reproduction = "R" + strings.Repeat("_", len(n.reproduction)-1)
				admin := naming(by(t, "adam", "p", misstepv1.Role_ROLE_ADMIN, "p"), l.server, n)
				unknown := naming(ctx, l.server, nobodys)
				admin["StartReproduction"]() // the one that exists from here on
				for name, call := range naming(ctx, l.server, n) {
					if !reader.sees {
						got := strings.NewReplacer(n.finding, nobodys.finding, n.finding[:6], nobodys.finding[:6],
							n.reproduction, nobodys.reproduction).Replace(call())
						assert.Equal(t, unknown[name](), got, "%s: as for an id that nothing has", name)
						assert.True(t, strings.HasPrefix(got, "NotFound"), "%s: %s", name, got)
						continue
					}
					if strings.HasSuffix(name, "of probes") && reader.role != misstepv1.Role_ROLE_ADMIN {
						continue // belongs to somebody else
					}
					assert.Equal(t, admin[name](), call(), name)
				}
				all := listing(by(t, "adam", "p", misstepv1.Role_ROLE_ADMIN, "p"), l.server, n)
				for name, answer := range listing(ctx, l.server, n) {
					if reader.sees {
						assert.Equal(t, all[name], answer, name)
						continue
					}
					for _, secret := range []string{n.finding, n.reproduction, "p-reason", "p-split", "p-verdict"} {
						assert.NotContains(t, answer, secret, name)
					}
				}
				if !reader.sees {
					for _, name := range []string{"ListFindings", "ListBugs"} {
						assert.NotEqual(t, all[name], listing(ctx, l.server, n)[name])
						assert.Contains(t, listing(ctx, l.server, n)[name], `"total":"1"`, "the other one is still there")
					}
				}
			})
		}
	}
}

// From another project a finding is seen when it is shared, or by whom it names; and nothing else of its project.
func TestOtherProjectsSeeWhatIsShared(t *testing.T) {
	for _, v := range []misstepv1.Visibility{plain, shared, embargoed, private} {
		t.Run(v.String(), func(t *testing.T) {
			l := newLab(t, memory.New(), bug(0.7))
			n := settle(t, l, "p", 9)
			if v == embargoed || v == private {
				decideVisibility(t, l, n.finding, v, "nora")
			} else {
				decideVisibility(t, l, n.finding, v)
			}
			for _, reader := range []struct {
				name string
				role misstepv1.Role
				sees bool
			}{
				{"vera", misstepv1.Role_ROLE_VIEWER, v == shared},
				{"hans", misstepv1.Role_ROLE_HUNTER, v == shared},
				{"tina", misstepv1.Role_ROLE_TRIAGER, v == shared},
				{"adam", misstepv1.Role_ROLE_ADMIN, v == shared},
				{"nora", misstepv1.Role_ROLE_VIEWER, v != plain},
			} {
				ctx := by(t, reader.name, "q", reader.role, "q")
				get := func(id string) string {
					return ask(ctx, l.server.GetFinding, &misstepv1.GetFindingRequest{FindingId: id, Project: "p"})
				}
				list := ask(ctx, l.server.ListFindings, &misstepv1.ListFindingsRequest{Shared: true})
				own := ask(ctx, l.server.ListFindings, &misstepv1.ListFindingsRequest{})
				assert.NotContains(t, own, n.finding)
				nobodys := "F" + strings.Repeat("_", len(n.finding)-1)
				if reader.sees {
					assert.Contains(t, get(n.finding), `"project":"p"`)
					assert.Contains(t, list, n.finding)
					assert.Contains(t, list, `"total":"1"`)
				} else {
					assert.Equal(t, get(nobodys), strings.ReplaceAll(get(n.finding), n.finding, nobodys))
					assert.Equal(t, get(nobodys[:6]), strings.ReplaceAll(get(n.finding[:6]), n.finding[:6], nobodys[:6]))
					assert.Equal(t, "{}", list)
				}
				for _, secret := range []string{n.other, n.campaign, n.reproduction, n.bug, "p-", "nora"} {
					assert.NotContains(t, get(n.finding), secret, reader.name)
					assert.NotContains(t, list, secret, reader.name)
				}
				assert.Equal(t, get(nobodys), strings.ReplaceAll(get(n.other), n.other, nobodys), "it is not shared")
			}
		})
	}
}

// A tally does not tell what hidden trials showed, and the store's own is whole: it is written by who sees less, too.
func TestTalliesDoNotTell(t *testing.T) {
	l := newLab(t, memory.New(), bug(0.7))
	n := settle(t, l, "p", 9)
	get := func(name string, role misstepv1.Role) *misstepv1.CampaignStatus {
		resp, err := l.server.GetCampaign(by(t, name, "p", role, "p"), &misstepv1.GetCampaignRequest{CampaignId: n.campaign})
		require.NoError(t, err)
		return resp.GetCampaign()
	}
	before := get("vera", misstepv1.Role_ROLE_VIEWER)
	require.NotEmpty(t, before.GetChecks())
	require.NotZero(t, before.GetOutcomes()["mismatches"])
	decideVisibility(t, l, n.finding, private)
	hidden := get("vera", misstepv1.Role_ROLE_VIEWER)
	assert.Equal(t, []string{n.other}, hidden.GetFindingIds())
	assert.Empty(t, hidden.GetChecks())
	assert.NotEmpty(t, before.GetCompared())
	assert.Empty(t, hidden.GetCompared(), "by JDK and walker neither")
	assert.Equal(t, before.GetOutcomes()["mismatches"], hidden.GetOutcomes()["hidden"])
	assert.NotContains(t, hidden.GetOutcomes(), "mismatches")
	_, err := l.server.SetBudget(by(t, access.LocalName, "p", misstepv1.Role_ROLE_HUNTER, "p"),
		&misstepv1.SetBudgetRequest{CampaignId: n.campaign, Trials: 100})
	if status.Code(err) != codes.FailedPrecondition { // it has ended
		require.NoError(t, err)
	}
	assert.Equal(t, before.GetFindingIds(), get("tina", misstepv1.Role_ROLE_TRIAGER).GetFindingIds())
	decideVisibility(t, l, n.finding, plain)
	assert.Equal(t, before.String(), get("vera", misstepv1.Role_ROLE_VIEWER).String())
}

// Nothing is stored when an embargo ends, on a store that cannot be written to either.
func TestAnEmbargoEndsWithoutAWrite(t *testing.T) {
	l := newLab(t, memory.New(), bug(0.7))
	n := settle(t, l, "p", 9)
	decideVisibility(t, l, n.finding, embargoed)
	s := coordinator.New(coordinator.Config{Store: readable{l.store}, Clock: func() time.Time { return l.now }})
	ctx := by(t, "vera", "p", misstepv1.Role_ROLE_VIEWER, "p")
	l.now = l.now.Add(time.Hour - 1)
	assert.Contains(t, ask(ctx, s.GetFinding, &misstepv1.GetFindingRequest{FindingId: n.finding}), "NotFound")
	l.now = l.now.Add(1)
	got := ask(ctx, s.GetFinding, &misstepv1.GetFindingRequest{FindingId: n.finding})
	assert.Contains(t, got, n.finding)
	assert.NotContains(t, got, "visibility")
}

// Neither splitting nor undoing a merge shows what was hidden.
func TestDecisionsShowNothingThatWasHidden(t *testing.T) {
	for _, how := range []string{"split", "undo"} {
		t.Run(how, func(t *testing.T) {
			l := newLab(t, memory.New(), bug(0.7))
			n := settle(t, l, "p", 9)
			tim, vera := by(t, "tim", "p", misstepv1.Role_ROLE_TRIAGER, "p"), by(t, "vera", "p", misstepv1.Role_ROLE_VIEWER, "p")
			seen := func(id string) bool {
				return strings.HasPrefix(ask(vera, l.server.GetFinding, &misstepv1.GetFindingRequest{FindingId: id}), "{")
			}
			_, err := l.server.MergeFindings(tim, &misstepv1.MergeFindingsRequest{FindingId: n.other, IntoId: n.finding})
			require.NoError(t, err)
			decideVisibility(t, l, n.other, private) // an alias names the whole
			assert.False(t, seen(n.finding))
			assert.False(t, seen(n.other))
			if how == "split" {
				_, err = l.server.SplitFinding(tim, &misstepv1.SplitFindingRequest{FindingId: n.other})
			} else {
				_, err = l.server.UndoDecision(tim, &misstepv1.UndoDecisionRequest{})
			}
			require.NoError(t, err)
			assert.False(t, seen(n.finding))
			assert.False(t, seen(n.other))
			decideVisibility(t, l, n.other, plain)
			assert.False(t, seen(n.finding))
			assert.True(t, seen(n.other), "by itself again")
		})
	}
}

// A campaign may hide what it is the first to show, before anybody sees it.
func TestACampaignWithPrivateFindings(t *testing.T) {
	for _, hides := range []bool{false, true} {
		l := newLab(t, memory.New(), func(*misstepv1.Recipe) float64 { return 1 })
		l.project = "p"
		request := submission(3)
		request.Campaign.PrivateFindings = hides
		submitted, err := l.server.SubmitCampaign(by(t, "hans", "p", misstepv1.Role_ROLE_HUNTER, "p"), request)
		require.NoError(t, err)
		l.work(4, 10)
		vera, tina := by(t, "vera", "p", misstepv1.Role_ROLE_VIEWER, "p"), by(t, "tina", "p", misstepv1.Role_ROLE_TRIAGER, "p")
		seen, err := l.server.ListFindings(vera, &misstepv1.ListFindingsRequest{})
		require.NoError(t, err)
		all, err := l.server.ListFindings(tina, &misstepv1.ListFindingsRequest{})
		require.NoError(t, err)
		require.Len(t, all.GetFindings(), 1)
		if !hides {
			assert.Len(t, seen.GetFindings(), 1)
			assert.Nil(t, all.GetFindings()[0].GetVisibility())
			continue
		}
		assert.Empty(t, seen.GetFindings())
		v := all.GetFindings()[0].GetVisibility()
		assert.Equal(t, private, v.GetVisibility())
		assert.Equal(t, "hans", v.GetSetBy())
		assert.Equal(t, "private_findings of campaign "+submitted.GetCampaignId(), v.GetReason())
	}
}

// told keeps what is sent.
type told struct {
	events   []*misstepv1.Event
	projects []string
}

func (s *told) Send(_ context.Context, n *misstepv1.Notification) error {
	s.events, s.projects = append(s.events, n.GetEvents()...), append(s.projects, n.GetProject())
	return nil
}

// Hidden findings are not reported; once its embargo is over, it is a new one.
func TestHiddenFindingsAreNotNotified(t *testing.T) {
	l := newLab(t, memory.New(), bug(0.7))
	to := &told{}
	s := coordinator.New(coordinator.Config{
		Store: l.store, Clock: func() time.Time { return l.now }, Notify: []notify.Target{{Name: "all", Sender: to, Known: true}},
	})
	require.NoError(t, s.Baseline(t.Context()))
	n := settle(t, l, projects.Default, 9)
	_, err := l.server.SetVisibility(t.Context(), &misstepv1.SetVisibilityRequest{
		FindingId: n.finding, Visibility: embargoed, Until: timestamppb.New(l.now.Add(time.Hour)),
	})
	require.NoError(t, err)
	round := func() string {
		to.events = nil
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		s.Run(ctx) // one round without a wait
		return fmt.Sprint(to.events)
	}
	first := round()
	assert.Contains(t, first, n.other)
	assert.NotContains(t, first, n.finding)
	assert.NotContains(t, first, n.reproduction)
	l.now = l.now.Add(2 * time.Hour)
	assert.Contains(t, round(), n.finding)
}

// Each target gets what happens in its own project, and in no other.
func TestTargetsAreOfAProject(t *testing.T) {
	l := newLab(t, memory.New(), bug(0.7))
	of := map[string]*told{"default": {}, "p": {}, "q": {}}
	var targets []notify.Target
	for project, to := range of {
		target := notify.Target{Name: "of " + project, Project: project, Sender: to, Known: true}
		if project == projects.Default {
			target.Project = ""
		}
		targets = append(targets, target)
	}
	s := coordinator.New(coordinator.Config{Store: l.store, Clock: func() time.Time { return l.now }, Notify: targets})
	require.NoError(t, s.Baseline(t.Context()))
	ps, defaults := settle(t, l, "p", 9), settle(t, l, projects.Default, 9)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.Run(ctx) // one round without a wait
	assert.Contains(t, fmt.Sprint(of["p"].events), ps.reproduction)
	assert.NotContains(t, fmt.Sprint(of["p"].events), defaults.reproduction)
	assert.Contains(t, fmt.Sprint(of["default"].events), defaults.reproduction)
	assert.NotContains(t, fmt.Sprint(of["default"].events), ps.reproduction)
	assert.Empty(t, of["q"].events)
	assert.Equal(t, []string{"p"}, slices.Compact(of["p"].projects))
	assert.Equal(t, []string{""}, slices.Compact(of["default"].projects))
}

func TestWhatIsWrongWithAVisibilityIsNamed(t *testing.T) {
	l := newLab(t, memory.New(), bug(0.7))
	n := settle(t, l, "p", 9)
	soon := timestamppb.New(l.now.Add(time.Minute))
	for want, req := range map[string]*misstepv1.SetVisibilityRequest{
		"visibility: unknown value 9":              {Visibility: 9},
		"until: only an embargo has an end":        {Visibility: private, Until: soon},
		"until: expected the end of the embargo":   {Visibility: embargoed},
		"in the future and at most five years":     {Visibility: embargoed, Until: timestamppb.New(l.now)},
		"and at most five years away":              {Visibility: embargoed, Until: timestamppb.New(l.now.AddDate(6, 0, 0))},
		"people: only those who see a private":     {Visibility: shared, People: []string{"anna"}},
		"people: expected at most 100 names":       {Visibility: private, People: make([]string, 101)},
		"people: expected names of 1 to 200 bytes": {Visibility: private, People: []string{""}},
		"reason: expected at most 1024 bytes":      {Visibility: private, Reason: strings.Repeat("x", 1025)},
	} {
		req.FindingId = n.finding
		_, err := l.server.SetVisibility(by(t, "tim", "p", misstepv1.Role_ROLE_TRIAGER, "p"), req)
		assert.Equal(t, codes.InvalidArgument, status.Code(err), want)
		require.ErrorContains(t, err, want)
	}
}
