package triage

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/signature"
)

// Each sampler of a recording goes wrong in its own ways: the same cut of another sampler's is another finding.
func TestSamplersAreToldApart(t *testing.T) {
	frame := func(class, method string) *misstepv1.Frame {
		return &misstepv1.Frame{ClassName: class, Method: method, Bci: 7}
	}
	load := frame("java.lang.ClassLoader", "loadClass")
	load.Descriptor_ = "(Ljava/lang/String;)Ljava/lang/Class;"
	m := &misstepv1.Mismatch{
		Check: recipe.ProfilerShadow, Kind: "truncated", Divergence: 2, Pc: 0x7f0000001000,
		Reference: &misstepv1.Trace{Source: "shadow", Frames: []*misstepv1.Frame{frame("a.B", "f"), frame("a.B", "main")}},
		Suspect: &misstepv1.Trace{Source: "async-profiler", Sampler: "vm", Frames: []*misstepv1.Frame{
			frame("jdk.internal.loader.BuiltinClassLoader", "loadClassOrNull"), load,
		}},
	}
	sig, title := Mismatch(m)
	assert.Equal(t, []string{"profiler-shadow", "truncated", "by vm: upcall loadClass"}, sig.GetParts())
	assert.Equal(t, "profiler-shadow of vm: the stack is cut off at the VM's upcall of loadClass (here java.lang.ClassLoader.loadClass), "+
		"0 of 2 methods on the shadow are in the trace", title)
	other := proto.CloneOf(m)
	other.Suspect.Sampler = "no"
	not, _ := Mismatch(other)
	assert.NotEqual(t, signature.ID(sig), signature.ID(not))
	// Without a sampler nothing changes: the agent's own walks keep their ids.
	own := proto.CloneOf(m)
	own.Check, own.Suspect.Sampler = recipe.AsgctShadow, ""
	plain, _ := Mismatch(own)
	assert.Equal(t, []string{"asgct-shadow", "truncated", "upcall loadClass"}, plain.GetParts())
	// What is known of the place is as little as the recording tells.
	lost := proto.CloneOf(m)
	lost.Check, lost.Kind, lost.Suspect.Sampler = recipe.JfrShadow, "missing", "jdk.ExecutionSample"
	lost.Suspect.Frames = []*misstepv1.Frame{frame("a.B", "main")}
	at, _ := Mismatch(lost)
	assert.Equal(t, []string{"jfr-shadow", "missing", "by jdk.ExecutionSample: top: unknown code unknown"}, at.GetParts())
}

// An impossible edge of an event is named by its two methods, for each sampler.
func TestEdgesOfEvents(t *testing.T) {
	frame := func(method string) *misstepv1.Frame {
		return &misstepv1.Frame{ClassName: "a.B", Method: method, Descriptor_: "()V", Bci: 7}
	}
	m := &misstepv1.Mismatch{
		Check: recipe.EventEdges, Kind: "impossible-edge", Divergence: 1,
		Reference: &misstepv1.Trace{Source: "bytecode", Frames: []*misstepv1.Frame{frame("called"), frame("main")}},
		Suspect: &misstepv1.Trace{
			Source: "jfr", Sampler: "jdk.ObjectAllocationSample", Frames: []*misstepv1.Frame{frame("top"), frame("f"), frame("main")},
		},
	}
	sig, title := Mismatch(m)
	assert.Equal(t, []string{"event-edges", "impossible-edge", "by jdk.ObjectAllocationSample: a.B.f <- a.B.main"}, sig.GetParts())
	assert.Contains(t, title, "B.f")
	m.Suspect.Frames = m.Suspect.Frames[1:]
	m.Reference.Frames[0], m.Suspect.Frames[1].Bci = frame("other"), 9
	again, _ := Mismatch(m)
	assert.Equal(t, signature.ID(sig), signature.ID(again), "the same edge below another top")
	m.Suspect.Source, m.Suspect.Sampler = "async-profiler", "vm"
	other, _ := Mismatch(m)
	assert.Equal(t, []string{"event-edges", "impossible-edge", "by vm: a.B.f <- a.B.main"}, other.GetParts())
}

// Where a sampler interrupts threads anywhere, the frames of an impossible edge come from wherever it read: all such edges of a
// sampler are one finding, in whatever trial. Those of other events, and of other samplers, are findings of their own.
func TestEdgesOfInterruptedThreadsAreOneFinding(t *testing.T) {
	edge := func(sampler string, asynchronous bool, callee, caller string, bci int32) *misstepv1.Mismatch {
		frame := func(method string) *misstepv1.Frame {
			return &misstepv1.Frame{ClassName: "a.B", Method: method, Descriptor_: "()V", Bci: bci}
		}
		return &misstepv1.Mismatch{
			Check: recipe.EventEdges, Kind: "impossible-edge", Divergence: 2, Count: 3,
			Reference: &misstepv1.Trace{Source: "bytecode", Frames: []*misstepv1.Frame{frame("called"), frame(caller), frame("main")}},
			Suspect: &misstepv1.Trace{
				Source: "jfr", Sampler: sampler, Asynchronous: asynchronous,
				Frames: []*misstepv1.Frame{frame("top"), frame(callee), frame(caller), frame("main")},
			},
		}
	}
	const sample, park = "jdk.ExecutionSample", "jdk.ThreadPark"
	first := Triage(&misstepv1.Outcome{Mismatches: []*misstepv1.Mismatch{
		edge(sample, true, "match", "write", 3), edge(sample, true, "hash", "next", 9), edge(sample, true, "f", "g", 4),
		edge(park, false, "f", "g", 4), edge(park, false, "f", "h", 4),
	}})
	require.Len(t, first, 3)
	family := []string{"event-edges", "impossible-edge", "by jdk.ExecutionSample: top: unknown code unknown"}
	one := slices.IndexFunc(first, func(h Hit) bool { return slices.Equal(family, h.Signature.GetParts()) })
	require.GreaterOrEqual(t, one, 0)
	assert.Contains(t, first[one].Title, "event-edges of jdk.ExecutionSample: a call that the bytecode cannot make")
	second := Triage(&misstepv1.Outcome{Mismatches: []*misstepv1.Mismatch{edge(sample, true, "put", "get", 1)}})
	require.Len(t, second, 1)
	assert.Equal(t, first[one].ID, second[0].ID, "another trial")

	sig, _ := Mismatch(edge("vm", true, "match", "write", 3))
	assert.Equal(t, "by vm: top: unknown code unknown", sig.GetParts()[2])
	// A walk that knew where it was, as JFR's from JDK 25 on: the edge is the place.
	sig, _ = Mismatch(edge(sample, false, "match", "write", 3))
	assert.Equal(t, "by jdk.ExecutionSample: a.B.match <- a.B.write", sig.GetParts()[2])
	// A caller that has no index is known by that (JDK 8).
	sig, _ = Mismatch(edge(sample, true, "match", "write", -1))
	assert.Equal(t, "by jdk.ExecutionSample: no bytecode index", sig.GetParts()[2])
	// Where a tap has noted the place that the signal hit, that is to blame, but not in C code, where JFR walks from the anchor.
	for state, want := range map[string]string{"compiled": "top: compiled epilogue", "native": "no bytecode index"} {
		m := edge(sample, true, "match", "write", -1)
		m.Pc, m.Code, m.TopState, m.Architecture = 0x1000, []byte{0x5d, 0xc3}, state, "amd64" // pop rbp; ret
		sig, _ = Mismatch(m)
		assert.Equal(t, "by jdk.ExecutionSample: "+want, sig.GetParts()[2])
	}
}

// What async-profiler shows besides methods is no part of a stack, but for the stub below which the walk went wrong.
func TestFramesOfAsyncProfilerThatAreNoMethods(t *testing.T) {
	java := func(method string) *misstepv1.Frame {
		return &misstepv1.Frame{ClassName: "a.B", Method: method, Descriptor_: "()V", Bci: 7}
	}
	other := func(class, name string) *misstepv1.Frame {
		return &misstepv1.Frame{ClassName: class, Method: name, Descriptor_: "()L;"}
	}
	shadow := []*misstepv1.Frame{java("h"), java("g"), java("f"), java("e"), java("main")}
	for name, test := range map[string]struct {
		kind, state string
		trace       []*misstepv1.Frame
		want        string
	}{
		"an adapter on top, its caller lost": {
			"missing", "stub",
			[]*misstepv1.Frame{other("", "I2C/C2I adapters(0xbb)"), java("f"), java("e"), java("main")},
			"missing by vm: below I2C/C2I adapters",
		},
		"a stub below C code": {
			"truncated", "native", []*misstepv1.Frame{
				other("libjvm.so", "BarrierSetNMethod::nmethod_stub_entry_barrier"), other("", "method_entry_barrier"),
			}, "truncated by vm: below method_entry_barrier",
		},
		"a stub on top of what is right": {
			"missing", "stub",
			[]*misstepv1.Frame{other("", "a_stub"), java("h"), java("g"), java("main")},
			"missing by vm: top: stub code unknown",
		},
		"an address of nothing at the end": {
			"truncated", "stub", []*misstepv1.Frame{java("h"), other("", "unknown")}, "truncated by vm: top: stub code unknown",
		},
		"C code alone, by the path of its library": {
			"truncated", "native",
			[]*misstepv1.Frame{other("", "/home/a/lib/libc.so.6"), other("libc.so.6", "read")},
			"truncated by vm: whole stack",
		},
		"C code on top": {
			"truncated", "native", []*misstepv1.Frame{
				other("libc.so.6", "read"), java("h"), java("g"), java("f"), other("", "unknown"),
			}, "truncated by vm: below a.B.f",
		},
	} {
		t.Run(name, func(t *testing.T) {
			sig, title := Mismatch(&misstepv1.Mismatch{
				Check: recipe.ProfilerShadow, Kind: test.kind, Pc: 1, TopState: test.state,
				Reference: &misstepv1.Trace{Source: "shadow", Frames: shadow},
				Suspect:   &misstepv1.Trace{Source: "async-profiler", Sampler: "vm", Frames: test.trace},
			})
			assert.Equal(t, test.want, sig.GetParts()[1]+" "+sig.GetParts()[2])
			assert.Contains(t, title, " of 5 methods on the shadow are in the trace")
		})
	}
}
