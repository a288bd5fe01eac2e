package paired

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Verdict is what the pairs tell about one share, where less is better.
type Verdict string

// The verdicts.
const (
	// Better and Worse: the share after is smaller or larger by more than chance, and not known to be the same within the margin.
	Better Verdict = "better"
	Worse  Verdict = "worse"
	// Same: the 95 % interval of the ratio is within the margin.
	Same Verdict = "same"
	// Undecided: the pairs are too few to tell.
	Undecided Verdict = "undecided"
	// NotSeen: both shares are 0 in every trial.
	NotSeen Verdict = "not seen"
)

// Judge decides from the pairs, their ratio and their adjusted p-value. margin is above 1: ratios from 1/margin to margin are taken
// for the same.
func Judge(pairs []Pair, r Ratio, adjusted, margin, level float64) Verdict {
	direction := Direction(pairs)
	switch {
	case math.IsNaN(r.Value):
		return NotSeen
	case r.Low >= 1/margin && r.High <= margin:
		return Same
	case adjusted <= level && direction > 0 && r.Value > 1:
		return Worse
	case adjusted <= level && direction < 0 && r.Value < 1:
		return Better
	}
	return Undecided
}

// power with which so many pairs as Needed says would decide, if the ratio is as it was measured.
const power = 0.8

// Needed estimates how many pairs would decide what is undecided, in all, where tested hypotheses are tested together; infinite if
// that cannot be told.
func Needed(pairs []Pair, r Ratio, margin, level float64, tested int) float64 {
	n, limit := float64(len(pairs)), math.Log(margin)
	level /= float64(max(tested, 1))
	if math.IsInf(r.Error, 1) { // one side has next to nothing: enough pairs that all differ in one direction
		m := float64(Discordant(pairs))
		return n * math.Ceil(1-math.Log2(level)) / m
	}
	far := math.Abs(math.Log(r.Value))
	size := func(z, distance float64) float64 {
		if distance <= 0 {
			return math.Inf(1)
		}
		return n * math.Pow((z+normal(power))*r.Error/distance, 2)
	}
	return math.Ceil(math.Max(n+1, math.Min(size(normal(0.975), limit-far), size(normal(1-level/2), far))))
}

func normal(p float64) float64 { return distuv.UnitNormal.Quantile(p) }
