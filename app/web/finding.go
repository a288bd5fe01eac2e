package web

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"misstep/app/bundles"
	"misstep/app/station"
	"misstep/known"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/signature"
)

// findingPage is what the page of a finding shows.
type findingPage struct {
	*misstepv1.Finding
	Now time.Time
	// SignatureText is what identifies it.
	SignatureText string
	Mismatch      *stacks
	Crash         *misstepv1.Crash
	Hang          *waiting
	// Recipe is the canonical text of the example's.
	Recipe  string
	Factors forest
	Rates   []rateRow
	// Timeline of its rate.
	Timeline timeline
	// Reproductions of the finding, newest first.
	Reproductions []*misstepv1.ReproductionStatus
	Retests       []*misstepv1.Retest
	// Decisions about the finding and what was merged with it, newest first.
	Decisions []*misstepv1.TriageDecision
	// Labels of the project's own catalogue.
	Labels []ownLabel
	// Causes are the known bugs that it is on some JDK.
	Causes []known.Bug
	// Triage reports that the visitor may decide.
	Triage bool
	// Place is how a command reaches the coordinator; Bundles reports that the bundle can be had here.
	Place   string
	Bundles bool
	// Mailed means that the page goes to somebody who cannot reach this site: it leaves out what only matters here.
	Mailed bool
}

// rateRow is a rate with its interval drawn.
type rateRow struct {
	*misstepv1.FindingRate
	Bar bar
}

func (s *Site) finding(r *http.Request) (*page, error) {
	ctx := r.Context()
	response, err := s.admin.GetFinding(ctx, &misstepv1.GetFindingRequest{FindingId: r.PathValue("id")})
	if err != nil {
		return nil, err
	}
	f := findingPage{
		Finding: response.GetFinding(), Now: s.Clock(),
		Place: s.Place, Bundles: s.Bundle != nil,
	}
	f.SignatureText = strings.Join(append([]string{f.GetSignature().GetKind()}, f.GetSignature().GetParts()...), ": ")
	recipe, err := misstepv1.CanonicalRecipe(f.GetExampleRecipe())
	if err != nil {
		return nil, err
	}
	f.Recipe = string(recipe)
	example := bundles.Example(f.Finding)
	if all := example.GetMismatches(); len(all) > 0 {
		f.Mismatch = stacksOf(all[0])
	}
	if f.GetSignature().GetKind() == signature.KindCrash {
		f.Crash = example.GetCrash()
	}
	if f.GetSignature().GetKind() == signature.KindHang {
		f.Hang = waitingOf(example.GetHang())
	}
	f.Labels = ownLabels(f.Finding)
	if f.Causes, err = s.causes(r, f.Finding); err != nil {
		return nil, err
	}
	f.Factors, f.Timeline = forestOf(f.GetFactors()), timelineOf(f.GetHistory())
	var most float64
	for _, rate := range f.GetRates() {
		most = max(most, rate.GetHigh())
	}
	for _, rate := range f.GetRates() {
		f.Rates = append(f.Rates, rateRow{rate, barOf(rate.GetHits(), rate.GetTrials(), rate.GetLow(), rate.GetHigh(), most)})
	}
	done, err := s.admin.ListReproductions(ctx, &misstepv1.ListReproductionsRequest{FindingId: f.GetId()})
	if err != nil {
		return nil, err
	}
	f.Reproductions = done.GetReproductions()
	history, err := s.schedules.ListRetests(ctx, &misstepv1.ListRetestsRequest{FindingId: f.GetId()})
	if err != nil {
		return nil, err
	}
	f.Retests = history.GetRetests()
	decisions, err := s.admin.ListDecisions(ctx, &misstepv1.ListDecisionsRequest{})
	if err != nil {
		return nil, err
	}
	ids := append([]string{f.GetId()}, f.GetAliases()...)
	for _, d := range slices.Backward(decisions.GetDecisions()) {
		if slices.Contains(ids, d.GetFinding()) || slices.Contains(ids, d.GetInto()) {
			f.Decisions = append(f.Decisions, d)
		}
	}
	f.Triage = visitOf(ctx).may(misstepv1.Role_ROLE_TRIAGER)
	return &page{
		template: "finding", title: f.GetId(), data: f, json: f.Finding, csv: csvOfRates(f.GetRates()), live: true,
	}, nil
}

// causes are the entries of the known bugs that a finding is on some JDK.
func (s *Site) causes(r *http.Request, f *misstepv1.Finding) (causes []known.Bug, err error) {
	var ids []string
	for _, on := range f.GetKnownOn() {
		ids = append(ids, on.GetKnownAs())
	}
	if len(ids) == 0 {
		return nil, nil
	}
	catalogue, _, err := s.catalogue(r)
	for _, b := range catalogue.Bugs() {
		if slices.Contains(ids, b.ID) {
			causes = append(causes, b)
		}
	}
	return causes, err
}

func csvOfRates(all []*misstepv1.FindingRate) [][]string {
	rows := [][]string{{"JDK", "workload", "flag set", "hits", "trials", "low", "high"}}
	for _, r := range all {
		rows = append(rows, []string{
			r.GetJdk(), r.GetWorkload(), r.GetFlagSet(), number(r.GetHits()), number(r.GetTrials()), decimal(r.GetLow()),
			decimal(r.GetHigh()),
		})
	}
	return rows
}

// evidence sends one file of a finding's example. It was written by a JVM, so it is sent as a file to keep, or as plain text.
func (s *Site) evidence(w http.ResponseWriter, r *http.Request) {
	leave, err := s.downloads.join(visitOf(r.Context()).caller)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	defer leave()
	response, err := s.admin.GetFinding(r.Context(), &misstepv1.GetFindingRequest{FindingId: r.PathValue("id")})
	if err != nil {
		s.fail(w, r, err)
		return
	}
	name := r.PathValue("name")
	for _, e := range response.GetFinding().GetExample().GetEvidence() {
		if e.GetName() != name {
			continue
		}
		content, err := station.Evidence(r.Context(), s.Blobs, e)
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				err = status.Errorf(codes.NotFound, "the file %s is not kept any more", name)
			}
			s.fail(w, r, err)
			return
		}
		defer content.Close()
		download(w, name)
		_, _ = io.Copy(w, content) // whoever asked may have gone
		return
	}
	s.fail(w, r, status.Errorf(codes.NotFound, "the finding has no file %s: its page lists them", name))
}

// download sets the headers of a file that browsers keep and do not show.
func download(w http.ResponseWriter, name string) {
	w.Header().Set("Content-Type", "application/octet-stream")
	as := mime.FormatMediaType("attachment", map[string]string{"filename": name})
	w.Header().Set("Content-Disposition", cmp.Or(as, "attachment"))
	w.Header().Set("Cache-Control", "private, no-cache")
}

// Command is the one that repeats the finding from its bundle.
func (f findingPage) Command() string {
	return fmt.Sprintf("misstep replay %s.zip --tries 10", f.GetId())
}

// Commands are the ones that go on from here.
func (f findingPage) Commands() string {
	lines := []string{
		fmt.Sprintf("misstep findings bundle %s %s -o %s.zip", f.GetId(), f.Place, f.GetId()),
		f.Command(),
		fmt.Sprintf("misstep reproduce %s %s", f.GetId(), f.Place),
	}
	return strings.Join(lines, "\n")
}
