package jfrcheck

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/agent"
	"misstep/internal/testenv"
	"misstep/recipe"
	"misstep/runner/judge/classes"
	"misstep/runner/recording"
)

// realCall finds a call in a class of a JDK: stacks with it, of frames that have their lines. No JVM runs.
func realCall(t *testing.T, jdk string) (good, bad, otherLine *recording.Stack) {
	t.Helper()
	p, err := classes.Open("", jdk)
	require.NoError(t, err)
	defer p.Close()
	const name = "java.util.concurrent.FutureTask"
	file := p.Find(name)[0]
	frame := func(class, method, descriptor string, bci, line int32) recording.Frame {
		return recording.Frame{
			Method: &recording.Method{Class: class, Name: method, Descriptor: descriptor}, BCI: bci, Line: line, Kind: recording.Compiled,
		}
	}
	for _, m := range file.Methods {
		for _, s := range m.Code {
			if s.Target < 0 || m.Name != "run" || s.Opcode != 182 { // invokevirtual
				continue
			}
			to := file.Targets[s.Target]
			if owners := p.Find(to.Owner); to.Polymorphic || len(owners) != 1 || !owners[0].Has(to.Name, to.Descriptor) {
				continue
			}
			line := file.Line(m.Name, m.Descriptor, int32(s.BCI))
			stack := func(callee, descriptor string, line int32) *recording.Stack {
				return &recording.Stack{Frames: []recording.Frame{
					frame(strings.ReplaceAll(to.Owner, "/", "."), callee, descriptor, 0, 0),
					frame(name, m.Name, m.Descriptor, int32(s.BCI), line),
				}}
			}
			for _, other := range methodsOf(p.Find(to.Owner)) { // of the same class, and not what is called there
				if other.Name != to.Name && other.Upcall == 0 {
					return stack(to.Name, to.Descriptor, line), stack(other.Name, other.Descriptor, line),
						stack(other.Name, other.Descriptor, line+1)
				}
			}
		}
	}
	t.Fatalf("%s.run has no call with which the test can begin", name)
	return nil, nil, nil
}

func methodsOf(files []*classes.Class) (all []agent.SiteMethod) {
	for _, f := range files {
		all = append(all, f.Methods...)
	}
	return all
}

func TestEdgesByClassFiles(t *testing.T) {
	jdk := testenv.Catalogued(t, "jdk17").Path
	good, bad, otherLine := realCall(t, jdk)
	o := Options{JDK: jdk}

	r := run(t, o, chunk(0), event(0, good), event(1, good))
	c := checkOf(t, r, recipe.EventEdges)
	assert.EqualValues(t, 2, c.Right)
	assert.False(t, r.Fails(TouchesBookkeeping))

	r = run(t, o, chunk(0), event(0, good), event(1, bad), event(2, bad))
	c = checkOf(t, r, recipe.EventEdges)
	assert.EqualValues(t, 1, c.Right)
	assert.EqualValues(t, 2, c.Wrong)
	require.Len(t, r.Faults, 1)
	f := r.Faults[0]
	assert.Equal(t, "impossible-edge", f.Kind)
	assert.EqualValues(t, 2, f.Count)
	assert.Contains(t, f.Place, "java.util.concurrent.FutureTask.run @ ")
	assert.Contains(t, f.Place, " calls "+methodName(bad.Frames[0].Method))
	assert.Contains(t, f.Detail, "the instruction there calls ")
	assert.Contains(t, f.Detail, good.Frames[0].Method.Name)
	assert.Len(t, f.Stack, 2)

	r = run(t, o, chunk(0), event(0, otherLine))
	c = checkOf(t, r, recipe.EventEdges)
	assert.Zero(t, c.Wrong, "another version of the class ran")
	assert.EqualValues(t, 1, c.Void[otherFile])
	assert.False(t, r.Fails(TouchesBookkeeping))
	assert.Contains(t, strings.Join(r.Notes, "\n"), "are not those that ran (other lines): java.util.concurrent.FutureTask")
}

// Edges beyond those that are kept are void as well where the class files are of another build.
func TestMoreEdgesThanAreKept(t *testing.T) {
	jdk := testenv.Catalogued(t, "jdk17").Path
	_, bad, _ := realCall(t, jdk)
	const each = mostFaults + 10
	var all [][]recording.Record
	for range 2 {
		records := []recording.Record{chunk(0), &recording.Setting{
			Type: "jdk.JVMInformation", Name: "jvmVersion", Value: "OpenJDK 64-Bit Server VM (25.0.3+9-LTS) for linux-amd64",
		}}
		for bci := range int32(each) {
			stack := &recording.Stack{Frames: slices.Clone(bad.Frames)}
			stack.Frames[1].BCI = bci
			records = append(records, event(0, stack))
		}
		all = append(all, records)
	}
	r := runAll(t, Options{JDK: jdk}, all...)
	c := checkOf(t, r, recipe.EventEdges)
	assert.Zero(t, c.Wrong)
	assert.Greater(t, c.Void[otherFile], uint64(2*mostFaults))
	assert.Empty(t, r.Faults)
}

// runAll checks recordings with these records, each in a file of its own.
func runAll(t *testing.T, o Options, recordings ...[]recording.Record) *Report {
	t.Helper()
	reader := byFile{}
	o.MaxBytes, o.Top = 1<<20, 10
	for _, records := range recordings {
		file := recordingFile(t)
		reader[file] = records
		o.Files = append(o.Files, file)
	}
	r, failed, err := Run(t.Context(), reader.Read, o)
	require.NoError(t, err)
	require.Empty(t, failed)
	return r
}

// The same edge in recordings of JFR and of async-profiler is a fault of each.
func TestEdgesOfEachProfilerAreItsOwn(t *testing.T) {
	jdk := testenv.Catalogued(t, "jdk17").Path
	_, bad, _ := realCall(t, jdk)
	r := runAll(t, Options{JDK: jdk},
		[]recording.Record{chunk(0), event(0, bad)},
		[]recording.Record{chunk(0), event(0, bad), &recording.Setting{Type: "jdk.ActiveRecording", Name: "version", Value: "4.1"}},
		[]recording.Record{chunk(0), event(0, bad), event(1, bad)},
	)
	counts := map[string]uint64{}
	for _, f := range r.Faults {
		counts[f.Check+" "+f.Profiler] += f.Count
	}
	assert.Equal(t, map[string]uint64{"event-edges jfr": 3, "event-edges async-profiler": 1}, counts)
	assert.EqualValues(t, 4, checkOf(t, r, recipe.EventEdges).Wrong)
}

// JFR leaves frames out of jdk.ThreadSleep's stacks from 24 on (rule stack-filter): before, such an edge is wrong.
func TestFramesAreLeftOutByNewerJDKsOnly(t *testing.T) {
	for name, wrong := range map[string]uint64{"jdk17": 1, "jdk25": 0} {
		jdk := testenv.Catalogued(t, name).Path
		p, err := classes.Open("", jdk)
		require.NoError(t, err)
		defer p.Close()
		sleeps := &recording.Stack{}
		unit := p.Find("java.util.concurrent.TimeUnit")[0]
		for _, m := range unit.Methods {
			for _, s := range m.Code {
				if s.Target < 0 || unit.Targets[s.Target].Owner != "java/lang/Thread" || unit.Targets[s.Target].Name != "sleep" {
					continue
				}
				sleeps.Frames = []recording.Frame{
					{Method: method("java.lang.Thread", "interrupt", 1), Kind: recording.Compiled},
					{
						Method: &recording.Method{Class: unit.Name, Name: m.Name, Descriptor: m.Descriptor}, BCI: int32(s.BCI),
						Line: unit.Line(m.Name, m.Descriptor, int32(s.BCI)), Kind: recording.Compiled,
					},
				}
			}
		}
		require.Len(t, sleeps.Frames, 2, "TimeUnit.sleep calls Thread.sleep")
		slept := event(0, sleeps)
		slept.Type = "jdk.ThreadSleep"
		c := checkOf(t, run(t, Options{JDK: jdk}, chunk(0), slept), recipe.EventEdges)
		assert.Equal(t, wrong, c.Wrong, name)
		assert.Equal(t, 1-wrong, c.Tolerated["stack-filter"], name)
	}
}
