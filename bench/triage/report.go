package main

import (
	"fmt"
	"math"
	"strings"

	"google.golang.org/protobuf/proto"

	"misstep/bench"
	"misstep/triage/triagetest"
)

// seed is the seed of the bootstrap.
const seed = 6

// row is one line of the score table.
type row struct {
	Of    string
	Score triagetest.Score
}

// measure scores triage's grouping of the outcomes and of the reports. Only the scores use their labels.
func measure(all []triagetest.Labelled, texts []triagetest.Report) (bench.Report, error) {
	tables, goals, textRows, err := measureReports(texts)
	if err != nil {
		return bench.Report{}, err
	}
	items := triagetest.Group(all)
	var findings []triagetest.Item // without those that should not exist: no label is right for them
	taken, silent, nothings := 0, 0, 0
	for _, i := range items {
		if i.Kind == triagetest.KindNothing {
			taken++
			continue
		}
		findings = append(findings, i)
	}
	for _, l := range all {
		switch {
		case l.Kind == triagetest.KindNothing:
			nothings++
		case l.Outcome == nil:
			silent++
		}
	}
	of := func(keep func(triagetest.Item) bool) (some []triagetest.Item) {
		for _, i := range findings {
			if keep(i) {
				some = append(some, i)
			}
		}
		return some
	}
	whole := triagetest.Measure(findings, seed)
	rows := []row{{"all", whole}}
	for _, kind := range triagetest.Kinds[:3] {
		rows = append(rows, row{kind, triagetest.Measure(of(func(i triagetest.Item) bool { return i.Kind == kind }), seed)})
	}
	held := map[string]bool{}
	for _, e := range experiments() {
		held[e.label] = e.held
	}
	rows = append(rows,
		row{"labels used to improve triage", triagetest.Measure(of(func(i triagetest.Item) bool { return !held[i.Label] }), seed)},
		row{"labels held back", triagetest.Measure(of(func(i triagetest.Item) bool { return held[i.Label] }), seed)})
	// The most expensive labels, by name: their evidence does not show the cause (docs/figures/0010-triage.md), or did not when the
	// trials were made.
	cutOff := func(i triagetest.Item) bool {
		return strings.HasPrefix(i.Label, "entry: truncate") || i.Label == "MISSTEP-deoptimised-caller"
	}
	another := func(i triagetest.Item) bool {
		return strings.HasSuffix(i.Label, ": stale") || strings.HasSuffix(i.Label, ": foreign")
	}
	rows = append(rows,
		row{
			"corrupted walks at entries",
			triagetest.Measure(of(func(i triagetest.Item) bool { return strings.HasPrefix(i.Label, "entry: ") }), seed),
		},
		row{
			"corrupted walks in handlers",
			triagetest.Measure(of(func(i triagetest.Item) bool { return strings.HasPrefix(i.Label, "signal: ") }), seed),
		},
		row{
			"all, without truncated walks and other walks' answers",
			triagetest.Measure(of(func(i triagetest.Item) bool { return !cutOff(i) && !another(i) }), seed),
		},
		row{
			"held back, without those",
			triagetest.Measure(of(func(i triagetest.Item) bool { return held[i.Label] && !cutOff(i) && !another(i) }), seed),
		})
	rows = append(rows, row{
		"one outcome a trial, its most frequent mismatch",
		triagetest.Measure(triagetest.Group(mostFrequent(all)), seed),
	})
	rows = append(rows, row{"entry and signal as one label", triagetest.Measure(oneWay(findings), seed)})

	merged, split := triagetest.Merged(items), triagetest.Split(findings)
	return bench.Report{
		Name: "triage",
		Tables: append([]bench.Table{
			scoreTable(rows), confusionTable("findings that hold several labels", merged),
			confusionTable("labels in several findings", split),
		}, tables...),
		Goals: append([]bench.Goal{
			{
				Name: "pairwise precision", Goal: 0.95, Measured: whole.Precision.Value, Unit: "of the pairs in one finding",
				AtLeast: true,
			},
			{Name: "pairwise recall", Goal: 0.9, Measured: whole.Recall.Value, Unit: "of the pairs with one label", AtLeast: true},
			{Name: "outcomes", Goal: 300, Measured: float64(len(findings) + nothings), Unit: "outcomes", AtLeast: true},
			{Name: "labels", Goal: 25, Measured: float64(whole.Labels), Unit: "labels", AtLeast: true},
			{
				Name: "infrastructure taken for findings", Goal: 0, Measured: taken0(taken, nothings),
				Unit: fmt.Sprintf("of %d outcomes", nothings),
			},
		}, goals...),
		Rows: struct {
			Scores        []scoreRow
			Reports       []pairJSON
			Merged, Split []triagetest.Confusion
			// Silent trials did not show their cause.
			Trials, Silent, Infrastructure int
		}{jsonRows(rows), textRows, merged, split, len(all), silent, nothings},
	}, nil
}

// taken0 returns NaN if there were no outcomes that could be taken for findings.
func taken0(taken, of int) float64 {
	if of == 0 {
		return math.NaN()
	}
	return float64(taken)
}

// mostFrequent reduces each trial with a finding to its most frequent mismatch.
func mostFrequent(all []triagetest.Labelled) (out []triagetest.Labelled) {
	for _, l := range all {
		if l.Kind != triagetest.KindNothing && l.Outcome != nil {
			l.Outcome = proto.CloneOf(l.Outcome)
			l.Outcome.Mismatches = l.Outcome.Mismatches[:min(1, len(l.Outcome.GetMismatches()))]
			out = append(out, l)
		}
	}
	return out
}

// oneWay removes the kind of walk from the labels.
func oneWay(items []triagetest.Item) (all []triagetest.Item) {
	for _, i := range items {
		i.Label = strings.TrimPrefix(strings.TrimPrefix(i.Label, "entry: "), "signal: ")
		all = append(all, i)
	}
	return all
}

func scoreTable(rows []row) bench.Table {
	t := bench.Table{
		Title:   "pairwise and B-cubed precision and recall, with 95 % intervals by bootstrap over labels",
		Columns: []string{"outcomes", "number", "labels", "findings", "precision", "recall", "B-cubed precision", "B-cubed recall"},
	}
	for _, r := range rows {
		s := r.Score
		t.Rows = append(t.Rows, []string{
			r.Of, fmt.Sprint(s.Items), fmt.Sprint(s.Labels), fmt.Sprint(s.Findings), share(s.Precision), share(s.Recall),
			share(s.BPrecision), share(s.BRecall),
		})
	}
	return t
}

func share(s triagetest.Share) string {
	if math.IsNaN(s.Value) {
		return "-"
	}
	return fmt.Sprintf("%.3f (%.2f–%.2f)", s.Value, s.Low, s.High)
}

// scoreRow is a row for JSON, which has no NaN.
type scoreRow struct {
	Of                                     string
	Items, Labels, Findings                int
	Precision, Recall, BPrecision, BRecall []float64 // value, low, high; nil if there is nothing to count
}

func jsonRows(rows []row) (all []scoreRow) {
	for _, r := range rows {
		s := r.Score
		all = append(all, scoreRow{
			r.Of, s.Items, s.Labels, s.Findings, figures(s.Precision), figures(s.Recall), figures(s.BPrecision), figures(s.BRecall),
		})
	}
	return all
}

// figures returns value, low and high; nil if there was nothing to count.
func figures(s triagetest.Share) []float64 {
	if math.IsNaN(s.Value) {
		return nil
	}
	return []float64{s.Value, s.Low, s.High}
}

// mostParts bounds the parts of a confusion that are shown.
const mostParts = 6

func confusionTable(title string, all []triagetest.Confusion) bench.Table {
	t := bench.Table{Title: title, Columns: []string{"wrong pairs", "of", "parts"}}
	for _, c := range all {
		var parts []string
		for i, p := range c.Parts {
			if i == mostParts {
				parts = append(parts, fmt.Sprintf("and %d more", len(c.Parts)-i))
				break
			}
			parts = append(parts, fmt.Sprintf("%d × %s", p.Items, p.Name))
		}
		t.Rows = append(t.Rows, []string{fmt.Sprint(c.Wrong), c.Of, strings.Join(parts, "; ")})
	}
	return t
}
