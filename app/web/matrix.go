package web

import (
	"net/http"
	"slices"
	"strings"

	"misstep/known"
	misstepv1 "misstep/proto/misstep/v1"
)

// matrix shows which bug which JDK has.
type matrix struct {
	JDKs []string
	Rows []matrixRow
	// Next is the query of the next part of the list.
	Next, First string
	Total       uint64
}

// matrixRow is a bug on every JDK.
type matrixRow struct {
	*misstepv1.Bug
	Cells []cell
	// FirstAffected is the oldest JDK that showed it, by name.
	FirstAffected string
	// Affects and FixedIn are what the catalogue of known bugs says, empty for a new bug.
	Affects, FixedIn string
	Link             string
}

// cell is a bug on a JDK.
type cell struct {
	JDK string
	// Rate is nil when no trial could have shown the bug there.
	Rate *misstepv1.FindingRate
	// State: "shown", "not shown" or "not tried".
	State string
	// Shade from 0 to 5 for its colour, by the order of magnitude of the rate.
	Shade int
}

// matrixJSON is a row in JSON.
type matrixJSON struct {
	Bug           string              `json:"bug"`
	Title         string              `json:"title"`
	Status        string              `json:"status"`
	FirstAffected string              `json:"first_affected"`
	Affects       string              `json:"affects,omitempty"`
	FixedIn       string              `json:"fixed_in,omitempty"`
	ByJDK         map[string]cellJSON `json:"by_jdk"`
}

type cellJSON struct {
	State  string  `json:"state"`
	Hits   uint64  `json:"hits"`
	Trials uint64  `json:"trials"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

func (s *Site) matrix(r *http.Request) (*page, error) {
	q := r.URL.Query()
	request, err := selection(q)
	if err != nil {
		return nil, err
	}
	found, err := s.admin.ListBugs(r.Context(), listBugs(request))
	if err != nil {
		return nil, err
	}
	catalogue, _, err := s.catalogue(r)
	if err != nil {
		return nil, err
	}
	m := matrixOf(found.GetBugs(), catalogue)
	m.Total = found.GetTotal()
	if found.GetNextPageToken() != "" {
		m.Next = with(q, "page", found.GetNextPageToken())
	}
	if request.GetPageToken() != "" {
		m.First = with(q, "page", "")
	}
	return &page{template: "matrix", title: "Bug × JDK", data: m, json: m.json(), csv: m.csv(), live: true}, nil
}

// catalogue returns the known bugs, the project's own before the built-in ones, and its own.
func (s *Site) catalogue(r *http.Request) (known.Catalogue, []*misstepv1.KnownBug, error) {
	own, err := s.admin.ListKnownBugs(r.Context(), &misstepv1.ListKnownBugsRequest{})
	if err != nil {
		return known.Catalogue{}, nil, err
	}
	c, err := known.Own(own.GetBugs())
	if err != nil {
		return known.Catalogue{}, nil, err
	}
	return known.Default().With(c), own.GetBugs(), nil
}

func matrixOf(bugs []*misstepv1.Bug, catalogue known.Catalogue) matrix {
	var m matrix
	for _, b := range bugs {
		for _, rate := range b.GetRates() {
			if !slices.Contains(m.JDKs, rate.GetJdk()) {
				m.JDKs = append(m.JDKs, rate.GetJdk())
			}
		}
	}
	slices.SortFunc(m.JDKs, natural)
	for _, b := range bugs {
		row := matrixRow{Bug: b}
		for _, jdk := range m.JDKs {
			i := slices.IndexFunc(b.GetRates(), func(r *misstepv1.FindingRate) bool { return r.GetJdk() == jdk })
			if i < 0 {
				row.Cells = append(row.Cells, cell{JDK: jdk, State: "not tried"})
				continue
			}
			row.Cells = append(row.Cells, cellOf(b.GetRates()[i]))
		}
		if len(b.GetJdks()) > 0 { // oldest version first
			row.FirstAffected = b.GetJdks()[0]
		}
		if bug, ok := catalogue.Bug(b.GetId()); ok {
			row.Affects, row.FixedIn = strings.Join(bug.Versions, ", "), strings.Join(bug.FixedIn, ", ")
			row.Link = linkOf(bug)
		}
		m.Rows = append(m.Rows, row)
	}
	return m
}

// linkOf is where a known bug is described: the entry's own link, or else the JDK Bug System.
func linkOf(b known.Bug) string {
	if b.Link == "" && strings.HasPrefix(b.ID, "JDK-") {
		return "https://bugs.openjdk.org/browse/" + b.ID
	}
	return b.Link
}

func cellOf(rate *misstepv1.FindingRate) cell {
	c := cell{JDK: rate.GetJdk(), Rate: rate, State: "not shown"}
	if rate.GetTrials() == 0 {
		c.State = "not tried"
	}
	if rate.GetHits() > 0 {
		c.State = "shown"
		for _, least := range []float64{0, 0.001, 0.01, 0.1, 0.5} {
			if float64(rate.GetHits()) > least*float64(rate.GetTrials()) {
				c.Shade++
			}
		}
	}
	return c
}

func (m matrix) json() any {
	list := []matrixJSON{}
	for _, row := range m.Rows {
		j := matrixJSON{
			Bug: row.GetId(), Title: row.GetTitle(), Status: row.GetStatus(), FirstAffected: row.FirstAffected,
			Affects: row.Affects, FixedIn: row.FixedIn, ByJDK: map[string]cellJSON{},
		}
		for _, c := range row.Cells {
			j.ByJDK[c.JDK] = cellJSON{c.State, c.Rate.GetHits(), c.Rate.GetTrials(), c.Rate.GetLow(), c.Rate.GetHigh()}
		}
		list = append(list, j)
	}
	return list
}

func (m matrix) csv() [][]string {
	rows := [][]string{{"bug", "title", "status", "JDK", "state", "hits", "trials", "low", "high", "affects", "fixed in"}}
	for _, row := range m.Rows {
		for _, c := range row.Cells {
			rows = append(rows, []string{
				row.GetId(), row.GetTitle(), row.GetStatus(), c.JDK, c.State, number(c.Rate.GetHits()), number(c.Rate.GetTrials()),
				decimal(c.Rate.GetLow()), decimal(c.Rate.GetHigh()), row.Affects, row.FixedIn,
			})
		}
	}
	return rows
}
