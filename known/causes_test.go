package known_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"misstep/known"
	misstepv1 "misstep/proto/misstep/v1"
)

// A cause is one row for all walkers that do the same there, and for no other walker, place, check or version.
func TestCausesAreOfAllWalkersThatShareThem(t *testing.T) {
	label := func(version string, parts ...string) string {
		return known.Default().Label(&misstepv1.Signature{Kind: "mismatch", Parts: parts}, version)
	}
	// AsyncGetCallTrace, whoever asks it.
	for place, want := range map[string]string{
		"top: compiled subtype check": "MISSTEP-pushed-words",
		"top: compiled string search": "MISSTEP-string-search",
		"top: native barrier":         "MISSTEP-barrier-spill",
		"top: compiled epilogue":      "MISSTEP-epilogue-fabrication",
		"top: interpreted epilogue":   "MISSTEP-frame-not-set-up",
		"top: native prologue":        "MISSTEP-frame-not-set-up",
		"top: compiled body":          "",
		"top: interpreted body":       "",
		"top: native body":            "",
		"top: unknown epilogue":       "", // of edges only
		"a.B.f":                       "",
	} {
		for _, by := range []string{"by no: ", "by fp: ", "by dwarf: "} {
			assert.Equal(t, want, label(jdk25, "profiler-shadow", "foreign", by+place), by+place)
			assert.Equal(t, want, label(jdk25, "event-edges", "impossible-edge", by+place), by+place)
			assert.Empty(t, label(jdk25, "jfr-shadow", "foreign", by+place), "JFR has no such walker")
		}
		assert.Equal(t, want, label(jdk25, "asgct-shadow", "foreign", place), place)
		assert.Empty(t, label(jdk25, "gst-asgct", "foreign", place), "a walk at a method's entry: %s", place)
		assert.Empty(t, label(jdk25, "profiler-shadow", "foreign", "by jdk.CPUTimeSample: "+place), place)
	}
	// What ends a walk has the tracker's number.
	for _, by := range []string{"", "by no: ", "by fp: ", "by dwarf: "} {
		check := "profiler-shadow"
		if by == "" {
			check = "asgct-shadow"
		}
		assert.Equal(t, "JDK-8178287", label(jdk17, check, "truncated", by+"top: stub body"))
		assert.Equal(t, "JDK-8178287", label(jdk17, check, "missing", by+"top: native prologue"))
		assert.Empty(t, label(jdk17, check, "extra", by+"top: stub body"))
		assert.Equal(t, "JDK-8303444", label(jdk17, check, "truncated", by+"below upcall <clinit>"))
		assert.Empty(t, label(jdk17, check, "missing", by+"below upcall <clinit>"))
	}
	// What is on the stack is there for async-profiler's own walkers, too; what else they do is theirs.
	for _, by := range []string{"by vm: ", "by vmx: "} {
		assert.Equal(t, "MISSTEP-pushed-words", label(jdk28ea, "profiler-shadow", "missing", by+"top: compiled subtype check"))
		edge := label(jdk28ea, "event-edges", "impossible-edge", by+"top: compiled epilogue")
		assert.Equal(t, "MISSTEP-async-profiler-epilogue", edge)
		assert.Empty(t, label(jdk28ea, "profiler-shadow", "missing", by+"top: native aligned stack"))
		assert.Empty(t, label(jdk28ea, "profiler-shadow", "truncated", by+"top: stub body"))
	}
	// JFR walks as AsyncGetCallTrace does until JEP 518.
	for _, place := range []string{"top: compiled string search", "top: compiled barrier", "top: stub epilogue"} {
		by := "by jdk.ExecutionSample: " + place
		assert.Equal(t, "MISSTEP-jfr-unfinished-frame", label(jdk21, "jfr-shadow", "foreign", by), place)
		assert.Empty(t, label(jdk25, "jfr-shadow", "foreign", by), place)
	}
}

// The stub's name does not matter; a method is no stub, and the caller of an upcall's caller is none.
func TestWhatIsBelowAnyStub(t *testing.T) {
	label := func(place string) string {
		return known.Default().Label(
			&misstepv1.Signature{Kind: "mismatch", Parts: []string{"profiler-shadow", "missing", place}}, jdk28ea)
	}
	for _, stub := range []string{
		"C2 Runtime slow_subtype_check_blob", "I2C/C2I adapters", "method_entry_barrier_stub", "UncommonTrapBlob", "call_stub",
		"_new_instance_Java", "SafepointBlob", "polling_page_return_handler_blob", "ExceptionBlob", "vtable stub", "unpark_blob",
	} {
		assert.Equal(t, "MISSTEP-async-profiler-stub", label("by vm: below "+stub), stub)
		assert.Equal(t, "MISSTEP-async-profiler-stub", label("by vmx: below "+stub), stub)
		assert.Empty(t, label("by no: below "+stub), stub)
	}
	for _, place := range []string{
		"by vm: below a.B.rethrow_blob", "by vm: below Main.call_stub", "by vm: below upcall loadClass", "by vm: below (none)",
		"by vm: after call_stub", "by vm: call_stub",
	} {
		assert.Empty(t, label(place), place)
	}
}
