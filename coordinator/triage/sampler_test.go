package triage

import (
	"testing"

	"github.com/stretchr/testify/assert"
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
	assert.Equal(t, "profiler-shadow of vm: the stack is cut off at the VM's upcall of loadClass (here java.lang.ClassLoader.loadClass)",
		title)
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
