package edges

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/agent"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/runner/recording"
)

// Opcodes of the tests.
const (
	opInvokevirtual = 182
	opInvokespecial = 183
	opInvokedynamic = 186
)

// shapes is a small program: main calls Shape.area() on a Circle through the class and through an interface, and helpers. These are
// its sites as the agent would write them; agent/native/test/edges_test.cpp has the same program.
func shapes() agent.Sites {
	object := agent.SiteClass{Name: "java/lang/Object", Methods: []agent.SiteMethod{native("clone", "()Ljava/lang/Object;")}}
	method := func(name, descriptor string, upcall agent.Occasions) agent.SiteMethod {
		return agent.SiteMethod{
			Name: name, Descriptor: descriptor, Upcall: upcall,
			Code: []agent.Site{{BCI: 0, Occasions: agent.Compiling, Target: -1}, {BCI: 9, Occasions: agent.Resolving, Target: -1}},
		}
	}
	of := func(name, super string, methods ...agent.SiteMethod) agent.SiteClass {
		return agent.SiteClass{Name: name, Super: super, Methods: methods}
	}
	area := method("area", "()I", 0)
	calls := []struct {
		opcode uint8
		target agent.SiteTarget
	}{
		{opInvokestatic, agent.SiteTarget{Owner: "Main", Name: "help", Descriptor: "(I)V"}},
		{opInvokevirtual, agent.SiteTarget{Owner: "Shape", Name: "area", Descriptor: "()I"}},
		{opInvokeinterface, agent.SiteTarget{Owner: "Area", Name: "area", Descriptor: "()I"}},
		{opInvokespecial, agent.SiteTarget{Owner: "Circle", Name: "<init>", Descriptor: "()V"}},
		{opInvokevirtual, agent.SiteTarget{Owner: "Circle", Name: "area", Descriptor: "()I"}},
		{opInvokestatic, agent.SiteTarget{Owner: "Shape", Name: "area", Descriptor: "()I"}},
		{opInvokedynamic, agent.SiteTarget{Name: "get", Descriptor: "()V", Polymorphic: true}},
		{opInvokestatic, agent.SiteTarget{
			Owner: "java/lang/invoke/MethodHandle", Name: "linkToStatic", Polymorphic: true,
			Descriptor: "(ILjava/lang/invoke/MemberName;)V",
		}},
		{opInvokevirtual, agent.SiteTarget{
			Owner: "java/lang/invoke/MethodHandle", Name: "invokeBasic", Descriptor: "(Ljava/lang/Object;)Z", Polymorphic: true,
		}},
	}
	main := of("Main", "java/lang/Object", method("help", "(I)V", 0))
	code := []agent.Site{{BCI: 0, Occasions: agent.Compiling, Target: -1}}
	for i, c := range calls {
		occasions := agent.Resolving | agent.Linking | agent.Finalising
		if c.opcode == opInvokestatic {
			occasions |= agent.Initialising
		}
		main.Targets = append(main.Targets, c.target)
		code = append(code, agent.Site{BCI: uint16(10 * (i + 1)), Occasions: occasions, Opcode: c.opcode, Target: int32(i)})
	}
	code = append(code, agent.Site{BCI: 200, Occasions: agent.Resolving | agent.Initialising, Target: -1},
		agent.Site{BCI: 210, Occasions: agent.Comparing, Target: -1}, agent.Site{BCI: 220, Occasions: agent.Compiling, Target: -1})
	main.Methods[0].Static = true
	main.Methods = append(main.Methods, agent.SiteMethod{
		Name: "main", Descriptor: "()V", Static: true, Code: code,
	})
	circle := method("<clinit>", "()V", agent.Initialising)
	circle.Static = true
	sites := agent.Sites{Classes: []agent.SiteClass{
		object, of("Shape", "java/lang/Object", area, method("<init>", "()V", 0)),
		of("Circle", "Shape", area, method("<init>", "()V", 0), circle), of("Stranger", "java/lang/Object", area), main,
		{
			Name: "Area", Super: "java/lang/Object", Interface: true,
			Methods: []agent.SiteMethod{area, {Name: "abstract", Descriptor: "()V"}},
		},
		of("Loader", "java/lang/ClassLoader",
			method("loadClass", "(Ljava/lang/String;)Ljava/lang/Class;", agent.Resolving|agent.Compiling)),
		of("java/lang/invoke/MethodHandleNatives", "java/lang/Object", method("linkCallSite", "()V", agent.Linking)),
		of("java/lang/invoke/Invokers$Holder", "java/lang/Object", method("linkToTargetMethod", "()V", 0)),
		of("java/lang/runtime/ValueObjectMethods", "java/lang/Object", method("isSubstitutable", "()Z", agent.Comparing)),
		of("Test", "java/lang/Object", method("test", "()Z", 0), method("other", "()J", 0)),
		of("Natives", "java/lang/Object", native("call", "()V")),
	}}
	return sites
}

func native(name, descriptor string) agent.SiteMethod {
	return agent.SiteMethod{Name: name, Descriptor: descriptor, Native: true}
}

// explained returns the explanation of an edge between methods "Class.name(descriptor)result".
func explained(p *Program, caller string, bci int32, callee string) Explanation {
	return p.explain(p.method(split(caller)), bci, p.method(split(callee)))
}

func split(method string) (class, name, descriptor string) {
	paren := strings.IndexByte(method, '(')
	dot := strings.LastIndexByte(method[:paren], '.')
	return method[:dot], method[dot+1 : paren], method[paren:]
}

func TestExplanations(t *testing.T) {
	const load = "Loader.loadClass(Ljava/lang/String;)Ljava/lang/Class;"
	p := NewProgram(shapes())
	for _, tt := range []struct {
		bci    int32
		callee string
		want   Explanation
	}{
		{10, "Main.help(I)V", Call},
		{20, "Shape.area()I", Call},
		{20, "Circle.area()I", Call}, // overridden
		{50, "Shape.area()I", Call},  // inherited
		{50, "Area.area()I", Call},   // a default method
		{30, "Circle.area()I", Call}, // by an interface
		{30, "Stranger.area()I", Call},
		{40, "Circle.<init>()V", Call},
		{10, "Shape.area()I", Nothing},    // another name
		{20, "Stranger.area()I", Nothing}, // no kin
		{40, "Shape.<init>()V", Nothing},  // constructors are not inherited
		{60, "Circle.area()I", Nothing},   // static methods are not overridden
		{11, "Main.help(I)V", Nothing},    // no instruction that can call
		{200, "Main.help(I)V", Nothing},   // new
		{-1, "Main.help(I)V", Nothing},
		{-3, "Main.help(I)V", Nothing},
		{70000, "Main.help(I)V", Nothing},

		{200, "Circle.<clinit>()V", Upcall},
		{10, "Circle.<clinit>()V", Upcall},
		{20, "Circle.<clinit>()V", Nothing},
		{200, load, Upcall},
		{0, load, Upcall},   // the method is to be compiled
		{-1, load, Upcall},  // likewise, in compiled code
		{220, load, Upcall}, // a branch back
		{210, load, Nothing},
		{210, "java.lang.runtime.ValueObjectMethods.isSubstitutable()Z", Upcall},
		{70, "java.lang.invoke.MethodHandleNatives.linkCallSite()V", Upcall},
		{200, "java.lang.invoke.MethodHandleNatives.linkCallSite()V", Nothing},

		{70, "java.lang.invoke.Invokers$Holder.linkToTargetMethod()V", MethodHandle},
		{70, "Main.help(I)V", Nothing}, // a linker stands between
		{80, "Main.help(I)V", MethodHandle},
		{80, "Shape.area()I", Nothing}, // another shape
		{90, "Test.test()Z", Nothing},  // Test is no handle and no argument
		{20, "Nobody.area()I", Unknown},
	} {
		assert.Equal(t, tt.want, explained(p, "Main.main()V", tt.bci, tt.callee), "%d %s", tt.bci, tt.callee)
	}
	assert.Equal(t, NativeCaller, explained(p, "Natives.call()V", 0, "Stranger.area()I"))
	assert.Equal(t, Unknown, explained(p, "Nobody.main()V", 10, "Main.help(I)V"))
	assert.Equal(t, Unknown, explained(p, "Area.abstract()V", 10, "Main.help(I)V"))
}

func TestShapes(t *testing.T) {
	assert.Equal(t, "IJLLFDI)V", shape("(ZJLjava/lang/String;[[IFDC)V"))
	assert.Equal(t, ")L", shape("()[Ljava/lang/Object;"))
	assert.Equal(t, ")I", shape("()S"))
	for _, broken := range []string{"", "(", "([", "(L", "(Lx", "[[["} {
		assert.NotPanics(t, func() { shape(broken) }, broken)
	}
	caller := &version{class: &class{name: guards}}
	has := &version{class: &class{name: "X"}, name: "getAndAdd", descriptor: "(LX;I)I", static: true}
	to := &target{owner: &class{name: methodHandle}, name: "linkToStatic", descriptor: "(LX;ILjava/lang/invoke/MemberName;)V"}
	assert.True(t, handleCalls(caller, to, has), "a guard drops the result")
	assert.False(t, handleCalls(&version{class: &class{name: "Other"}}, to, has))
	has.static = false
	assert.False(t, handleCalls(caller, to, has), "the receiver is an argument")
}

// A redefined class tolerates what no known version explains, and nothing else does; another version explains as well.
func TestVersionsOfAClass(t *testing.T) {
	sites := shapes()
	other := agent.SiteClass{
		Name: "Main", Super: "java/lang/Object", Targets: []agent.SiteTarget{{Owner: "Stranger", Name: "area", Descriptor: "()I"}},
		Methods: []agent.SiteMethod{{
			Name: "main", Descriptor: "()V", Static: true, Code: []agent.Site{{BCI: 20, Opcode: opInvokevirtual, Target: 0}},
		}},
	}
	sites.Classes = append(sites.Classes, other)
	p := NewProgram(sites)
	assert.Equal(t, Call, explained(p, "Main.main()V", 20, "Stranger.area()I"))
	assert.Equal(t, Call, explained(p, "Main.main()V", 20, "Shape.area()I"))
	assert.Equal(t, Nothing, explained(p, "Main.main()V", 11, "Shape.area()I"))
	sites.Redefined = []string{"Main"}
	p = NewProgram(sites)
	assert.Equal(t, Redefined, explained(p, "Main.main()V", 11, "Shape.area()I"))
	assert.Equal(t, Call, explained(p, "Main.main()V", 20, "Shape.area()I"))
	assert.Equal(t, Unknown, explained(p, "Main.main()V", 11, "Nobody.area()I"))
	sites = shapes()
	sites.Classes = append(sites.Classes, agent.SiteClass{Name: "Stranger", Super: "Shape"}) // of another loader
	p = NewProgram(sites)
	assert.Equal(t, Call, explained(p, "Main.main()V", 20, "Stranger.area()I"))
	assert.Equal(t, Nothing, explained(p, "Main.main()V", 10, "Stranger.area()I"))
}

func TestNamesOfHiddenClasses(t *testing.T) {
	for jvmti, jfr := range map[string]string{
		"Main$$Lambda$1/123456":                         "Main$$Lambda$1.123456",                            // 8 and 11
		"Main$$Lambda$88.0x00007f5384008468":            "Main$$Lambda$88+0x00007f5384008468.1627857534",    // 17
		"a/Main$$Lambda.0x0000000048045478":             "a.Main$$Lambda.0x0000000048045478",                // 25
		"java/lang/invoke/LambdaForm$MH.0x000000004804": "java.lang.invoke.LambdaForm$MH+0x000000004804.77", // 17
	} {
		assert.Equal(t, canonical(jvmti), canonical(jfr))
	}
	assert.NotEqual(t, canonical("Main$$Lambda.0x01"), canonical("Main$$Lambda.0x02"))
	assert.Equal(t, "a.B0x", canonical("a/B0x"))
}

// trace builds the stack of an event, innermost first: methods "Class.name(descriptor)result@bci".
func trace(frames ...string) *recording.Stack {
	s := &recording.Stack{Truncated: true}
	for _, text := range frames {
		method, bci, _ := strings.Cut(text, "@")
		f := recording.Frame{Line: -1}
		for _, c := range bci {
			f.BCI = 10*f.BCI + c - '0'
		}
		if method != "" {
			class, name, descriptor := split(method)
			f.Method = &recording.Method{Class: class, Name: name, Descriptor: descriptor}
		}
		s.Frames = append(s.Frames, f)
	}
	return s
}

func TestEdgesAreCountedAndMismatchesKept(t *testing.T) {
	j := New(Input{Program: NewProgram(shapes()), Profiler: recipe.ProfilerJFR, Feature: 17, Limit: 1})
	thread := &recording.Thread{OS: 77, Name: "main"}
	wrong := trace("Circle.area()I@0", "Stranger.area()I@9", "Main.main()V@20", "Natives.call()V@0")
	short := trace("Stranger.area()I@0", "Main.main()V@20")
	alloc := "jdk.ObjectAllocationSample"
	for _, record := range []recording.Record{
		&recording.Chunk{},
		&recording.Event{Type: alloc, Stack: trace("Circle.area()I@0", "Main.main()V@20")},
		&recording.Event{Type: alloc, Stack: wrong, Thread: thread},
		&recording.Event{Type: alloc, Stack: wrong, Thread: thread},
		&recording.Event{Type: alloc, Stack: short, Thread: thread},
		&recording.Chunk{},
		&recording.Event{Type: "jdk.ThreadPark", Stack: trace("Main.help(I)V@0", "@0", "Main.main()V@10")}, // no method
		&recording.Event{Type: "jdk.ThreadPark", Stack: trace("Main.main()V@10")},
		&recording.Event{Type: "jdk.ThreadPark"},
		// async-profiler's frames that are no methods.
		&recording.Event{
			Type:  "jdk.ExecutionSample",
			Stack: trace("libc.so.6.memcpy()L;", "Circle.area()I@0", ".call_stub()L;", "Main.main()V@20"),
		},
	} {
		require.NoError(t, j.Visit(record))
	}
	v := j.Verdicts()
	assert.Equal(t, &misstepv1.CheckCount{
		Check: "event-edges", Total: 11, Match: 2, Mismatch: 5, Tolerated: map[string]uint64{"native-caller": 2},
		Void: map[string]uint64{"unknown-method": 2},
	}, v.Count)
	require.Len(t, v.Mismatches, 1, "the limit")
	m := v.Mismatches[0]
	assert.Equal(t, uint64(3), m.GetCount())
	assert.Equal(t, []*misstepv1.Frame{
		{ClassName: "Stranger", Method: "area", Descriptor_: "()I"}, {ClassName: "Main", Method: "main", Descriptor_: "()V", Bci: 20},
	}, m.GetSuspect().GetFrames(), "the shortest stack of the place")
	assert.Equal(t, []*misstepv1.Frame{
		{ClassName: "Shape", Method: "area", Descriptor_: "()I"}, {ClassName: "Main", Method: "main", Descriptor_: "()V", Bci: 20},
	}, m.GetReference().GetFrames())
	assert.Equal(t, []string{"impossible-edge", "jfr", alloc, "bytecode", "main"}, []string{
		m.GetKind(), m.GetSuspect().GetSource(), m.GetSuspect().GetSampler(), m.GetReference().GetSource(), m.GetThread(),
	})
	assert.Equal(t, uint32(1), m.GetDivergence())
	assert.Contains(t, j.String(), "; traces: 2 call 0 vm-upcall")
}

// A mismatch says whether its stack was walked from any instruction, and the same edge of both kinds is two mismatches.
func TestWalksFromAnyInstructionAreMarked(t *testing.T) {
	const sample, wall, park, native = "jdk.ExecutionSample", "profiler.WallClockSample", "jdk.ThreadPark", "jdk.NativeMethodSample"
	for _, c := range []struct {
		profiler, walker string
		feature          int
		marked           []string // of the events
	}{
		{recipe.ProfilerJFR, "", 8, []string{sample}},
		{recipe.ProfilerJFR, "", 24, []string{sample}},
		{recipe.ProfilerJFR, "", 25, nil}, // JEP 518
		{recipe.ProfilerAsync, "vm", 17, []string{sample, wall}},
		{recipe.ProfilerAsync, "no", 28, []string{sample, wall}},
	} {
		j := New(Input{Program: NewProgram(shapes()), Profiler: c.profiler, Walker: c.walker, Feature: c.feature, Limit: 9})
		for _, event := range []string{sample, wall, park, native, "jdk.CPUTimeSample"} {
			if event == wall && c.profiler == recipe.ProfilerJFR {
				continue
			}
			require.NoError(t, j.Visit(&recording.Event{Type: event, Stack: trace("Stranger.area()I@0", "Main.main()V@20")}))
		}
		marked := uint64(0)
		for _, m := range j.Verdicts().Mismatches {
			if m.GetSuspect().GetAsynchronous() {
				marked += m.GetCount()
			}
			if c.walker == "" {
				suspect := m.GetSuspect()
				assert.Equal(t, slices.Contains(c.marked, suspect.GetSampler()), suspect.GetAsynchronous(), "%v %v", c, m)
			}
		}
		assert.EqualValues(t, len(c.marked), marked, c)
		if c.walker != "" {
			assert.Len(t, j.Verdicts().Mismatches, 2, "one walker for all events")
		}
	}
}

// Where a tap noted the signal that took a sample, an impossible edge has the place that it hit, and the same edge at other code is
// another mismatch. Events that the thread wrote itself have no such place, nor have samples of which the tap has no call.
func TestImpossibleEdgesOfSamplesHaveThePlaceThatTheSignalHit(t *testing.T) {
	const sample, park = "jdk.ExecutionSample", "jdk.ThreadPark"
	tap := &agent.Tap{Signals: [2]uint32{27, 12}, Architecture: "amd64"}
	for i, code := range []string{"]I;", "]I;", "\xc3"} {
		begin := uint64(1000 * (i + 1))
		tap.Calls = append(tap.Calls, agent.TapCall{
			TID: 7, Signal: 12, BeginNanos: begin, EndNanos: begin + 10, BeginTicks: begin, EndTicks: begin + 10,
			PC: begin, Code: []byte(code), TopState: "compiled",
		})
	}
	chunk := &recording.Chunk{TicksPerSecond: 1e9}
	event := func(kind string, at int64) *recording.Event {
		return &recording.Event{
			Type: kind, StartNanos: at, Thread: &recording.Thread{OS: 7}, Stack: trace("Stranger.area()I@0", "Main.main()V@20"),
		}
	}
	of := func(feature int, tap *agent.Tap) map[string]uint64 {
		j := New(Input{Program: NewProgram(shapes()), Profiler: recipe.ProfilerJFR, Feature: feature, Tap: tap, Limit: 9})
		for _, r := range []recording.Record{
			chunk, event(sample, 1005), event(sample, 2005), event(park, 2006), event(sample, 3005), event(sample, 9000),
		} {
			require.NoError(t, j.Visit(r))
		}
		counts := map[string]uint64{}
		for _, m := range j.Verdicts().Mismatches {
			counts[m.GetSuspect().GetSampler()+" "+m.GetTopState()+" "+string(m.GetCode())] += m.GetCount()
			assert.Equal(t, len(m.GetCode()) > 0, m.GetPc() != 0 && m.GetArchitecture() == "amd64", m)
		}
		return counts
	}
	assert.Equal(t, map[string]uint64{
		sample + " compiled ]I;": 2, sample + " compiled \xc3": 1, sample + "  ": 1, park + "  ": 1,
	}, of(17, tap))
	assert.Equal(t, map[string]uint64{sample + "  ": 4, park + "  ": 1}, of(17, nil))
	assert.Equal(t, map[string]uint64{sample + "  ": 4, park + "  ": 1}, of(25, tap), "the walk was at a safepoint")

	// What the top frame calls there says which code a compiler has for it.
	j := New(Input{Program: NewProgram(shapes()), Profiler: recipe.ProfilerJFR, Feature: 17, Tap: tap, Limit: 9})
	one := event(sample, 1005)
	one.Stack = trace("Main.main()V@20", "Stranger.area()I@0")
	require.NoError(t, errors.Join(j.Visit(chunk), j.Visit(one)))
	found := j.Verdicts().Mismatches
	require.Len(t, found, 1)
	assert.Equal(t, "area", found[0].GetTopCall().GetMethod())
}

// Whatever a recording and a file of sites hold, judging ends without panic and the counts add up.
func FuzzJudge(f *testing.F) {
	f.Add("Main.main()V", int32(20), "Circle.area()I", "(II)V", uint16(20), uint8(opInvokevirtual))
	f.Add("java.lang.invoke.VarHandleGuards.x()V", int32(-1), "A.<init>()V", "([[", uint16(0), uint8(opInvokedynamic))
	f.Fuzz(func(t *testing.T, caller string, bci int32, callee, descriptor string, at uint16, opcode uint8) {
		sites := shapes()
		sites.Classes = append(sites.Classes, agent.SiteClass{
			Name: caller, Super: callee,
			Targets: []agent.SiteTarget{{Owner: methodHandle, Name: "linkToStatic", Descriptor: descriptor, Polymorphic: true}},
			Methods: []agent.SiteMethod{
				{Name: "m", Descriptor: descriptor, Code: []agent.Site{{BCI: at, Opcode: opcode, Target: 0}}},
				{Name: callee, Descriptor: descriptor},
			},
		}, agent.SiteClass{Name: callee, Super: caller})
		j := New(Input{Program: NewProgram(sites), Profiler: recipe.ProfilerAsync, Walker: "vm", Limit: 3})
		stack := &recording.Stack{}
		for _, name := range []string{callee, "m", "area", ""} {
			m := &recording.Method{Class: caller, Name: name, Descriptor: descriptor}
			stack.Frames = append(stack.Frames, recording.Frame{Method: m, BCI: bci})
		}
		require.NoError(t, j.Visit(&recording.Event{Stack: stack}))
		c := j.Verdicts().Count
		sum := c.GetMatch() + c.GetMismatch()
		for _, counts := range []map[string]uint64{c.GetTolerated(), c.GetVoid()} {
			for _, n := range counts {
				sum += n
			}
		}
		assert.Equal(t, c.GetTotal(), sum)
		assert.LessOrEqual(t, len(j.Verdicts().Mismatches), 3)
	})
}

// A class that is looked up is asked for once, its superclasses where an edge depends on them.
func TestLazyProgram(t *testing.T) {
	sites, asked := shapes(), map[string]int{}
	find := func(name string) []agent.SiteClass {
		asked[name]++
		var found []agent.SiteClass
		for _, c := range sites.Classes {
			if canonical(c.Name) == name {
				found = append(found, c)
			}
		}
		return found
	}
	whole, lazy := NewProgram(sites), NewLazyProgram(find, []string{"Rewritten"}, nil)
	for _, caller := range sites.Classes {
		for _, m := range caller.Methods {
			for _, callee := range sites.Classes {
				for _, to := range callee.Methods {
					for bci := int32(-1); bci < 230; bci++ {
						explain := func(p *Program) Explanation {
							from := p.method(caller.Name, m.Name, m.Descriptor)
							return p.explain(from, bci, p.method(callee.Name, to.Name, to.Descriptor))
						}
						if w, l := explain(whole), explain(lazy); w != l {
							t.Fatalf("%s.%s@%d calls %s.%s: %v of the whole program, %v of the lazy one", caller.Name, m.Name, bci,
								callee.Name, to.Name, w, l)
						}
					}
				}
			}
		}
	}
	for name, times := range asked {
		assert.Equal(t, 1, times, name)
	}
	assert.Contains(t, asked, "Main")
	assert.True(t, lazy.node("Rewritten").redefined)
}

// What extends a class that is rewritten is rewritten as well, and what does not is not.
func TestRewrittenClasses(t *testing.T) {
	files := map[string]agent.SiteClass{
		"Event": {Name: "Event", Super: "Object"}, "Happened": {Name: "Happened", Super: "Event"},
		"Deeper": {Name: "Deeper", Super: "Happened"}, "Other": {Name: "Other", Super: "Object"},
		"Round": {Name: "Round", Super: "Round"},
	}
	for name, c := range files {
		c.Methods = []agent.SiteMethod{{Name: "commit", Descriptor: "()V"}}
		files[name] = c
	}
	p := NewLazyProgram(func(name string) []agent.SiteClass {
		if c, is := files[name]; is {
			return []agent.SiteClass{c}
		}
		return nil
	}, nil, []string{"Event"})
	callee := p.method("Other", "commit", "()V")
	for name, want := range map[string]Explanation{
		"Event": Redefined, "Happened": Redefined, "Deeper": Redefined, "Other": Unknown, "Round": Unknown,
	} {
		assert.Equal(t, want, p.explain(p.method(name, "commit", "()V"), 3, callee), name)
	}
}
