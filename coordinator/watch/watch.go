// Package watch decides from counts whether a finding has gone quiet: whether it was not seen for so many trials that its rate
// makes that improbable.
//
// # The test
//
// Trials are compared within cells, that is, combinations of workload, flags, checks, perturbation and sampling on one JDK; trials
// elsewhere prove nothing. A cell had k hits in T trials until the last hit, and no hit in n trials since. If nothing changed, the
// probability of that is the product over the cells of Γ(T-k+1+n)/Γ(T-k+1) · Γ(T+1)/Γ(T+1+n), the beta-binomial predictive
// distribution; the uncertainty of the rate is in it. For rare bugs it is (T/(T+n))^k, the negative binomial one, which is exact
// when the last hit ends the count: the ratio of the next gap to the sum of k earlier ones does not depend on the rate.
//
// A cell with few hits may have them by luck, and a steered campaign then runs more of its trials there. So all cells with fewer
// than fewHits hits share one rate, over the trials of those without a hit as well.
//
// # Many comparisons
//
// Each gap between two hits is one test, however often it is looked at, since the probability only falls during a gap. The gap
// after the k-th hit is tested at the level Alpha · 6/(π²k²), divided by the number of JDKs that showed the finding. These levels
// add up to Alpha: during its whole life a finding that did not change is called quiet with a probability of at most Alpha. Among
// F findings, at most Alpha·F are expected to be called quiet wrongly at any time; the levels do not depend on F, or one finding's
// state would change because of others.
package watch

import "math"

// Alpha is the probability with which a finding that did not change is ever called quiet.
const Alpha = 0.01

// fewHits is the number of hits from which a cell has a rate of its own.
const fewHits = 5

// Cell counts the trials of one combination on one JDK.
type Cell struct {
	// Hits and Trials until the finding's last hit on the JDK.
	Hits, Trials uint64
	// Since is the number of trials after it; none of them is a hit.
	Since uint64
}

// Evidence is what the cells say about one finding on one JDK.
type Evidence struct {
	// Hits before, and Trials since in the cells that had hits.
	Hits, Trials uint64
	// Expected number of hits in Trials at the rate before.
	Expected float64
	// P is the probability of no hit in Trials if nothing changed.
	P float64
	// Level that P is compared with.
	Level float64
}

// Quiet reports whether P is below Level.
func (e Evidence) Quiet() bool { return e.P < e.Level }

// Judge tests the cells of one JDK; jdks is the number of JDKs that showed the finding, at least 1. Without hits P is 1.
func Judge(cells []Cell, jdks int) Evidence {
	e, few, logP := Evidence{}, Cell{}, 0.0
	add := func(c Cell) {
		if c.Hits == 0 {
			return
		}
		e.Trials += c.Since
		e.Expected += float64(c.Since) * float64(c.Hits) / float64(c.Trials)
		logP += logNone(c)
	}
	for _, c := range cells {
		c.Trials = max(c.Trials, c.Hits)
		e.Hits += c.Hits
		if c.Hits >= fewHits {
			add(c)
			continue
		}
		few.Hits += c.Hits
		few.Trials += c.Trials
		if c.Hits > 0 {
			few.Since += c.Since
		}
	}
	add(few)
	e.P = min(1, math.Exp(logP))
	if e.Hits > 0 {
		k := float64(e.Hits)
		e.Level = Alpha * 6 / (math.Pi * math.Pi * k * k) / float64(max(jdks, 1))
	}
	return e
}

// logNone returns the logarithm of the probability of no hit in the trials since.
func logNone(c Cell) float64 {
	lg := func(x float64) float64 { v, _ := math.Lgamma(x); return v }
	missed, trials, since := float64(c.Trials-c.Hits), float64(c.Trials), float64(c.Since)
	return lg(missed+1+since) - lg(missed+1) - lg(trials+1+since) + lg(trials+1)
}
