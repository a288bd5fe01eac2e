package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"misstep/bench"
	"misstep/bench/triage/reports"
	"misstep/deploy/jdk"
	"misstep/internal/home"
	"misstep/triage/triagetest"
)

// committed are the reports that are in the repository.
const committed = "triage/triagetest/testdata/reports.jsonl.gz"

// makeReports makes the reports that are not in the store, and returns those of the store and of the repository.
func makeReports(ctx context.Context, many int, until time.Time) ([]triagetest.Report, error) {
	s, err := bench.OpenStore[triagetest.Report](filepath.Join(resultsDir, "triage.reports.jsonl"))
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if many > 0 {
		jdks, err := jdk.Open(home.Dir()).List()
		if err != nil {
			return nil, fmt.Errorf("list the catalogue's JDKs: %w", err)
		}
		done := map[string]bool{}
		for _, r := range s.Entries {
			done[r.Name] = true
		}
		ctx, cancel := context.WithDeadline(ctx, until)
		defer cancel()
		if err := reports.Make(ctx, jdks, many, done, s.Add); err != nil {
			return nil, err
		}
	}
	if path := os.Getenv("SAMPLE_REPORTS"); path != "" {
		if err := writeReports(path, s.Entries); err != nil {
			return nil, err
		}
	}
	all, err := triagetest.OpenReports(committed)
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for i := range all {
		known[all[i].Text] = true
		all[i].Name += ", of the repository"
	}
	return append(all, slices.DeleteFunc(slices.Clone(s.Entries), func(r triagetest.Report) bool { return known[r.Text] })...), nil
}

// writeReports writes reports so that equal ones are near each other, gzipped.
func writeReports(path string, all []triagetest.Report) error {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b triagetest.Report) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.JDK, b.JDK), cmp.Compare(a.Name, b.Name))
	})
	return writeLines(path, func(encode func(any) error) error {
		for _, r := range all {
			if err := encode(r); err != nil {
				return err
			}
		}
		return nil
	})
}

// Goals of reports, for each kind.
const (
	leastPrecision = 0.98
	leastRecall    = 0.95
	mostPairs      = 40 // wrong ones that are printed
)

// measureReports scores what triage makes of the reports.
func measureReports(all []triagetest.Report) (tables []bench.Table, goals []bench.Goal, rows []pairJSON, err error) {
	identified, err := triagetest.Identify(all)
	if err != nil {
		return nil, nil, nil, err
	}
	of := func(keep func(triagetest.Identified) bool) (some []triagetest.Identified) {
		for _, r := range identified {
			if keep(r) {
				some = append(some, r)
			}
		}
		return some
	}
	table := bench.Table{
		Title: "reports: precision and recall of pairs, with 95 % intervals by bootstrap over causes; causes that share no " +
			"finding with another, and groups of like reports that have one finding, with Wilson's",
		Columns: []string{"reports", "number", "causes", "findings", "precision", "recall", "pure causes", "whole groups"},
	}
	for _, kind := range []string{triagetest.KindCrash, triagetest.KindHang} {
		for _, part := range []struct {
			name string
			keep func(triagetest.Identified) bool
		}{
			{kind, func(triagetest.Identified) bool { return true }},
			{kind + ", causes used to improve triage", func(r triagetest.Identified) bool { return !r.Held }},
			{kind + ", causes held back", func(r triagetest.Identified) bool { return r.Held }},
		} {
			s := triagetest.MeasurePairs(of(func(r triagetest.Identified) bool { return r.Kind == kind && part.keep(r) }), seed)
			rows = append(rows, pairJSON{
				part.name, s.Reports, s.Causes, s.Findings, figures(s.Precision), figures(s.Recall),
				figures(s.Pure), figures(s.Whole),
			})
			table.Rows = append(table.Rows, []string{
				part.name, fmt.Sprint(s.Reports), fmt.Sprint(s.Causes), fmt.Sprint(s.Findings), share(s.Precision), share(s.Recall),
				share(s.Pure), share(s.Whole),
			})
			if part.name == kind {
				goals = append(goals,
					bench.Goal{
						Name: kind + " precision", Goal: leastPrecision, Measured: s.Precision.Value, AtLeast: true,
						Unit: "of the pairs of reports in one finding",
					},
					bench.Goal{
						Name: kind + " recall", Goal: leastRecall, Measured: s.Recall.Value, AtLeast: true,
						Unit: "of the pairs of reports that are alike",
					})
			}
		}
	}
	return []bench.Table{table, wrongTable(identified)}, goals, rows, nil
}

// wrongTable lists the pairs that are wrong.
func wrongTable(all []triagetest.Identified) bench.Table {
	t := bench.Table{
		Title:   "pairs of reports that have one finding and should not, or should and do not",
		Columns: []string{"pairs", "should be", "one report", "its finding", "the other report", "its finding"},
	}
	pairs := triagetest.Wrong(all)
	for _, p := range pairs[:min(len(pairs), mostPairs)] {
		should := "different"
		if p.Missed {
			should = "the same"
		}
		t.Rows = append(t.Rows, []string{fmt.Sprint(p.Number), should, p.A.Name, p.A.Findings(), p.B.Name, p.B.Findings()})
	}
	if more := len(pairs) - mostPairs; more > 0 {
		t.Rows = append(t.Rows, []string{"", "", fmt.Sprintf("and %d more", more), "", "", ""})
	}
	return t
}

// pairJSON is a row for JSON, which has no NaN: value, low, high; nil if there is nothing to count.
type pairJSON struct {
	Of                             string
	Reports, Causes, Findings      int
	Precision, Recall, Pure, Whole []float64
}
