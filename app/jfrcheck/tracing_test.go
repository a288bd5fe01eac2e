package jfrcheck

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"misstep/internal/testenv"
	"misstep/recipe"
	"misstep/runner/recording"
)

func TestTracedMethods(t *testing.T) {
	for _, c := range []struct {
		kind, name, filter string
		traced             bool
	}{
		{"jdk.MethodTrace", "filter", "", false},
		{"jdk.MethodTrace", "filter", "p.Main", true},
		{"jdk.MethodTiming", "filter", "q.Other; p.Main::run", true},
		{"jdk.MethodTrace", "filter", "p.Main::main", false},
		{"jdk.MethodTrace", "filter", "q.Main::run", false},
		{"jdk.MethodTrace", "filter", "::run", true},
		{"jdk.MethodTrace", "filter", "@jakarta.ws.rs.GET", true},
		{"jdk.MethodTrace", "threshold", "p.Main", false},
		{"jdk.FileRead", "filter", "p.Main", false},
	} {
		filters := tracing{}
		filters.setting(&recording.Setting{Type: c.kind, Name: c.name, Value: c.filter})
		assert.Equal(t, c.traced, filters.has("p.Main", "run"), "%+v", c)
	}
}

// The edges of methods that JFR instruments are not those of the class files.
func TestEdgesOfTracedMethods(t *testing.T) {
	jdk := testenv.Catalogued(t, "jdk17").Path
	_, bad, _ := realCall(t, jdk)
	r := run(t, Options{JDK: jdk}, chunk(0), event(0, bad),
		&recording.Setting{Type: "jdk.MethodTrace", Name: "filter", Value: "java.util.concurrent.FutureTask::run"})
	c := checkOf(t, r, recipe.EventEdges)
	assert.Zero(t, c.Wrong)
	assert.EqualValues(t, 1, c.Void[otherFile])
	assert.False(t, r.Fails(TouchesBookkeeping))
}

// Where the recorder lost the filters, events of traced methods say that there were any.
func TestEdgesOfTracedMethodsWithoutFilters(t *testing.T) {
	jdk := testenv.Catalogued(t, "jdk17").Path
	_, bad, _ := realCall(t, jdk)
	traced := event(1, bad)
	traced.Type = "jdk.MethodTrace"
	c := checkOf(t, run(t, Options{JDK: jdk}, chunk(0), event(0, bad), traced), recipe.EventEdges)
	assert.Zero(t, c.Wrong)
	assert.EqualValues(t, 2, c.Void[otherFile])
	c = checkOf(t, run(t, Options{JDK: jdk}, chunk(0), event(0, bad), event(1, bad)), recipe.EventEdges)
	assert.EqualValues(t, 2, c.Wrong)
}
