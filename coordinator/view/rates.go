package view

import (
	"cmp"
	"slices"

	"misstep/coordinator/rates"
	"misstep/internal/interval"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/triage"
)

// addRates fills in the history, and hits and trials of the combinations that the finding's campaigns tried, including those
// without a hit, which are as informative. All campaigns count, also those that never hit it, or rates would be too high; but only
// trials that could have shown it, so for a mismatch those that ran its check.
func (t *trials) addRates(f *misstepv1.Finding) {
	byKey := map[key]*misstepv1.FindingRate{}
	var cells []triage.Cell
	shown := t.shown(idsOf(f)...)
	tried := t.tried([]*misstepv1.Finding{f}, t.hits(shown))
	f.History = t.history(tried, shown)
	for _, h := range tried {
		c := t.log.Tallies[h.tally]
		r := byKey[keyOf(c.Combination)]
		if r == nil {
			r = &misstepv1.FindingRate{Jdk: c.JDK, Workload: c.Workload, FlagSet: c.FlagSet}
			byKey[keyOf(c.Combination)] = r
		}
		r.Trials += c.N()
		r.Hits += h.n
		cells = append(cells, triage.Cell{Hits: h.n, Trials: c.N(), Values: map[string]string{
			"jdk": c.JDK, "workload": c.Workload, "flag set": c.FlagSet, "perturbation": c.Perturbation,
			"ratio": c.Ratio, "interval": c.Interval, "profiler": c.Profiler,
		}})
	}
	f.Rates, f.Factors = nil, triage.Factors(cells)
	for _, r := range byKey {
		r.Low, r.High = interval.Wilson(r.GetHits(), r.GetTrials())
		f.Rates = append(f.Rates, r)
	}
	slices.SortFunc(f.Rates, func(a, b *misstepv1.FindingRate) int {
		return cmp.Or(cmp.Compare(a.GetJdk(), b.GetJdk()), cmp.Compare(a.GetWorkload(), b.GetWorkload()),
			cmp.Compare(a.GetFlagSet(), b.GetFlagSet()))
	})
}

// key is what the rates that are shown are distinguished by.
type key struct{ jdk, workload, flagSet string }

func keyOf(c rates.Combination) key { return key{c.JDK, c.Workload, c.FlagSet} }

// tried returns the combinations whose trials could have shown at least one of the findings, among those that the findings'
// campaigns tried, with the hits. Probes of a reproduction run recipes unlike any campaign's, which would distort the factors.
func (t *trials) tried(findings []*misstepv1.Finding, shown []hits) []hits {
	campaigns := map[string]bool{}
	for _, f := range findings {
		for _, c := range f.GetCampaigns() {
			campaigns[c] = true
		}
	}
	can, seen := t.could(findings...), make([]bool, t.keys)
	var out []hits
	campaign, of := "", false // of the combination before, which most often has the same one
	for i, tally := range t.tallies {
		h := hits{tally: i}
		if len(shown) > 0 && shown[0].tally == i {
			h, shown = shown[0], shown[1:]
		}
		// A hit by a trial that did not ask for the check cannot be, but a merged finding may have aliases of several checks.
		if tally.probes || h.n == 0 && !can[tally.checks] {
			continue
		}
		if c := t.log.Tallies[i].Campaign; c != campaign {
			campaign, of = c, campaigns[c]
		}
		seen[tally.key] = seen[tally.key] || of
		out = append(out, h)
	}
	return slices.DeleteFunc(out, func(h hits) bool { return !seen[t.tallies[h.tally].key] })
}

// rate is the rate over combinations; 0 without trials.
func (t *trials) rate(all []hits) float64 {
	n := uint64(0)
	for _, h := range all {
		n += t.log.Tallies[h.tally].N()
	}
	if n == 0 {
		return 0
	}
	return float64(sum(all)) / float64(n)
}
