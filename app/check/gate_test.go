package check

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/app/cireport"
	"misstep/known"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/runner/jvm"
)

func profiled(count, samples uint64) *Report {
	return &Report{Outcome: "clean", Profiles: []Profile{
		{
			Check: recipe.AsgctShadow, Walker: recipe.WalkerAsgct, Samples: samples, Wrong: share(count/2, samples),
			CutOff: share(count-count/2, samples), Lost: 0.25,
		},
		{Check: recipe.JfrShadow, Walker: recipe.SamplerJFR, Samples: 10000},
	}}
}

func limit(t *testing.T, walker string, share float64) []Limit {
	t.Helper()
	l, err := NewLimit(walker, share)
	require.NoError(t, err)
	return []Limit{l}
}

// A share that may be above its limit by chance fails nothing; one that is above it beyond chance does, for the walker that was
// named.
func TestLimits(t *testing.T) {
	for name, c := range map[string]struct {
		count, samples uint64
		limits         []Limit
		states         []string
	}{
		"one bad sample of few":     {1, 20, limit(t, "asgct", 0.005), []string{BoundHeld}},
		"a share within its limit":  {40, 10000, limit(t, "asgct", 0.005), []string{BoundHeld}},
		"above it, by chance":       {58, 10000, limit(t, "asgct", 0.005), []string{BoundHeld}},
		"above it":                  {90, 10000, limit(t, "asgct", 0.005), []string{BoundExceeded}},
		"of all walkers":            {90, 10000, limit(t, "", 0.005), []string{BoundExceeded, BoundHeld}},
		"another walker":            {90, 10000, limit(t, "jfr", 0.005), []string{BoundHeld}},
		"a walker without a sample": {90, 10000, limit(t, "async-profiler", 0.005), []string{BoundVoid}},
		"nothing at all may be bad": {1, 10000, limit(t, "asgct", 0), []string{BoundExceeded}},
	} {
		r := profiled(c.count, c.samples)
		v := Gate{FailOn: FailOnNone, Spoiled: c.limits}.Judge(r)
		var states []string
		for _, b := range r.Bounds {
			states = append(states, b.State)
		}
		assert.Equal(t, c.states, states, name)
		assert.Equal(t, c.states[0] == BoundExceeded, len(v.Failed) > 0, "%s: %v", name, v)
		assert.Equal(t, c.states[0] == BoundVoid, len(v.Unproved) > 0, "%s: %v", name, v)
	}
	r := profiled(0, 10000)
	v := Gate{FailOn: FailOnNone, Lost: limit(t, "", 0.2)}.Judge(r)
	assert.Equal(t, []string{"max-lost of AsyncGetCallTrace (asgct-shadow), at most 20%: exceeded; 2500 of 10000 samples, " +
		"95 % interval 24.2% to 25.9%"}, v.Failed)
	_, err := NewLimit("agct", 0.1)
	assert.ErrorContains(t, err, `"agct" is no walker; there are asgct, gst, jfr, async-profiler`)
}

func TestWhatAGateFailsOn(t *testing.T) {
	old, fresh := Bug{ID: "JDK-1", Known: true}, Bug{ID: "F1"}
	for _, c := range []struct {
		failOn           string
		bugs             []Bug
		outcome          string
		failed, unproved int
	}{
		{FailOnNone, []Bug{fresh}, "mismatches", 0, 0},
		{FailOnNone, nil, "void", 0, 0},
		{FailOnNew, []Bug{old}, "mismatches", 0, 0},
		{FailOnNew, []Bug{old, fresh}, "mismatches", 1, 0},
		{FailOnFinding, []Bug{old}, "mismatches", 1, 0},
		{FailOnFinding, nil, "clean", 0, 0},
		{FailOnNew, nil, "void", 0, 1},
	} {
		v := Gate{FailOn: c.failOn}.Judge(&Report{Bugs: c.bugs, Outcome: c.outcome, Reason: "why"})
		assert.Len(t, v.Failed, c.failed, "%+v", c)
		assert.Len(t, v.Unproved, c.unproved, "%+v", c)
	}
	assert.False(t, Gate{FailOn: FailOnNone}.On())
	assert.True(t, Gate{Lost: []Limit{{}}}.On())
}

// A build server shows a failure exactly where the command fails.
func TestCases(t *testing.T) {
	states := func(g Gate, r *Report) map[string]cireport.State {
		g.Judge(r)
		of := map[string]cireport.State{}
		for _, c := range g.Cases(r) {
			of[c.Group+" "+c.Name] = c.State
		}
		return of
	}
	r := profiled(90, 10000)
	r.Command = []string{"java", "-jar", "app.jar"}
	r.Bugs = []Bug{{ID: "F1", Kinds: []string{"missing"}, Checks: []string{recipe.AsgctShadow}}, {ID: "JDK-1", Known: true}}
	r.Checks = []Count{{Check: recipe.Edges}, {Check: recipe.AsgctShadow, Match: 1}}
	got := states(Gate{FailOn: FailOnNew, Spoiled: limit(t, "asgct", 0.005)}, r)
	assert.Equal(t, map[string]cireport.State{
		"program end": cireport.Passed, "check every walker was judged": cireport.Passed,
		"check edges": cireport.Skipped, "check asgct-shadow": cireport.Passed,
		"limit max-spoiled AsyncGetCallTrace asgct-shadow": cireport.Failed,
		"finding F1": cireport.Failed, "finding JDK-1": cireport.Allowed,
	}, got)
	cases := Gate{FailOn: FailOnNew}.Cases(r)
	assert.Equal(t, "asgct-shadow/missing", cases[len(cases)-2].Rule)
	assert.Equal(t, "app.jar", cases[len(cases)-2].Artifact)

	void := &Report{Outcome: "void", Reason: "short", ExitCode: 3}
	assert.Equal(t, map[string]cireport.State{
		"program end": cireport.Failed, "check every walker was judged": cireport.Skipped,
	}, states(Gate{FailOn: FailOnNone}, void))
	void.Stopped = true
	assert.Equal(t, map[string]cireport.State{
		"program end": cireport.Passed, "check every walker was judged": cireport.Failed,
	}, states(Gate{FailOn: FailOnFinding}, void))
}

func TestArtefactOfACommand(t *testing.T) {
	for want, command := range map[string][]string{
		"a.jar":     {"java", "-Xmx1g", "-jar", "a.jar", "-cp"},
		"lib/b.jar": {"java", "-cp", "lib/b.jar:c", "Main"},
		"./run.sh":  {"./run.sh", "-x"},
		"":          nil,
	} {
		assert.Equal(t, want, artefact(command))
	}
}

// What is accepted is known to the next run, and nothing else is: neither another kind nor another place.
func TestAcceptedFindings(t *testing.T) {
	found := func(kinds ...string) *misstepv1.Outcome {
		o := &misstepv1.Outcome{Checks: counted(5, uint64(len(kinds)))[:1]}
		for _, kind := range kinds {
			o.Mismatches = append(o.Mismatches, &misstepv1.Mismatch{
				Check: recipe.AsgctShadow, Kind: kind, Count: 1, Divergence: 1,
				Reference: trace("shadow", "b", "a"), Suspect: trace("asgct", "x", "a"),
			})
		}
		return o
	}
	side := jvm.Alongside{Recipe: &misstepv1.Recipe{Jdk: &misstepv1.Jdk{Version: "25.0.3"}}}
	file := filepath.Join(t.TempDir(), "accepted.yaml")
	const before = "# ours\n- {id: PROJ-1, matches: [{kind: crash, parts: [SIGSEGV, \"frame: f\"]}]}" // without an end of line
	require.NoError(t, os.WriteFile(file, []byte(before), 0o600))

	first := report(nil, 1, side, found("wrong-method"), none)
	require.True(t, first.New())
	ids, err := first.Accept(file, time.Unix(0, 0))
	require.NoError(t, err)
	require.Equal(t, []string{first.Bugs[0].ID}, ids)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Contains(t, string(text), before+"\n- id: "+ids[0]+"\n")
	own, err := known.ParseOwn(text)
	require.NoError(t, err)
	require.Len(t, own, 2)
	assert.Empty(t, known.Warnings(own[1]))
	catalogue, err := known.Own(own)
	require.NoError(t, err)

	again := report(nil, 1, side, found("wrong-method", "foreign"), catalogue)
	require.Len(t, again.Bugs, 2)
	for _, b := range again.Bugs {
		assert.Equal(t, b.ID == ids[0], b.Known, "%+v", b)
	}
	ids, err = again.Accept(file, time.Unix(0, 0))
	require.NoError(t, err)
	assert.Len(t, ids, 1)
	ids, err = again.Accept(file, time.Unix(0, 0))
	require.NoError(t, err)
	assert.Empty(t, ids, "twice is once")

	empty := filepath.Join(t.TempDir(), "empty.yaml")
	_, err = (&Report{}).Accept(empty, time.Unix(0, 0))
	require.NoError(t, err)
	text, err = os.ReadFile(empty)
	require.NoError(t, err, "the next run reads it, though nothing was found")
	own, err = known.ParseOwn(text)
	require.NoError(t, err)
	assert.Empty(t, own)

	require.NoError(t, os.WriteFile(file, []byte("[{id: P, matches: [{kind: crash, parts: [SIGSEGV]}]}]\n"), 0o600))
	_, err = again.Accept(file, time.Unix(0, 0))
	require.ErrorContains(t, err, "it needs a list with a line")
	text, err = os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, "[{id: P, matches: [{kind: crash, parts: [SIGSEGV]}]}]\n", string(text), "the file is as it was")
}

// Only the checks of a walker are made where one is named.
func TestChecksOfAWalker(t *testing.T) {
	for _, c := range []struct {
		Selection
		want []string
	}{
		{Selection{Walker: "asgct", Ratio: 1}, []string{recipe.GstAsgct, recipe.AsgctShadow}},
		{Selection{Walker: "asgct", Light: true}, []string{recipe.AsgctGstBracket}},
		{Selection{Walker: "gst", Ratio: 1}, []string{recipe.ShadowGst}},
		{
			Selection{Walker: "jfr", Ratio: 1, Profiler: &misstepv1.Profiler{Name: "jfr"}},
			[]string{recipe.JfrShadow, recipe.JfrChunks, recipe.EventEdges},
		},
		{
			Selection{Walker: "async-profiler", Ratio: 1, Profiler: &misstepv1.Profiler{Name: "async-profiler"}},
			[]string{recipe.ProfilerShadow, recipe.EventEdges},
		},
	} {
		r, err := c.recipe(&misstepv1.Jdk{Version: "25.0.3"}, nil)
		require.NoError(t, err, "%+v", c.Selection)
		var got []string
		for _, check := range r.GetChecks() {
			got = append(got, check.GetName())
		}
		assert.Equal(t, c.want, got)
	}
	for _, s := range []Selection{{Walker: "jfr", Ratio: 1}, {Walker: "gst", Light: true}} {
		_, err := s.recipe(&misstepv1.Jdk{Version: "25.0.3"}, nil)
		require.ErrorContains(t, err, "no check that fits judges it")
	}
}
