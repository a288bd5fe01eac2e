package web_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"google.golang.org/grpc"

	"misstep/app/web"
	misstepv1 "misstep/proto/misstep/v1"
)

// bisected is a connection to a coordinator that bisects each finding, and has bisected it before.
type bisected struct{ grpc.ClientConnInterface }

func (c bisected) Invoke(ctx context.Context, method string, in, out any, options ...grpc.CallOption) error {
	if err := c.ClientConnInterface.Invoke(ctx, method, in, out, options...); err != nil {
		return err
	}
	if m, ok := out.(*misstepv1.ListReproductionsResponse); ok {
		m.Reproductions = []*misstepv1.ReproductionStatus{
			{Id: "R2", State: misstepv1.ReproductionState_REPRODUCTION_STATE_RUNNING, Bisection: bisection(0.5)},
			{
				Id: "R1", State: misstepv1.ReproductionState_REPRODUCTION_STATE_DONE,
				Reproducer: &misstepv1.Reproducer{Bisection: bisection(0.99)},
			},
		}
	}
	return nil
}

// bisection of six builds, of which 17.0.3 is tried most, and 17.0.5 cannot be tried.
func bisection(of3 float64) *misstepv1.Bisection {
	build := func(name string, affected float64, hits, tries uint32) *misstepv1.BisectedBuild {
		return &misstepv1.BisectedBuild{Jdk: &misstepv1.Jdk{Name: name}, Affected: affected, Hits: hits, Tries: tries}
	}
	b := &misstepv1.Bisection{
		Builds: []*misstepv1.BisectedBuild{
			build("jdk17.0.1", 0.001, 0, 40), build("jdk17.0.2", 0.01, 0, 0), build("jdk17.0.3", of3, 3, 30),
			build("jdk17.0.4", 1, 0, 0), build("jdk17.0.5", 0, 0, 0), build("jdk17.0.6", 0, 0, 50),
		},
		LastGood: "jdk17.0.2", FirstAffected: "jdk17.0.3", LastAffected: "jdk17.0.4", FirstFixed: "jdk17.0.6", Confidence: 0.9,
	}
	b.Builds[4].Skipped = "it does not start"
	return b
}

func onBisected(o *web.Options) { o.Conn = bisected{o.Conn} }

// A bisection is a chart, also while it runs, whose text says the same.
func TestPosterior(t *testing.T) {
	s := newScene(t, onBisected)
	s.run(50, usual()[0])
	doc := s.page(s.findingOf("Both"))
	running, done := doc.Find("[data-part=reproduction-R2] svg"), doc.Find("[data-part=reproduction-R1] svg")
	assert.Equal(t, "Probability that a build has the bug: jdk17.0.1 to jdk17.0.2: each has it not, jdk17.0.3 is uncertain, "+
		"jdk17.0.4 has it, jdk17.0.5 could not be tried, jdk17.0.6 has it not; the table below has the numbers",
		running.AttrOr("aria-label", ""))
	assert.Contains(t, done.AttrOr("aria-label", ""), "jdk17.0.3 to jdk17.0.4: each has it, ")
	assert.Equal(t, 6, done.Find("rect").Length())
	assert.Equal(t, 2, done.Find("rect.inferred").Length())
	third := running.Find("rect").Eq(2)
	assert.Equal(t, "50", third.AttrOr("height", ""), "half of the height")
	assert.Equal(t, "92", third.AttrOr("y", ""))
	assert.Equal(t, "jdk17.0.3: 50\u202f%, 3 of 30 tries", third.Find("title").Text())
	assert.Contains(t, done.Text(), "first affected: jdk17.0.3")
	assert.Contains(t, done.Text(), "fixed in jdk17.0.6")
	assert.Equal(t, 6, doc.Find("[data-part=reproduction-R1] tbody tr").Length(), "the same as a table")
}
