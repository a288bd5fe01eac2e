package paired

import (
	"cmp"
	"math"
	"slices"
)

// Tested is one of several hypotheses that are tested together.
type Tested struct {
	// P is the p-value, Least the smallest that it could have been with these pairs whatever their direction.
	P, Least float64
}

// Holm adjusts the p-values of hypotheses that are tested together, so that the probability that any of those that hold is rejected
// is at most level when those with an adjusted value of at most level are rejected (S. Holm, 1979).
//
// Hypotheses that could not have been rejected whatever the direction of their pairs do not count as tested, and get 1: a bug that
// was seen in two trials must not make it harder to tell that another one became more frequent (R. E. Tarone, 1990). This is
// allowed because the test's assignments change only the direction of pairs. tested is the number of hypotheses that count.
func Holm(all []Tested, level float64) (adjusted []float64, tested int) {
	least := make([]float64, 0, len(all))
	for _, t := range all {
		least = append(least, t.Least)
	}
	slices.Sort(least)
	// The smallest k such that at most k hypotheses could be rejected at level/k.
	k := 1
	for k < len(least) && least[k] <= level/float64(k) {
		k++
	}
	var order []int
	adjusted = make([]float64, len(all))
	for i, t := range all {
		adjusted[i] = 1
		if t.Least <= level/float64(k) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(all[i].P, all[j].P) })
	worst := 0.0
	for rank, i := range order {
		worst = math.Max(worst, math.Min(1, float64(len(order)-rank)*all[i].P))
		adjusted[i] = worst
	}
	return adjusted, max(len(order), 1)
}
