package web_test

import (
	"context"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/cenkalti/backoff/v5"
	"github.com/stretchr/testify/require"

	"misstep/app/station"
	"misstep/app/web"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner"
	"misstep/runner/sim"
)

// scene is a coordinator in a folder with a campaign that a simulated machine has run, and a site on it.
type scene struct {
	t        *testing.T
	st       *station.Station
	site     *httptest.Server
	client   *http.Client
	campaign string
}

// options change the options of a scene's site.
type options func(*web.Options)

func newScene(t *testing.T, change ...options) *scene {
	t.Helper()
	return newSceneAt(t, station.Place{Dir: t.TempDir()}, change...)
}

func newSceneAt(t *testing.T, place station.Place, change ...options) *scene {
	t.Helper()
	st, err := station.EmbedAt(place, station.HuntTiming(slog.New(slog.DiscardHandler)))
	require.NoError(t, err)
	t.Cleanup(st.Close)
	s := &scene{t: t, st: st}
	o := web.Options{Conn: st.Conn, Blobs: st.Blobs, Place: "--dir hunt-sim"}
	for _, c := range change {
		c(&o)
	}
	s.site = httptest.NewServer(web.New(o))
	t.Cleanup(s.site.Close)
	s.client = s.site.Client()
	return s
}

// submit submits a campaign of two JDKs.
func (s *scene) submit(trials uint64) {
	s.t.Helper()
	digest := "sha256:" + strings.Repeat("b", 64)
	submitted, err := s.st.SubmitCampaign(s.t.Context(), &misstepv1.SubmitCampaignRequest{
		Campaign: &misstepv1.Campaign{
			Name: "sim", Seed: 3, Jdks: []string{"jdk17", "jdk9"},
			Workloads: []*misstepv1.CampaignWorkload{{Name: "w", Repetitions: 1}},
			Checks:    []*misstepv1.Check{{Name: "gst-asgct"}}, Budget: &misstepv1.Budget{Trials: trials},
			FlagSets: []*misstepv1.FlagSet{{Name: "plain"}, {Name: "comp", Flags: []string{"-Xcomp"}}},
		},
		Jdks: []*misstepv1.Jdk{
			{Name: "jdk17", Digest: digest, Version: "17.0.15"},
			{Name: "jdk9", Digest: "sha256:" + strings.Repeat("c", 64), Version: "9.0.4"},
		},
		Workloads: []*misstepv1.Workload{{Name: "w", Digest: digest}},
	})
	require.NoError(s.t, err)
	s.campaign = submitted.GetCampaignId()
}

// run submits a campaign and runs it to its end on a simulated machine.
func (s *scene) run(trials uint64, events ...sim.Event) {
	s.t.Helper()
	s.submit(trials)
	machine, err := sim.New(sim.Script{Seed: 7, Events: events}, runner.SystemClock{})
	require.NoError(s.t, err)
	r, err := runner.New(runner.Config{
		Client: s.st.Leases, Slots: 4, Executor: machine, Host: "sim",
		Backoff: func() backoff.BackOff { return backoff.NewConstantBackOff(20 * time.Millisecond) },
	})
	require.NoError(s.t, err)
	ctx, stop := context.WithCancel(s.t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	require.NoError(s.t, station.WatchCampaign(s.t.Context(), s.st, s.campaign, func(*misstepv1.CampaignStatus) {}))
	stop()
	require.ErrorIs(s.t, <-done, context.Canceled)
}

// bug is an outcome whose suspect lacks the callers of a method; each name is a finding of its own.
func bug(name string) func(*misstepv1.Recipe, *rand.Rand) *misstepv1.Outcome {
	return func(*misstepv1.Recipe, *rand.Rand) *misstepv1.Outcome {
		frame := func(class, method string) *misstepv1.Frame {
			return &misstepv1.Frame{ClassName: class, Method: method, Descriptor_: "()V", Bci: 3}
		}
		top := frame("sim."+name, "callee")
		reference := []*misstepv1.Frame{top, frame("sim."+name, "caller"), frame("sim.Main", "main")}
		return &misstepv1.Outcome{
			Kind: misstepv1.OutcomeKind_OUTCOME_KIND_MISMATCHES, Mismatches: []*misstepv1.Mismatch{{
				Check: "gst-asgct", Kind: "truncated", Divergence: 1, Thread: "main", Count: 1,
				Reference: &misstepv1.Trace{Source: "gst", Frames: reference, NumFrames: 3},
				Suspect:   &misstepv1.Trace{Source: "asgct", Frames: []*misstepv1.Frame{top}, NumFrames: 1},
			}},
		}
	}
}

// evil is what a hostile program may call its threads, classes and methods.
const evil = `<script>alert(1)</script><img src=x onerror=alert(1)>"'=cmd|calc`

// hostile is an outcome with a mismatch in which everything that a program names has such a name.
func hostile(r *misstepv1.Recipe, random *rand.Rand) *misstepv1.Outcome {
	o := bug("Evil")(r, random)
	m := o.GetMismatches()[0]
	m.Thread = evil
	for _, f := range append(m.GetReference().GetFrames(), m.GetSuspect().GetFrames()...) {
		f.ClassName, f.Method = evil, `javascript:alert(1)`
	}
	return o
}

// usual are events that give a mismatch on both JDKs, more often with -Xcomp, one on 17 only, a crash and some voids.
func usual() []sim.Event {
	on := func(jdk string) func(*misstepv1.Recipe) bool {
		return func(r *misstepv1.Recipe) bool { return r.GetJdk().GetName() == jdk }
	}
	comp := func(r *misstepv1.Recipe) bool { return len(r.GetJvmFlags()) > 0 }
	return []sim.Event{
		{Rate: 0.2, Outcome: bug("Both")},
		{Rate: 0.2, Outcome: bug("Both"), Applies: comp},
		{Rate: 0.1, Outcome: bug("Only17"), Applies: on("jdk17")},
		{Rate: 0.05, Outcome: sim.Crash("frame::sender")},
		{Rate: 0.1, Outcome: sim.Of(misstepv1.OutcomeKind_OUTCOME_KIND_VOID, "check gst-asgct did nothing")},
	}
}

// answer is what the site sent.
type answer struct {
	code   int
	header http.Header
	text   string
}

func (s *scene) get(path string) answer {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.site.URL+path, nil)
	require.NoError(s.t, err)
	return s.do(request)
}

func (s *scene) do(request *http.Request) answer {
	s.t.Helper()
	response, err := s.client.Do(request)
	require.NoError(s.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(s.t, err)
	return answer{response.StatusCode, response.Header, string(text)}
}

// page gets a page that must be there.
func (s *scene) page(path string) *goquery.Document {
	s.t.Helper()
	a := s.get(path)
	require.Equal(s.t, http.StatusOK, a.code, a.text)
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(a.text))
	require.NoError(s.t, err)
	return doc
}

// words is the text of what a selector selects, with single spaces.
func words(doc *goquery.Document, selector string) string {
	return strings.Join(strings.Fields(doc.Find(selector).Text()), " ")
}
