package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	misstepv1 "misstep/proto/misstep/v1"
)

// whatWidth is the width below which a title says too little.
const whatWidth = 30

// renderBugs prints one line for each bug. bundles are paths by finding id; the column of the key sort is never left out.
func renderBugs(w io.Writer, bugs []*misstepv1.Bug, bundles map[string]string, sort string) {
	var rows [][]string
	for _, b := range bugs {
		rows = append(rows, []string{
			b.GetId(), strings.Join(append([]string{b.GetStatus()}, b.GetStates()...), " "),
			strconv.Itoa(len(b.GetFindingIds())), strconv.FormatUint(b.GetHits(), 10),
			percent(uint64(b.GetRate().GetHits()), uint64(b.GetRate().GetTries())), few(b.GetJdks()),
			strings.Join(b.GetKinds(), " "), ago(b.GetFirstSeen()), ago(b.GetLastSeen()), b.GetTitle(),
			bundleCell(b.GetFindingIds(), bundles),
		})
	}
	renderSeen(w, []column{{title: "bug"}, {title: "status"}, {title: "findings"}}, rows, bundles, sort)
}

// renderFindings prints one line for each finding. bundles and sort are those of renderBugs.
func renderFindings(w io.Writer, findings []*misstepv1.Finding, bundles map[string]string, sort string) {
	var rows [][]string
	for _, f := range findings {
		hits, trials := misstepv1.SumRates(f)
		known := misstepv1.KnownCell(f)
		if f.GetDoubted() {
			known = "doubted"
		}
		bundle := bundleCell(slices.Concat([]string{f.GetId()}, f.GetAliases(), f.GetFormerIds()), bundles)
		if bundles[f.GetId()] != "" {
			bundle = "yes" // named after the finding
		}
		rows = append(rows, []string{
			f.GetId(), cmp.Or(known, "-"), strconv.FormatUint(f.GetHits(), 10), percent(hits, trials), few(misstepv1.JDKNames(f)),
			f.GetSignature().GetKind(), ago(f.GetFirstSeen()), ago(f.GetLastSeen()), f.GetTitle() + looksLike(f), bundle,
		})
	}
	columns := []column{{title: "finding"}, {title: "known as"}}
	if slices.ContainsFunc(findings, func(f *misstepv1.Finding) bool { return f.GetVisibility() != nil }) {
		columns = append(columns, column{title: "visibility"})
		for i, f := range findings {
			rows[i] = slices.Insert(rows[i], len(columns)-1, cmp.Or(misstepv1.VisibilityCell(f), "-"))
		}
	}
	renderSeen(w, columns, rows, bundles, sort)
}

// renderSeen prints a table of bugs or findings: columns of their own, then those that both have, the bundle where there are any.
func renderSeen(w io.Writer, own []column, rows [][]string, bundles map[string]string, sort string) {
	columns := append(own, []column{
		{title: "hits"},
		{title: "rate", drop: 2},
		{title: "JDKs"},
		{title: "kind", drop: 4},
		{title: "first seen", drop: 5},
		{title: "last seen", drop: 3},
		{title: "what", cut: whatWidth},
		{title: "bundle", drop: 1},
	}...)
	if len(bundles) == 0 {
		columns = columns[:len(columns)-1]
		for i := range rows {
			rows[i] = rows[i][:len(columns)]
		}
	}
	for i, c := range columns {
		if sort != "" && (c.title == sort || c.title == sort+" seen") {
			columns[i].drop = 0
		}
	}
	renderTable(w, columns, rows)
}

// bundleCell is the file name of the first bundle of these findings, and how many more they have.
func bundleCell(ids []string, bundles map[string]string) string {
	name, more := "", 0
	for _, id := range ids {
		switch path := bundles[id]; {
		case path == "":
		case name == "":
			name = filepath.Base(path)
		default:
			more++
		}
	}
	if more > 0 {
		return fmt.Sprintf("%s +%d", name, more)
	}
	return orDash(name)
}

func looksLike(f *misstepv1.Finding) string {
	if len(f.GetFits()) == 0 {
		return ""
	}
	return " (looks like " + strings.Join(f.GetFits(), ", ") + ")"
}

// few lists names in one cell: all of up to three, else two and how many more there are.
func few(names []string) string {
	if len(names) > 3 {
		return fmt.Sprintf("%s +%d", strings.Join(names[:2], " "), len(names)-2)
	}
	return cmp.Or(strings.Join(names, " "), "-")
}

// ago prints in one unit how long ago something was.
func ago(t *timestamppb.Timestamp) string {
	d := time.Since(t.AsTime())
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%.0fs ago", max(d, 0).Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%.0fm ago", math.Floor(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%.0fh ago", math.Floor(d.Hours()))
	}
	return fmt.Sprintf("%.0fd ago", math.Floor(d.Hours()/24))
}

// percent prints a rate to two digits, or more of high ones; "-" without trials.
func percent(hits, trials uint64) string {
	if trials == 0 {
		return "-"
	}
	p := 100 * float64(hits) / float64(trials)
	if p >= 10 {
		return strconv.FormatFloat(p, 'f', 0, 64) + " %"
	}
	return strconv.FormatFloat(p, 'g', 2, 64) + " %"
}

// renderRates prints where a finding was hit, with intervals.
func renderRates(w io.Writer, rates []*misstepv1.FindingRate) {
	t := table(w)
	fmt.Fprintln(t, "jdk\tworkload\tflags\thits of trials\t95 % interval")
	for _, r := range rates {
		fmt.Fprintf(t, "%s\t%s\t%s\t%d of %d\t%.3f–%.3f\n", r.GetJdk(), r.GetWorkload(), r.GetFlagSet(), r.GetHits(), r.GetTrials(),
			r.GetLow(), r.GetHigh())
	}
	t.Flush()
}

// renderFactors prints the rates by one dimension at a time, those that differ by more than chance marked.
func renderFactors(w io.Writer, factors []*misstepv1.FindingFactor) {
	if len(factors) == 0 {
		return
	}
	fmt.Fprintln(w)
	t := table(w)
	fmt.Fprintln(t, "what raises it\tvalue\thits of trials\t95 % interval\t")
	for _, f := range factors {
		mark := map[int32]string{1: "higher", -1: "lower"}[f.GetEffect()]
		fmt.Fprintf(t, "%s\t%s\t%d of %d\t%.3f–%.3f\t%s\n", f.GetDimension(), orDash(f.GetValue()), f.GetHits(), f.GetTrials(),
			f.GetLow(), f.GetHigh(), mark)
	}
	t.Flush()
}

// renderNeighbours prints the findings that may be the same.
func renderNeighbours(w io.Writer, f *misstepv1.Finding) {
	if len(f.GetNearest()) == 0 {
		return
	}
	fmt.Fprintln(w)
	var rows [][]string
	for _, n := range f.GetNearest() {
		rows = append(rows, []string{n.GetId(), fmt.Sprintf("%.0f %%", 100*n.GetScore()), n.GetReason(), n.GetTitle()})
	}
	renderTable(w, []column{{title: "nearest"}, {title: "alike"}, {title: "why", cut: 20}, {title: "what", cut: 20}}, rows)
	if len(f.GetFits()) > 0 {
		fmt.Fprintf(w, "when it was new it looked like %s; `misstep findings merge %s %s` if it is\n",
			strings.Join(f.GetFits(), " and "), f.GetId(), f.GetFits()[0])
	}
}

// counts prints a sum with its parts: "12 (push-window 10, unwinding 2)".
func counts[K interface{ ~string | ~int32 }](m map[K]uint64) string {
	if len(m) == 0 {
		return "0"
	}
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%v %d", key, m[key]))
	}
	return fmt.Sprintf("%d (%s)", total(m), strings.Join(parts, ", "))
}
