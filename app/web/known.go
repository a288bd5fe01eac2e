package web

import (
	"net/http"
	"slices"
	"strings"

	"misstep/known"
	misstepv1 "misstep/proto/misstep/v1"
)

// knownRow is a known bug with what is seen of it.
type knownRow struct {
	known.Bug
	Affects, Fixed, Tracker string
	// Own reports that it is an entry of the project and not of the built-in catalogue.
	Own bool
	// Seen is nil when nothing was seen of it.
	Seen *misstepv1.Bug
	// On are the JDKs that were tried, oldest first by name, with the rate there.
	On []cell
}

// maxKnown bounds the known bugs that are asked for.
const maxKnown = 1000

func (s *Site) known(r *http.Request) (*page, error) {
	catalogue, own, err := s.catalogue(r)
	if err != nil {
		return nil, err
	}
	seen, err := s.admin.ListBugs(r.Context(), listBugs(&misstepv1.ListFindingsRequest{Status: "known", PageSize: maxKnown}))
	if err != nil {
		return nil, err
	}
	var rows []knownRow
	entries := []raw{}
	table := [][]string{{"bug", "affects", "fixed in", "seen on", "hits", "title"}}
	for _, b := range catalogue.Bugs() {
		row := knownRow{
			Bug: b, Affects: strings.Join(b.Versions, ", "), Fixed: strings.Join(b.FixedIn, ", "), Tracker: linkOf(b),
			Own: slices.ContainsFunc(own, func(o *misstepv1.KnownBug) bool { return o.GetId() == b.ID }),
		}
		for _, one := range seen.GetBugs() {
			// Where JDKs have different bugs that look alike, a finding is known as all of them.
			if slices.Contains(strings.Split(one.GetId(), ", "), b.ID) {
				row.Seen = one
			}
		}
		for _, rate := range row.Seen.GetRates() {
			row.On = append(row.On, cellOf(rate))
		}
		slices.SortFunc(row.On, func(a, b cell) int { return natural(a.JDK, b.JDK) })
		rows = append(rows, row)
		entries = append(entries, raw{b.Proto()})
		table = append(table, []string{
			b.ID, row.Affects, row.Fixed, strings.Join(row.Seen.GetJdks(), " "), number(row.Seen.GetHits()), b.Title,
		})
	}
	return &page{template: "known", title: "Known bugs", data: rows, json: entries, csv: table, live: true}, nil
}
