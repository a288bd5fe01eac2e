package view

import (
	"cmp"
	"slices"
	"strings"

	"misstep/coordinator/rates"
	"misstep/coordinator/store"
	"misstep/coordinator/triage"
	"misstep/internal/interval"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/signature"
)

// addRates fills in the hits, and hits and trials of the combinations that the finding's campaigns tried, including those without a
// hit, which are as informative. All campaigns count, also those that never hit it, or rates would be too high; but only trials
// that could have shown it, so for a mismatch those that ran its check.
func addRates(f *misstepv1.Finding, hits, counts []rates.Count) {
	f.Hits = sum(hits)
	byKey := map[key]*misstepv1.FindingRate{}
	var cells []triage.Cell
	for _, c := range tried([]*misstepv1.Finding{f}, hits, counts) {
		r := byKey[keyOf(c.Combination)]
		if r == nil {
			r = &misstepv1.FindingRate{Jdk: c.JDK, Workload: c.Workload, FlagSet: c.FlagSet}
			byKey[keyOf(c.Combination)] = r
		}
		r.Trials += c.N
		r.Hits += c.hits
		cells = append(cells, triage.Cell{Hits: c.hits, Trials: c.N, Values: map[string]string{
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

// counted is a number of trials with the number of hits among them.
type counted struct {
	rates.Count
	hits uint64
}

// tried returns the trials that could have shown at least one of the findings, with hits, in the combinations that the findings'
// campaigns tried.
func tried(findings []*misstepv1.Finding, hits, counts []rates.Count) []counted {
	of := make(map[rates.Combination]uint64, len(hits))
	for _, h := range hits {
		of[h.Combination] = h.N
	}
	campaigns := map[string]bool{}
	for _, f := range findings {
		for _, c := range f.GetCampaigns() {
			campaigns[c] = true
		}
	}
	can := map[string]bool{} // by the checks of a trial, of which there are few
	could := func(checks string) bool {
		answer, known := can[checks]
		if !known {
			answer = slices.ContainsFunc(findings, func(f *misstepv1.Finding) bool { return couldShow(f.GetSignature(), checks) })
			can[checks] = answer
		}
		return answer
	}
	seen := map[key]bool{}
	var out []counted
	for _, c := range counts {
		// Probes of a reproduction run recipes unlike any campaign's, which would distort the factors.
		if strings.HasPrefix(c.Campaign, store.ReproductionPrefix) {
			continue
		}
		n := of[c.Combination]
		// A hit by a trial that did not ask for the check cannot be, but a merged finding may have aliases of several checks.
		if n == 0 && !could(c.Checks) {
			continue
		}
		out = append(out, counted{Count: c, hits: n})
		if campaigns[c.Campaign] {
			seen[keyOf(c.Combination)] = true
		}
	}
	return slices.DeleteFunc(out, func(c counted) bool { return !seen[keyOf(c.Combination)] })
}

// sum adds up counts.
func sum(counts []rates.Count) (n uint64) {
	for _, c := range counts {
		n += c.N
	}
	return n
}

// couldShow reports whether trials of recipes with these checks could have shown a signature.
func couldShow(sig *misstepv1.Signature, checks string) bool {
	check := signature.CheckOf(sig)
	return check == "" || slices.Contains(strings.Split(checks, ","), check)
}
