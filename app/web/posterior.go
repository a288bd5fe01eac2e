package web

import (
	"fmt"
	"math"
	"strings"

	misstepv1 "misstep/proto/misstep/v1"
)

// posterior is a chart of the probability that each build has a bug, in the order of the builds.
type posterior struct {
	Width, Height float64
	// Left is where the bars begin, Top the height of certainty.
	Left, Top float64
	// End is where the last bar ends, or its name, which needs some room beside that of the first one.
	End  float64
	Bars []posteriorBar
	// Ticks have the height as X.
	Ticks []tick
	Marks []posteriorMark
	// First and Last build.
	First, Last string
	// Text says what it shows.
	Text string
}

// posteriorBar is a build; its class is "tried", "inferred" from others' tries, or "skipped".
type posteriorBar struct {
	box
	Class string
}

// posteriorMark names a build above its bar; Anchor is the end of the text that is there.
type posteriorMark struct {
	X, Y         float64
	Text, Anchor string
}

// verdictOf a build in words.
func verdictOf(b *misstepv1.BisectedBuild) string {
	switch {
	case b.GetSkipped() != "":
		return "could not be tried"
	case b.GetAffected() >= 0.95:
		return "has it"
	case b.GetAffected() <= 0.05:
		return "has it not"
	}
	return "is uncertain"
}

func posteriorOf(b *misstepv1.Bisection) posterior {
	const left, top, plot, below = 60, 42, 100, 22
	n := float64(len(b.GetBuilds()))
	if n == 0 {
		return posterior{}
	}
	step := math.Floor(min(max(640/n, 5), 56))
	c := posterior{Width: left + max(step*n, 340), Height: top + plot + below, Left: left, Top: top, End: left + max(step*n, 190)}
	for _, p := range []float64{0, 0.5, 1} {
		c.Ticks = append(c.Ticks, tick{top + plot*(1-p), share(p)})
	}
	var texts []string
	verdict, first, last := "", "", ""
	say := func() {
		switch {
		case verdict == "":
		case first == last:
			texts = append(texts, fmt.Sprintf("%s %s", first, verdict))
		default:
			texts = append(texts, fmt.Sprintf("%s to %s: each %s", first, last, verdict))
		}
	}
	for i, build := range b.GetBuilds() {
		name, now := build.GetJdk().GetName(), verdictOf(build)
		bar := posteriorBar{Class: "tried", box: box{X: left + step*float64(i), Width: step - 2, Title: fmt.Sprintf(
			"%s: %s, %d of %d tries", name, share(build.GetAffected()), build.GetHits(), build.GetTries())}}
		bar.Height = max(2, math.Round(10*plot*build.GetAffected())/10)
		switch {
		case build.GetSkipped() != "":
			bar.Class, bar.Height, bar.Title = "skipped", plot, name+": "+build.GetSkipped()
		case build.GetTries() == 0:
			bar.Class = "inferred"
		}
		bar.Y = top + plot - bar.Height
		c.Bars = append(c.Bars, bar)
		for k, mark := range []struct{ build, text string }{
			{b.GetFirstAffected(), "first affected: "}, {b.GetFirstFixed(), "fixed in "},
		} {
			if name == mark.build {
				at := posteriorMark{X: bar.X + bar.Width/2, Y: 14 + 16*float64(k), Text: mark.text + name, Anchor: "start"}
				if at.X > (left+c.Width)/2 {
					at.Anchor = "end"
				}
				c.Marks = append(c.Marks, at)
			}
		}
		if now != verdict {
			say()
			verdict, first = now, name
		}
		last = name
	}
	say()
	c.First, c.Last = b.GetBuilds()[0].GetJdk().GetName(), last
	c.Text = fmt.Sprintf("Probability that a build has the bug: %s; the table below has the numbers", strings.Join(texts, ", "))
	return c
}
