package triagetest

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"misstep/internal/interval"
	"misstep/triage"
)

// Identified is a report with what triage made of it.
type Identified struct {
	Report
	// IDs are the findings that it is, sorted; a hang of several causes may be several. A cut report that exactly one finding
	// completes is that one (triage.Join).
	IDs []string
	// Signatures for people, by id.
	Signatures map[string]string
}

// Identify reads reports and lets triage, as the coordinator calls it, identify all of them together.
func Identify(all []Report) ([]Identified, error) {
	var hits []triage.Hit
	of := make([][]triage.Hit, len(all))
	for i, r := range all {
		o, err := r.Outcome()
		if err != nil {
			return nil, err
		}
		of[i] = triage.Triage(o)
		hits = append(hits, of[i]...)
	}
	joined := triage.Join(hits, nil)
	out := make([]Identified, len(all))
	for i, r := range all {
		out[i] = Identified{Report: r, Signatures: map[string]string{}}
		for _, h := range of[i] {
			id := cmp.Or(joined[h.ID], h.ID)
			if _, known := out[i].Signatures[id]; !known {
				out[i].IDs = append(out[i].IDs, id)
			}
			out[i].Signatures[id] = strings.Join(append([]string{h.Signature.GetKind()}, h.Signature.GetParts()...), " | ")
		}
		slices.Sort(out[i].IDs)
	}
	return out, nil
}

// PairScore scores the identities of reports, pair by pair.
type PairScore struct {
	Reports, Causes, Findings int
	// Precision is the share of the pairs of reports with a common id that have a common cause, Recall the share of the pairs that
	// are alike (Report.Alike) that have a common id.
	Precision, Recall Share
	// Pure is the share of the causes that have no id in common with another one, Whole the share of the groups of reports that are
	// alike, two or more, that have one id in common. Their intervals are Wilson's: causes are independent, pairs are not.
	Pure, Whole Share
}

// cell counts the pairs of reports of two labels.
type cell struct{ together, related, alike, joined float64 }

// MeasurePairs scores identities. The intervals of precision and recall are by bootstrap over causes, as in Measure.
func MeasurePairs(all []Identified, seed uint64) PairScore {
	labels := map[string]int{}
	label := make([]int, len(all))
	findings := map[string]bool{}
	for i, r := range all {
		name := strings.Join(r.Causes, "+")
		if _, known := labels[name]; !known {
			labels[name] = len(labels)
		}
		label[i] = labels[name]
		for _, id := range r.IDs {
			findings[id] = true
		}
	}
	cells := make([]cell, len(labels)*len(labels))
	for i, a := range all {
		for k, b := range all[:i] {
			c := &cells[min(label[i], label[k])*len(labels)+max(label[i], label[k])]
			together, related, alike := meets(a.IDs, b.IDs), meets(a.Causes, b.Causes), meets(a.Alike, b.Alike)
			c.together += count(together)
			c.related += count(together && related)
			c.alike += count(alike)
			c.joined += count(alike && together)
		}
	}
	shares := bootstrap(len(labels), seed, func(weight []float64) []float64 { return figuresOf(cells, weight) })
	return PairScore{len(all), len(causesOf(all)), len(findings), shares[0], shares[1], pure(all), whole(all)}
}

// figuresOf returns precision and recall when each label counts as often as its weight says. Pairs within a label count once for
// each draw of it: a label that is drawn twice is not compared with itself.
func figuresOf(cells []cell, weight []float64) []float64 {
	var sum cell
	n := len(weight)
	for a := range n {
		for b := a; b < n; b++ {
			w := weight[a] * weight[b]
			if a == b {
				w = weight[a]
			}
			c := cells[a*n+b]
			sum.together += w * c.together
			sum.related += w * c.related
			sum.alike += w * c.alike
			sum.joined += w * c.joined
		}
	}
	return []float64{sum.related / sum.together, sum.joined / sum.alike}
}

func causesOf(all []Identified) map[string][]Identified {
	causes := map[string][]Identified{}
	for _, r := range all {
		for _, c := range r.Causes {
			causes[c] = append(causes[c], r)
		}
	}
	return causes
}

func pure(all []Identified) Share {
	impure := map[string]bool{}
	for _, p := range Wrong(all) {
		if !p.Missed {
			for _, c := range slices.Concat(p.A.Causes, p.B.Causes) {
				impure[c] = true
			}
		}
	}
	n := len(causesOf(all))
	return rate(n-len(impure), n)
}

func whole(all []Identified) Share {
	groups := map[string][]Identified{}
	for _, r := range all {
		for _, a := range r.Alike {
			groups[a] = append(groups[a], r)
		}
	}
	n, good := 0, 0
	for _, g := range groups {
		if len(g) < 2 {
			continue
		}
		n++
		common := g[0].IDs
		for _, r := range g[1:] {
			common = slices.DeleteFunc(slices.Clone(common), func(id string) bool { return !slices.Contains(r.IDs, id) })
		}
		good += int(count(len(common) > 0))
	}
	return rate(good, n)
}

func rate(hits, n int) Share {
	low, high := interval.Wilson(uint64(hits), uint64(n))
	return Share{float64(hits) / float64(n), low, high}
}

// Pair is two reports whose identities are wrong: they have a common id and no common cause, or, if Missed, they are alike and have
// no common id.
type Pair struct {
	A, B   Identified
	Missed bool
	// Number of pairs with the same causes and signatures, this one included.
	Number int
}

// Wrong lists the pairs that are wrong, one example of each combination of causes and signatures, most frequent first.
func Wrong(all []Identified) []Pair {
	examples := map[string]*Pair{}
	for i, a := range all {
		for _, b := range all[:i] {
			together, related := meets(a.IDs, b.IDs), meets(a.Causes, b.Causes)
			missed := !together && meets(a.Alike, b.Alike)
			if !missed && (!together || related) {
				continue
			}
			key := strings.Join(slices.Sorted(slices.Values([]string{a.key(), b.key()})), "\n")
			if examples[key] == nil {
				examples[key] = &Pair{A: b, B: a, Missed: missed}
			}
			examples[key].Number++
		}
	}
	var pairs []Pair
	for _, key := range slices.Sorted(maps.Keys(examples)) {
		pairs = append(pairs, *examples[key])
	}
	slices.SortStableFunc(pairs, func(a, b Pair) int { return cmp.Compare(b.Number, a.Number) })
	return pairs
}

func (r Identified) key() string { return strings.Join(r.Causes, "+") + " " + strings.Join(r.IDs, "+") }

// Findings returns the ids with their signatures for people.
func (r Identified) Findings() string {
	var all []string
	for _, id := range r.IDs {
		all = append(all, id+" "+r.Signatures[id])
	}
	return strings.Join(all, "; ")
}

func meets(a, b []string) bool {
	return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
}

func count(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
