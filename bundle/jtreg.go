package bundle

import (
	"bytes"
	_ "embed"
	"math"
	"strings"
	"text/template"

	"misstep/bundle/standalone"
	misstepv1 "misstep/proto/misstep/v1"
)

//go:embed BundleTest.java.tmpl
var jtregText string

var jtregTemplate = template.Must(template.New("BundleTest.java").Parse(jtregText))

// Bounds of a jtreg test's tries, and the probability that the test passes despite the bug, for which they are chosen.
const (
	minTries     = 3
	maxTries     = 200
	unknownTries = 10 // if no rate is known
	missChance   = 0.01
)

// jtregTest returns a test that fails where run.sh reproduces the finding.
func jtregTest(c *Contents) ([]byte, error) {
	f := c.Reproducer.GetFinding()
	tries := triesFor(lowestRate(c.Reproducer))
	var b bytes.Buffer
	err := jtregTemplate.Execute(&b, struct {
		Bug, Summary, Finding      string
		Tries, Timeout, MinFeature int
	}{
		Bug: standalone.Bug(f.GetKnownAs()), Summary: javaComment(expected(c.Expect)), Finding: javaComment(f.GetId()),
		Tries: tries,
		// jtreg's own limit must not end a run that run.sh would end by itself.
		Timeout: tries*(c.Command.wallSeconds()+15) + 60, MinFeature: c.Command.MinFeature,
	})
	return b.Bytes(), err
}

// triesFor returns how many tries miss a bug of that rate with a probability of at most 1 %.
func triesFor(rate float64) int {
	switch {
	case rate <= 0 || math.IsNaN(rate):
		return unknownTries
	case rate >= 1:
		return minTries
	}
	return min(max(int(math.Ceil(math.Log(missChance)/math.Log1p(-rate))), minTries), maxTries)
}

// lowestRate returns the low end of the interval of the recipe's rate; 0 when nothing is known.
func lowestRate(r *misstepv1.Reproducer) float64 {
	if m := r.GetReliability(); m.GetTries() > 0 {
		return m.GetLow()
	}
	low := 0.0
	for _, rate := range r.GetFinding().GetRates() {
		if rate.GetJdk() == r.GetRecipe().GetJdk().GetName() && rate.GetWorkload() == r.GetRecipe().GetWorkload().GetName() {
			low = max(low, rate.GetLow())
		}
	}
	return low
}

// javaComment makes text safe inside a Java comment and a Java string: one line without anything that could end either.
func javaComment(text string) string {
	return strings.NewReplacer("*/", "* /", `\`, "/", `"`, "'").Replace(oneLine(text))
}
