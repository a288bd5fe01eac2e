package web

import (
	"cmp"
	"math"
	"slices"

	misstepv1 "misstep/proto/misstep/v1"
)

// Charts are computed here in pixels of a drawing and written by templates, which escape what stands in them.

// bar is a rate with its 95 % interval on a scale from 0 on.
type bar struct {
	Width               float64
	Low, Span, At       float64
	Hits, Trials        uint64
	LowShare, HighShare float64
}

const barWidth = 160

// barOf draws a rate to a scale that ends with most.
func barOf(hits, trials uint64, low, high, most float64) bar {
	b := bar{Width: barWidth, Hits: hits, Trials: trials, LowShare: low, HighShare: high}
	if trials == 0 || most <= 0 {
		return b
	}
	scale := func(x float64) float64 { return math.Round(10*barWidth*min(x, most)/most) / 10 }
	b.Low, b.At = scale(low), scale(float64(hits)/float64(trials))
	b.Span = max(scale(high)-b.Low, 1)
	return b
}

// forest is a forest plot: what raises the rate of a finding, with an interval for each value, by dimension.
type forest struct {
	Width, Height, Left, Right float64
	Rows                       []forestRow
	Ticks                      []tick
}

// forestRow is a value of a dimension, or the dimension's name above its values.
type forestRow struct {
	Y, Low, High, At float64
	Heading, Label   string
	Factor           *misstepv1.FindingFactor
	// Class: "higher", "lower" or "even".
	Class string
}

// tick of the axis.
type tick struct {
	X     float64
	Label string
}

// forestOf draws the factors of dimensions with at least two values; the others compare nothing.
func forestOf(factors []*misstepv1.FindingFactor) forest {
	const row, left, plot, values = 22, 260, 340, 190
	f := forest{Width: left + plot + values, Left: left, Right: left + plot}
	of := map[string]int{} // number of values by dimension
	for _, x := range factors {
		of[x.GetDimension()]++
	}
	alone := func(x *misstepv1.FindingFactor) bool { return of[x.GetDimension()] < 2 }
	factors = slices.DeleteFunc(slices.Clone(factors), alone)
	most := 0.0
	for _, x := range factors {
		most = max(most, x.GetHigh())
	}
	if most == 0 {
		return forest{}
	}
	step := niceStep(most / 4)
	most = math.Ceil(most/step-1e-9) * step
	x := func(share float64) float64 { return math.Round(10*(left+plot*share/most)) / 10 }
	for at := 0.0; at <= most+step/2; at += step {
		f.Ticks = append(f.Ticks, tick{x(at), share(at)})
	}
	y, dimension := float64(row), ""
	for _, factor := range factors {
		if factor.GetDimension() != dimension {
			dimension = factor.GetDimension()
			f.Rows = append(f.Rows, forestRow{Y: y, Heading: dimension})
			y += row
		}
		at := 0.0
		if factor.GetTrials() > 0 {
			at = float64(factor.GetHits()) / float64(factor.GetTrials())
		}
		f.Rows = append(f.Rows, forestRow{
			Y: y, Low: x(factor.GetLow()), High: x(factor.GetHigh()), At: x(at), Label: cmp.Or(factor.GetValue(), "none"),
			Factor: factor, Class: map[int32]string{1: "higher", -1: "lower", 0: "even"}[factor.GetEffect()],
		})
		y += row
	}
	f.Height = y + row
	return f
}

// niceStep is the least of 1, 2 and 5 times a power of ten that is not below x.
func niceStep(x float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(x)))
	for _, m := range []float64{1, 2, 5, 10} {
		if m*power >= x-1e-12 {
			return m * power
		}
	}
	return 10 * power
}

// piece of a bar of shares, in percent of its width.
type piece struct {
	X, Width float64
	Class    string
}

// offsets puts shares beside each other.
func offsets(list []counted) []piece {
	var all []piece
	x := 0.0
	for _, c := range list {
		width := 100 * c.Share
		all = append(all, piece{math.Round(100*x) / 100, math.Round(100*width) / 100, c.Name})
		x += width
	}
	return all
}
