package retest

import (
	"cmp"
	"slices"

	"misstep/triage"
)

// Result is a retest of one finding on one build.
type Result struct {
	Finding string
	// Build by its digest, and its name for people.
	Build, Name string
	Now         Count
	State       State
}

// Pair is a finding that vanished together with another one: both were seen on the build Present, and neither on Fixed.
type Pair struct {
	Other string
	// Present and Fixed are builds by name.
	Present, Fixed string
	// Mine and Theirs are the counts on Present, then on Fixed.
	Mine, Theirs [2]Count
	// P is the larger of the two p-values of Fisher's exact test of the difference between the builds.
	P float64
}

// Together returns the findings that vanished together with one, by id, each with its strongest evidence. A finding vanished
// between two builds when a retest showed it on the first, another proved it fixed on the second (see Judge), and the rates differ
// (Fisher's exact test, at the level of 1 %, which is shared by all findings that are compared). Two findings vanished together
// when both did so between the same builds, and no build that was retested with both has one of them and not the other: many bugs
// are fixed between two distant builds, and a build that tells them apart refutes a common cause. The latest result of a finding
// on a build counts.
func Together(finding string, results []Result) []Pair {
	of := map[string]map[string]Result{} // by finding and build
	for _, r := range results {
		if of[r.Finding] == nil {
			of[r.Finding] = map[string]Result{}
		}
		of[r.Finding][r.Build] = r
	}
	level := 0.01 / float64(max(1, len(of)-1))
	var out []Pair
	for other, theirs := range of {
		if other == finding || toldApart(of[finding], theirs) {
			continue
		}
		var best *Pair
		for present, a := range of[finding] {
			for fixed, b := range of[finding] {
				if !seen(a) || b.State != Fixed || !seen(theirs[present]) || theirs[fixed].State != Fixed {
					continue
				}
				p := Pair{
					Other: other, Present: a.Name, Fixed: b.Name, Mine: [2]Count{a.Now, b.Now},
					Theirs: [2]Count{theirs[present].Now, theirs[fixed].Now},
				}
				p.P = max(fisher(p.Mine), fisher(p.Theirs))
				if p.P < level && (best == nil || stronger(p, *best)) {
					best = &p
				}
			}
		}
		if best != nil {
			out = append(out, *best)
		}
	}
	slices.SortFunc(out, func(a, b Pair) int { return cmp.Or(cmp.Compare(a.P, b.P), cmp.Compare(a.Other, b.Other)) })
	return out
}

func seen(r Result) bool { return r.Now.Hits > 0 }

// toldApart reports whether a build has one of two findings, and is proved not to have the other.
func toldApart(a, b map[string]Result) bool {
	for build, mine := range a {
		theirs, both := b[build]
		if both && (seen(mine) && theirs.State == Fixed || seen(theirs) && mine.State == Fixed) {
			return true
		}
	}
	return false
}

func fisher(c [2]Count) float64 { return triage.Fisher(c[0].Hits, c[0].Tries, c[1].Hits, c[1].Tries) }

func stronger(a, b Pair) bool {
	return cmp.Or(cmp.Compare(a.P, b.P), cmp.Compare(a.Present, b.Present), cmp.Compare(a.Fixed, b.Fixed)) < 0
}
