package edges

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/agent"
	"misstep/recipe"
	"misstep/runner/recording"
)

// reading is a program that reads: main calls InputStream.readAllBytes at 7 and Reader.read at 9, which call InputStream.read.
func reading() *Program {
	class := func(name, super string, methods ...agent.SiteMethod) agent.SiteClass {
		return agent.SiteClass{Name: name, Super: super, Methods: methods, Targets: []agent.SiteTarget{
			{Owner: "p/Inflater", Name: "readAllBytes", Descriptor: "()V"},
			{Owner: "p/Reader", Name: "read", Descriptor: "()V"},
			{Owner: "java/lang/Thread", Name: "sleep", Descriptor: "()V"},
			{Owner: "java/lang/Thread", Name: "join", Descriptor: "()V"},
		}}
	}
	code := []agent.Site{
		{BCI: 7, Opcode: opInvokevirtual},
		{BCI: 9, Opcode: opInvokevirtual, Target: 1},
		{BCI: 11, Opcode: opInvokestatic, Target: 2},
		{BCI: 13, Opcode: opInvokevirtual, Target: 3},
	}
	method := func(name string) agent.SiteMethod { return agent.SiteMethod{Name: name, Descriptor: "()V", Code: code} }
	return NewProgram(agent.Sites{Classes: []agent.SiteClass{
		class("java/lang/Object", ""), class("java/io/InputStream", "java/lang/Object", method("readAllBytes")),
		class("p/Inflater", "java/io/InputStream", method("read")), class("p/Reader", "java/lang/Object", method("read")),
		class("java/lang/Thread", "java/lang/Object", method("sleep"), method("join")), class("p/Main", "java/lang/Object", method("main")),
	}})
}

func TestStackFilters(t *testing.T) {
	for name, c := range map[string]struct {
		feature int
		event   string
		stack   *recording.Stack
		right   bool
	}{
		"the frame between is left out": {25, "jdk.FileRead", trace("p.Inflater.read()V@0", "p.Main.main()V@7"), true},
		"of an unknown JDK":             {0, "jdk.FileRead", trace("p.Inflater.read()V@0", "p.Main.main()V@7"), true},
		"no JDK with filters":           {21, "jdk.FileRead", trace("p.Inflater.read()V@0", "p.Main.main()V@7"), false},
		"another event":                 {25, "jdk.ThreadPark", trace("p.Inflater.read()V@0", "p.Main.main()V@7"), false},
		"a call of another class":       {25, "jdk.FileRead", trace("p.Inflater.read()V@0", "p.Main.main()V@9"), false},
		"no call":                       {25, "jdk.FileRead", trace("p.Inflater.read()V@0", "p.Main.main()V@8"), false},
		"a method":                      {25, "jdk.ThreadSleep", trace("p.Inflater.read()V@0", "p.Main.main()V@11"), true},
		"another method":                {25, "jdk.ThreadSleep", trace("p.Inflater.read()V@0", "p.Main.main()V@13"), false},
	} {
		t.Run(name, func(t *testing.T) {
			j := New(Input{Program: reading(), Profiler: recipe.ProfilerJFR, Feature: c.feature, Limit: 5})
			require.NoError(t, j.Visit(&recording.Event{Type: c.event, Stack: c.stack}))
			v := j.Verdicts()
			assert.EqualValues(t, 1, v.Count.GetTotal())
			if c.right {
				assert.EqualValues(t, 1, v.Count.GetTolerated()["stack-filter"])
				assert.Empty(t, v.Mismatches)
				return
			}
			assert.EqualValues(t, 1, v.Count.GetMismatch())
			assert.Len(t, v.Mismatches, 1)
		})
	}
}

// A frame whose method async-profiler does not know is no frame of the VM's: nothing is known of what it calls.
func TestFramesWithoutAMethod(t *testing.T) {
	for name, void := range map[string]uint64{".unknown()L;@0": 2, ".stale_jmethodID()L;@0": 2, ".<unloaded>()L;@0": 2, ".call_stub()L;@0": 0} {
		j := New(Input{Program: reading(), Profiler: recipe.ProfilerAsync, Limit: 5})
		require.NoError(t, j.Visit(&recording.Event{
			Type: "jdk.ExecutionSample", Stack: trace("p.Reader.read()V@0", name, "p.Main.main()V@7"),
		}))
		count := j.Verdicts().Count
		assert.Equal(t, void, count.GetVoid()["unknown-method"], name)
		assert.Equal(t, void == 0, count.GetMismatch() == 1, name)
	}
}
