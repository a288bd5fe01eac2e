package triagetest

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// Share is a figure between 0 and 1 with its 95 % interval; NaN when there is nothing to count.
type Share struct{ Value, Low, High float64 }

// Score of a grouping.
type Score struct {
	Items, Labels, Findings int
	// Precision is the share of the pairs of items in one finding that have one label, Recall the share of the pairs with one label
	// that are in one finding.
	Precision, Recall Share
	// BPrecision and BRecall are the same by item (B-cubed: Bagga and Baldwin 1998): the mean over the items of the share of its
	// finding that has its label, and of its label that is in its finding.
	BPrecision, BRecall Share
}

// draws of the bootstrap.
const draws = 1000

// Measure scores a grouping. Intervals are by bootstrap over labels, 1000 draws with the seed: items of one label are not
// independent, and the question is how other bugs would be grouped. A label that is drawn twice counts as two labels
// with the same items, which are not compared with each other.
func Measure(items []Item, seed uint64) Score {
	t := tabulate(items)
	findings := 0
	if len(t) > 0 {
		findings = len(t[0])
	}
	shares := bootstrap(len(t), seed, t.figures)
	return Score{len(items), len(t), findings, shares[0], shares[1], shares[2], shares[3]}
}

// bootstrap returns the figures of n labels with their 95 % intervals: figures computes them when each label counts as often as its
// weight says, in each draw as often as it was drawn. A figure that is not a number in a draw is left out of its interval.
func bootstrap(n int, seed uint64, figures func(weight []float64) []float64) []Share {
	weight := make([]float64, n)
	for l := range weight {
		weight[l] = 1
	}
	values := figures(weight)
	random := rand.New(rand.NewPCG(seed, 0))
	drawn := make([][]float64, len(values))
	for range draws {
		clear(weight)
		for range weight {
			weight[random.IntN(n)]++
		}
		for i, v := range figures(weight) {
			if !math.IsNaN(v) {
				drawn[i] = append(drawn[i], v)
			}
		}
	}
	shares := make([]Share, len(values))
	for i, v := range values {
		shares[i] = Share{v, math.NaN(), math.NaN()}
		if d := drawn[i]; len(d) > 0 {
			slices.Sort(d)
			shares[i].Low, shares[i].High = d[len(d)*25/1000], d[len(d)*975/1000]
		}
	}
	return shares
}

// table counts items by label and finding.
type table [][]float64

func tabulate(items []Item) table {
	labels, findings := map[string]int{}, map[string]int{}
	for _, i := range items {
		if _, ok := labels[i.Label]; !ok {
			labels[i.Label] = len(labels)
		}
		if _, ok := findings[i.Finding]; !ok {
			findings[i.Finding] = len(findings)
		}
	}
	t := make(table, len(labels))
	for l := range t {
		t[l] = make([]float64, len(findings))
	}
	for _, i := range items {
		t[labels[i.Label]][findings[i.Finding]]++
	}
	return t
}

// figures are precision, recall, and both of B-cubed, when label l counts weight[l] times.
func (t table) figures(weight []float64) []float64 {
	if len(t) == 0 {
		return []float64{math.NaN(), math.NaN(), math.NaN(), math.NaN()}
	}
	size := make([]float64, len(t[0])) // of each finding
	for l, row := range t {
		for f, n := range row {
			size[f] += weight[l] * n
		}
	}
	var together, same, right, items, precision, recall float64
	for l, row := range t {
		w := weight[l]
		if w == 0 {
			continue
		}
		all, squares := 0.0, 0.0
		for f, n := range row {
			if n == 0 {
				continue
			}
			all += n
			squares += n * n
			pairs := n * (n - 1) / 2
			right += w * pairs
			together += w * (pairs + n*(size[f]-w*n)/2) // each pair of two labels is met from both
			precision += w * n * n / (size[f] - (w-1)*n)
		}
		items += w * all
		same += w * all * (all - 1) / 2
		recall += w * squares / all
	}
	return []float64{right / together, right / same, precision / items, recall / items}
}

// Confusion is one finding with more than one label, or one label in more than one finding.
type Confusion struct {
	// Of names the finding's signature, or the label.
	Of string
	// Parts are the labels, or the signatures, with their items, most first.
	Parts []Part
	// Wrong is the number of pairs that are together and should not be, or the other way round.
	Wrong int
}

// Part of a confusion.
type Part struct {
	Name  string
	Items int
}

// Merged lists the findings that hold more than one label, the worst first.
func Merged(items []Item) []Confusion {
	return confusions(items, func(i Item) (string, string) { return i.Signature, i.Label })
}

// Split lists the labels that are in more than one finding, the worst first.
func Split(items []Item) []Confusion {
	return confusions(items, func(i Item) (string, string) { return i.Label, i.Signature })
}

func confusions(items []Item, key func(Item) (of, part string)) []Confusion {
	counts := map[string]map[string]int{}
	for _, i := range items {
		of, part := key(i)
		if counts[of] == nil {
			counts[of] = map[string]int{}
		}
		counts[of][part]++
	}
	var all []Confusion
	for of, parts := range counts {
		if len(parts) < 2 {
			continue
		}
		c := Confusion{Of: of}
		total, squares := 0, 0
		for name, n := range parts {
			c.Parts = append(c.Parts, Part{name, n})
			total += n
			squares += n * n
		}
		c.Wrong = (total*total - squares) / 2
		slices.SortFunc(c.Parts, func(a, b Part) int { return cmp.Or(cmp.Compare(b.Items, a.Items), cmp.Compare(a.Name, b.Name)) })
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b Confusion) int { return cmp.Or(cmp.Compare(b.Wrong, a.Wrong), cmp.Compare(a.Of, b.Of)) })
	return all
}
