package known_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/known"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/signature"
)

const (
	jdk8    = "OpenJDK 64-Bit Server VM (25.412-b08) for linux-amd64 JRE (1.8.0_412-b08), built on Apr 17 2024"
	jdk8new = "OpenJDK 64-Bit Server VM (25.432-b06) for linux-amd64 JRE (1.8.0_432-b06), built on Oct 16 2024"
	jdk11   = "OpenJDK 64-Bit Server VM (11.0.27+6-post-Debian-1) " +
		"for linux-amd64 JRE (11.0.27+6-post-Debian-1), built on Apr 20 2025"
	jdk17 = "OpenJDK 64-Bit Server VM (17.0.15+6-Debian-1deb12u1) " +
		"for linux-amd64 JRE (17.0.15+6-Debian-1deb12u1), built on Apr 16 2025 by gcc 12.2.0"
	jdk1716 = "OpenJDK 64-Bit Server VM (17.0.16+8-Debian-1deb12u1) " +
		"for linux-amd64 JRE (17.0.16+8-Debian-1deb12u1), built on Jul 16 2025 by gcc 12.2.0"
	jdk21 = "OpenJDK 64-Bit Server VM (21.0.8+9-LTS) for linux-amd64 JRE (21.0.8+9-LTS), built on 2025-07-15T00:00:00Z"
	jdk25 = "OpenJDK 64-Bit Server VM (25.0.3+9-LTS) " +
		"for linux-amd64 JRE (25.0.3+9-LTS), built on 2026-04-21T00:00:00Z with gcc 14.2.0"
	jdk28ea = "OpenJDK 64-Bit Server VM (28-ea+5-Debian) for linux-amd64 JRE (28-ea+5-Debian), built on 2026-11-01"
)

func TestParseVersion(t *testing.T) {
	for text, want := range map[string]known.Version{
		jdk8: {8, 0, 412}, jdk11: {11, 0, 27}, jdk17: {17, 0, 15}, jdk25: {25, 0, 3}, jdk28ea: {28, 0, 0},
		"17.0.15": {17, 0, 15}, "17": {17, 0, 0}, "17.0.15+6": {17, 0, 15}, "28-ea": {28, 0, 0}, "1.8.0_422": {8, 0, 422},
		// HotSpot's own version
		"OpenJDK 64-Bit Server VM (25.422-b05)": {8, 0, 422}, "25.422-b05": {8, 0, 422}, "OpenJDK 64-Bit Server VM (25-ea+12)": {25, 0, 0},
		"OpenJDK 64-Bit Server VM (25.0.3+9-LTS)": {25, 0, 3}, "VM (25.0-b70) for linux-amd64 JRE (9-ea)": {9, 0, 0},
		// as the heads of error files have it
		"OpenJDK Runtime Environment (11.0.17+8) (build 11.0.17+8)":                             {11, 0, 17},
		"Java(TM) SE Runtime Environment (8.0_73-b02) (build 1.8.0_73-b02)":                     {8, 0, 73},
		"OpenJDK Runtime Environment Corretto-17.0.6.10.1 (17.0.6+10) (build 17.0.6+10-LTS)":    {17, 0, 6},
		"OpenJDK Runtime Environment (21.0.7) (fastdebug build 21.0.7-internal-adhoc.root.jdk)": {21, 0, 7},
		"OpenJDK 64-Bit Server VM (17.0.4.1+1) for linux-amd64 JRE (17.0.4.1+1)":                {17, 0, 4},
	} {
		got, ok := known.ParseVersion(text)
		assert.True(t, ok, text)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "some VM", "v1"} {
		_, ok := known.ParseVersion(text)
		assert.False(t, ok, text)
	}
}

// Each entry's bug as it is found, and near misses of it: another place, another check, a version with the fix.
func TestLabel(t *testing.T) {
	const guarantee = "Internal Error codeCache.cpp guarantee(is_result_safe || is_in_asgct()) failed: " +
		"unsafe access to zombie method"
	mismatch := func(parts ...string) *misstepv1.Signature {
		return &misstepv1.Signature{Kind: "mismatch", Parts: parts}
	}
	chunks := func(kind, place string) *misstepv1.Signature { return mismatch("jfr-chunks", kind, "recorded "+place) }
	const edgeOf = "by jdk.ExecutionSample: "
	crash := func(parts ...string) *misstepv1.Signature { return &misstepv1.Signature{Kind: "crash", Parts: parts} }
	for _, c := range []struct {
		sig     *misstepv1.Signature
		version string
		want    string
	}{
		{mismatch("gst-asgct", "truncated", "upcall <clinit>"), jdk17, "JDK-8303444"},
		{mismatch("gst-asgct", "truncated", "upcall <clinit>"), jdk25, "JDK-8303444"},
		{mismatch("gst-asgct", "truncated", "upcall <clinit>"), jdk28ea, "JDK-8303444"},
		{mismatch("gst-asgct", "truncated", "upcall linkCallSite"), jdk25, "JDK-8303444"},
		{mismatch("asgct-shadow", "truncated", "upcall <clinit>"), jdk17, "JDK-8303444"},
		{mismatch("asgct-gst-bracket", "truncated", "upcall loadClass"), jdk28ea, "JDK-8303444"},
		{mismatch("asgct-gst-bracket", "foreign", "upcall loadClass"), jdk28ea, ""},
		{mismatch("gst-asgct", "truncated", "upcall <clinit>"), "", "JDK-8303444"},
		{mismatch("gst-asgct", "truncated", "a.B.f <- a.B.g"), jdk17, ""},
		{mismatch("gst-asgct", "truncated", "native a.B.f"), jdk17, ""},
		{mismatch("gst-asgct", "missing", "upcall <clinit>"), jdk17, ""},
		{mismatch("shadow-gst", "truncated", "upcall <clinit>"), jdk17, ""},
		{mismatch("gst-asgct", "truncated"), jdk17, ""},
		{crash("gst-asgct", "truncated", "upcall <clinit>"), jdk17, ""},

		{crash(guarantee, "frame: V CodeCache::find_blob"), jdk17, "JDK-8352649"},
		{crash(guarantee, "frame: V CodeCache::find_blob"), jdk11, "JDK-8352649"},
		{crash(guarantee, "frame: V CodeCache::find_blob"), jdk1716, ""},
		{crash(guarantee, "frame: V CodeCache::find_blob"), jdk25, ""},
		{crash(guarantee, "frame: V CodeCache::find_blob"), jdk8, "JDK-8339133"},
		{crash(guarantee, "frame: V CodeCache::find_blob"), jdk8new, ""},
		{crash(guarantee, "frame: V CodeCache::find_blob"), "1.8.0_312", "JDK-8283849"}, // the older wording, see triage
		{crash(guarantee, "frame: V CodeCache::find_blob"), "11.0.17+8", "JDK-8283849"},
		{crash(guarantee, "frame: V CodeCache::find_blob"), "17.0.2", "JDK-8283849"},
		{crash(guarantee, "frame: V CodeCache::find_blob"), "18.0.1", "JDK-8283849"},
		{crash(guarantee, "frame: V CodeCache::find_blob"), "19.0.1", ""},
		{crash("Internal Error codeCache.cpp guarantee(other) failed", "frame: V CodeCache::find_blob"), jdk17, ""},
		{crash("SIGSEGV", "frame: V CodeCache::find_blob"), jdk17, ""},

		{mismatch("asgct-shadow", "truncated", "top: stub body"), jdk17, "JDK-8178287"},
		{mismatch("asgct-shadow", "truncated", "top: compiled prologue"), jdk17, "JDK-8178287"},
		{mismatch("asgct-shadow", "missing", "top: compiled prologue"), jdk17, "JDK-8178287"},
		{mismatch("asgct-shadow", "truncated", "top: compiled body"), jdk17, ""},
		{mismatch("gst-asgct", "truncated", "top: compiled prologue"), jdk17, ""},

		{mismatch("asgct-shadow", "wrong-method", "top: compiled body"), jdk25, ""}, // JDK-8022893 is the rule inline-imprecision
		{mismatch("asgct-shadow", "wrong-method", "top: compiled epilogue"), jdk25, "MISSTEP-epilogue-fabrication"},
		{mismatch("asgct-shadow", "wrong-method", "top: compiled subtype check"), jdk25, "MISSTEP-pushed-words"},
		{mismatch("edges", "impossible-edge", "top: compiled string search"), jdk25, "MISSTEP-string-search"},
		{mismatch("asgct-shadow", "truncated", "top: compiled string compression"), jdk17, "MISSTEP-string-compress"},
		{mismatch("asgct-shadow", "truncated", "top: compiled string compression"), jdk8, ""},
		{mismatch("asgct-shadow", "wrong-method", "top: interpreted body"), jdk25, ""},
		{mismatch("asgct-shadow", "wrong-method", "a.B.f"), jdk25, ""},

		{mismatch("asgct-shadow", "foreign", "top: compiled epilogue"), jdk25, "MISSTEP-epilogue-fabrication"},
		{mismatch("edges", "impossible-edge", "top: compiled epilogue"), jdk25, "MISSTEP-epilogue-fabrication"},
		{mismatch("edges", "impossible-edge", "top: compiled body"), jdk25, ""},
		{mismatch("edges", "impossible-edge", "no bytecode index"), jdk8, "MISSTEP-caller-without-index"},
		{mismatch("edges", "impossible-edge", "no bytecode index"), jdk17, ""},
		{mismatch("edges", "impossible-edge", "caller without an index"), jdk8, "MISSTEP-caller-without-index"}, // of version 0
		{mismatch("asgct-shadow", "foreign", "top: compiled body"), jdk25, ""},
		{mismatch("asgct-shadow", "extra", "top: compiled epilogue"), jdk25, "MISSTEP-epilogue-fabrication"},
		{mismatch("asgct-shadow", "extra", "top: compiled body"), jdk25, ""},
		{mismatch("asgct-shadow", "missing", "top: interpreted prologue"), jdk17, "JDK-8178287"},
		{mismatch("asgct-shadow", "missing", "top: interpreted epilogue"), jdk17, "MISSTEP-frame-not-set-up"},
		{mismatch("asgct-shadow", "missing", "top: interpreted body"), jdk17, ""},
		{mismatch("asgct-shadow", "missing", "top: native prologue"), jdk17, "JDK-8178287"},
		{mismatch("asgct-shadow", "missing", "top: native body"), jdk17, ""},
		{mismatch("edges", "impossible-edge", "top: interpreted epilogue"), jdk17, "MISSTEP-frame-not-set-up"},

		{mismatch("gst-asgct", "truncated", "deoptimised caller"), jdk17, "MISSTEP-deoptimised-caller"},
		{mismatch("gst-asgct", "truncated", "a.B.f <- a.B.g"), jdk17, ""},

		{mismatch("gst-asgct", "missing", "continuation"), jdk21, "MISSTEP-virtual-thread-thaw"},
		{mismatch("gst-asgct", "truncated", "continuation"), jdk25, "MISSTEP-virtual-thread-thaw"},
		{mismatch("asgct-shadow", "truncated", "continuation"), jdk25, "MISSTEP-virtual-thread-thaw"},
		{mismatch("gst-asgct", "missing", "continuation"), jdk17, ""},
		{mismatch("shadow-gst", "missing", "continuation"), jdk21, ""},

		{mismatch("jfr-shadow", "truncated", "by jdk.ExecutionSample: upcall transform"), jdk17, "MISSTEP-jfr-upcall"},
		{mismatch("jfr-shadow", "truncated", "by jdk.ExecutionSample: upcall transform"), jdk25, ""}, // JEP 518
		{mismatch("jfr-shadow", "missing", "by jdk.ExecutionSample: upcall transform"), jdk17, ""},
		{mismatch("jfr-shadow", "truncated", "by jdk.ExecutionSample: below a.B.f"), jdk17, ""},
		{mismatch("jfr-shadow", "foreign", "by jdk.ExecutionSample: top: compiled epilogue"), jdk17, "MISSTEP-jfr-unfinished-frame"},
		{mismatch("jfr-shadow", "foreign", "by jdk.ExecutionSample: top: compiled epilogue"), jdk25, ""},
		{mismatch("jfr-shadow", "foreign", "by jdk.ExecutionSample: top: compiled body"), jdk17, ""},
		{mismatch("jfr-shadow", "missing", "by jdk.ExecutionSample: top: interpreted prologue"), jdk17, "MISSTEP-jfr-unfinished-frame"},
		{mismatch("event-edges", "impossible-edge", edgeOf+"top: compiled epilogue"), jdk17, "MISSTEP-jfr-unfinished-frame"},
		{mismatch("event-edges", "impossible-edge", edgeOf+"top: compiled epilogue"), jdk8, "MISSTEP-jfr-unfinished-frame"},
		{mismatch("event-edges", "impossible-edge", edgeOf+"top: compiled epilogue"), jdk25, ""},
		{mismatch("event-edges", "impossible-edge", edgeOf+"top: compiled body"), jdk17, ""},
		{mismatch("event-edges", "impossible-edge", edgeOf+"top: unknown code unknown"), jdk17, ""}, // of a recording by itself
		{mismatch("event-edges", "impossible-edge", edgeOf+"a.B.f <- a.B.g"), jdk17, ""},
		{mismatch("event-edges", "impossible-edge", edgeOf+"no bytecode index"), jdk8, "MISSTEP-caller-without-index"},
		{mismatch("event-edges", "impossible-edge", "by no: no bytecode index"), jdk8, "MISSTEP-caller-without-index"},
		{mismatch("event-edges", "impossible-edge", edgeOf+"no bytecode index"), jdk17, ""},
		{mismatch("event-edges", "impossible-edge", "by vm: top: compiled epilogue"), jdk17, "MISSTEP-async-profiler-epilogue"},
		{mismatch("event-edges", "impossible-edge", "by no: top: compiled epilogue"), jdk25, "MISSTEP-epilogue-fabrication"},
		{mismatch("event-edges", "impossible-edge", "by vm: top: compiled body"), jdk17, ""},
		{mismatch("jfr-shadow", "missing", "by jdk.CPUTimeSample: top: interpreted prologue"), jdk25, "MISSTEP-jfr-interpreter-entry"},
		{mismatch("jfr-shadow", "missing", "by jdk.ExecutionSample: top: interpreted prologue"), jdk28ea, "MISSTEP-jfr-interpreter-entry"},
		{mismatch("jfr-shadow", "missing", "by jdk.CPUTimeSample: top: interpreted epilogue"), jdk25, "MISSTEP-jfr-interpreter-entry"},
		{mismatch("jfr-shadow", "foreign", "by jdk.CPUTimeSample: top: interpreted prologue"), jdk25, ""},
		{mismatch("jfr-shadow", "missing", "by jdk.CPUTimeSample: top: interpreted body"), jdk25, ""},

		{mismatch("profiler-shadow", "truncated", "by vm: upcall loadClass"), jdk25, "MISSTEP-async-profiler-empty-anchor"},
		{mismatch("profiler-shadow", "truncated", "by vmx: upcall loadClass"), jdk25, ""}, // it walks through the entry frame
		{mismatch("profiler-shadow", "missing", "by vm: upcall loadClass"), jdk25, ""},
		{mismatch("jfr-shadow", "truncated", "by vm: upcall loadClass"), jdk25, ""},
		{mismatch("profiler-shadow", "truncated", "by vmx: top: interpreted prologue"), jdk17, "MISSTEP-async-profiler-method-entry"},
		{mismatch("profiler-shadow", "missing", "by vm: top: interpreted prologue"), jdk17, "MISSTEP-async-profiler-method-entry"},
		{mismatch("event-edges", "impossible-edge", "by vmx: top: interpreted prologue"), jdk17, "MISSTEP-async-profiler-method-entry"},
		{mismatch("profiler-shadow", "missing", "by vm: top: interpreted body"), jdk17, ""},
		{mismatch("profiler-shadow", "truncated", "by no: top: interpreted prologue"), jdk17, "JDK-8178287"},
		{mismatch("profiler-shadow", "truncated", "by vm: top: compiled epilogue"), jdk17, "MISSTEP-async-profiler-epilogue"},
		{mismatch("profiler-shadow", "truncated", "by vm: top: compiled body"), jdk17, ""},
		{mismatch("profiler-shadow", "missing", "by vm: below C1 Runtime slow_subtype_check_blob"), jdk25, "MISSTEP-async-profiler-stub"},
		{mismatch("profiler-shadow", "missing", "by vmx: below I2C/C2I adapters"), jdk25, "MISSTEP-async-profiler-stub"},
		{mismatch("profiler-shadow", "truncated", "by vm: below method_entry_barrier"), jdk25, "MISSTEP-async-profiler-stub"},
		{mismatch("profiler-shadow", "missing", "by vm: below a.B.f"), jdk25, ""},
		{chunks("undefined-constant", "jdk.types.StackTrace of jdk.OldObjectSample.stackTrace"), jdk21, "JDK-8353226"},
		{chunks("undefined-constant", "jdk.types.StackTrace of jdk.OldObjectSample.stackTrace"), jdk25, ""},
		{chunks("undefined-constant", "jdk.types.OldObject of jdk.OldObjectSample.object"), jdk21, ""},
		{chunks("undefined-constant", "java.lang.Thread of jdk.ThreadEnd.thread"), jdk17, "JDK-8287699"},
		{chunks("undefined-constant", "java.lang.Thread of jdk.ThreadStart.parentThread"), jdk17, "MISSTEP-destroy-java-vm"},
		{chunks("undefined-constant", "java.lang.Thread of jdk.ThreadStart.parentThread"), jdk21, ""},
		{chunks("undefined-constant", "java.lang.Thread of jdk.JavaMonitorEnter.previousOwner"), jdk17, "MISSTEP-ended-thread"},
		{chunks("undefined-constant", "java.lang.Thread of jdk.BiasedLockRevocation.previousOwner"), jdk11, "MISSTEP-ended-thread"},
		{chunks("undefined-constant", "java.lang.Thread of jdk.JavaMonitorWait.notifier"), jdk25, "MISSTEP-ended-thread"},
		{chunks("undefined-constant", "java.lang.Thread of jdk.JavaMonitorWait.notifier"), jdk8, "MISSTEP-ended-thread"},
		{chunks("undefined-constant", "java.lang.Thread of jdk.JavaMonitorWait.eventThread"), jdk25, ""},
		{chunks("undefined-constant", "java.lang.Thread of jdk.JavaMonitorWait.notifier"), jdk17, "MISSTEP-ended-thread"},
		{chunks("undefined-constant", "java.lang.Thread of jdk.ThreadAllocationStatistics.thread"), jdk17, "JDK-8287699"},
		{chunks("undefined-constant", "java.lang.Thread of jdk.ThreadAllocationStatistics.thread"), jdk8, "MISSTEP-8u-threads"},
		{chunks("undefined-constant", "java.lang.Thread of jdk.ThreadAllocationStatistics.thread"), jdk21, ""},
		{chunks("undefined-constant", "jdk.types.StackTrace of jdk.ThreadStart.stackTrace"), jdk8, "MISSTEP-8u-threads"},
		{chunks("undefined-constant", "jdk.types.StackTrace of jdk.ThreadStart.stackTrace"), jdk11, ""},
		{chunks("duplicate-id", "java.lang.Class.package"), jdk8, "MISSTEP-8u-packages"},
		{chunks("duplicate-id", "java.lang.Class.name"), jdk8, ""},
		{chunks("duplicate-id", "java.lang.Class.package"), jdk11, ""},
		{chunks("undefined-constant", "jdk.types.Package of java.lang.Class.package"), jdk8, "MISSTEP-8u-packages"},
		{chunks("undefined-constant", "jdk.types.ClassLoader of jdk.ClassLoaderStatistics.classLoader"), jdk17, "MISSTEP-unloaded-loader"},
		{chunks("undefined-constant", "jdk.types.ClassLoader of jdk.ClassLoaderStatistics.classLoader"), jdk25, "MISSTEP-unloaded-loader"},
		{chunks("undefined-constant", "jdk.types.ClassLoader of java.lang.Class.classLoader"), jdk17, ""},
		{chunks("undefined-constant", "java.lang.Thread of jdk.OldObjectSample.eventThread"), jdk25, "MISSTEP-old-object-thread"},
		{chunks("undefined-constant", "java.lang.Thread of jdk.OldObjectSample.eventThread"), jdk21, ""},
		{chunks("duplicate-id", "java.lang.Thread.osThreadId"), jdk25, "MISSTEP-thread-other-os-id"},
		{chunks("duplicate-id", "java.lang.Thread.osThreadId"), jdk17, ""},
		{chunks("duplicate-id", "java.lang.Thread.javaName,javaThreadId"), jdk25, ""},
		{chunks("undefined-constant", "java.lang.Thread of jdk.ThreadEnd.thread"), jdk11, "MISSTEP-thread-at-rotation"},
		{chunks("undefined-constant", "java.lang.Thread of jdk.ThreadStart.thread"), jdk11, ""},
		{chunks("undefined-constant", "java.lang.Thread of jdk.ThreadEnd.thread"), jdk21, ""},
		{chunks("event-time", "jdk.ActiveRecording before"), jdk17, "JDK-8288685"},
		{chunks("event-time", "jdk.ActiveRecording after"), jdk17, ""},
		{chunks("event-time", "jdk.ActiveSetting before"), jdk17, ""},
		{chunks("event-time", "jdk.ActiveRecording before"), jdk21, ""},
		{chunks("undefined-constant", "jdk.types.StackTrace of jdk.JavaMonitorEnter.stackTrace"), jdk11, "MISSTEP-trace-before-wait"},
		{chunks("undefined-constant", "jdk.types.StackTrace of jdk.JavaMonitorWait.stackTrace"), jdk11, ""},
		{chunks("undefined-constant", "java.lang.String of jdk.FileRead.path"), jdk11, "JDK-8257621"},
		{chunks("undefined-constant", "java.lang.String of jdk.FileRead.path"), jdk17, "MISSTEP-string-pool"},
		{chunks("undefined-constant", "java.lang.String of jdk.InitialSecurityProperty.key"), jdk17, "MISSTEP-string-pool"},
		{chunks("undefined-constant", "java.lang.String of jdk.FileRead.path"), jdk21, ""},
		{
			chunks("undefined-constant", "jdk.types.Module of an emergency dump's jdk.ModuleRequire.source"), jdk25,
			"MISSTEP-emergency-flush",
		},
		{chunks("undefined-constant", "jdk.types.Module of jdk.ModuleRequire.source"), jdk25, ""},
		{chunks("undefined-constant", "jdk.types.Module of jdk.types.Package.module"), jdk25, ""},
		{chunks("undefined-constant", "jdk.types.Package of java.lang.Class.package"), jdk17, ""},
		{
			chunks("undefined-constant", "jdk.types.Package of async-profiler's java.lang.Class.package"), jdk17,
			"MISSTEP-async-profiler-no-package",
		},
		{chunks("duplicate-id", "jdk.types.StackTrace of jdk.JavaMonitorEnter.stackTrace"), jdk11, ""},
		{mismatch("profiler-shadow", "truncated", "by dwarf: upcall exception"), jdk17, "JDK-8303444"},
		{mismatch("profiler-shadow", "foreign", "by no: top: compiled epilogue"), jdk17, "MISSTEP-epilogue-fabrication"},
		{mismatch("profiler-shadow", "foreign", "by no: top: compiled body"), jdk17, ""},
		{mismatch("profiler-shadow", "truncated", "by vmx: below C2 Runtime rethrow_blob"), jdk28ea, "MISSTEP-async-profiler-stub"},
		{mismatch("profiler-shadow", "truncated", "by vm: below nmethod_entry_barrier"), jdk21, "MISSTEP-async-profiler-stub"},
		{mismatch("profiler-shadow", "truncated", "by vm: whole stack"), jdk21, "MISSTEP-async-profiler-native"},
		{mismatch("profiler-shadow", "foreign", "by vm: whole stack"), jdk21, ""},
		{mismatch("profiler-shadow", "truncated", "by vm: below java.lang.String.compareTo"), jdk17, "MISSTEP-string-compare"},
		{mismatch("profiler-shadow", "truncated", "by no: below java.lang.String.compareTo"), jdk17, ""},
		{mismatch("profiler-shadow", "truncated", "by vmx: top: native barrier"), jdk25, "MISSTEP-barrier-spill"},
		{mismatch("profiler-shadow", "truncated", "by vmx: top: native body"), jdk25, ""},
		{mismatch("profiler-shadow", "missing", "by vm: top: compiled string search"), jdk25, "MISSTEP-string-search"},
		{mismatch("profiler-shadow", "missing", "by vm: top: compiled subtype check"), jdk25, "MISSTEP-pushed-words"},
		{mismatch("profiler-shadow", "truncated", "by vm: top: compiled string compression"), jdk17, "MISSTEP-string-compress"},
		{mismatch("profiler-shadow", "truncated", "by no: deoptimised caller"), jdk21, "MISSTEP-deoptimised-caller"},
		{mismatch("profiler-shadow", "truncated", "by vm: deoptimised caller"), jdk21, ""},
		{mismatch("jfr-shadow", "truncated", "by jdk.ExecutionSample: deoptimised caller"), jdk21, "MISSTEP-jfr-deoptimised-caller"},
		{mismatch("jfr-shadow", "truncated", "by jdk.ExecutionSample: deoptimised caller"), jdk25, ""},
		{mismatch("event-edges", "impossible-edge", "by vm: deoptimised caller"), jdk25, "MISSTEP-async-profiler-deoptimised"},
		{mismatch("event-edges", "impossible-edge", "by no: deoptimised caller"), jdk25, ""},
		{mismatch("profiler-shadow", "truncated", "by vm: top: compiled string compression"), jdk25, ""},
	} {
		assert.Equal(t, c.want, known.Default().Label(c.sig, c.version), "%v on %s", c.sig, c.version)
	}
	assert.Empty(t, known.Catalogue{}.Label(mismatch("gst-asgct", "truncated", "upcall <clinit>"), jdk17))
	assert.NotEmpty(t, known.Default().Bugs())
}

func TestParseFails(t *testing.T) {
	const good = `- {id: A, title: t, description: d, versions: ["8.."], matches: [{kind: crash, parts: ["*"]}]}`
	_, err := known.Parse([]byte(good))
	require.NoError(t, err)
	for text, want := range map[string]string{
		"- {id: A, colour: red}": "colour",
		good + "\n" + good:       `known bug 1 ("A")`,
		`- {id: A, title: t, description: d, versions: ["8"], matches: [{kind: crash, parts: ["*"]}]}`:        "from..to",
		`- {id: A, title: t, description: d, versions: ["8..x"], matches: [{kind: crash, parts: ["*"]}]}`:     "numbers",
		`- {id: A, title: t, description: d, versions: ["8..1.2.3.4"], matches: [{kind: crash, parts: [a]}]}`: "three numbers",
		`- {id: A, title: t, description: d, versions: ["8.."], matches: [{kind: crash}]}`:                    "match everything",
		`- {id: A, title: t, description: d, versions: ["8.."]}`:                                              "matches",
	} {
		_, err := known.Parse([]byte(text))
		assert.ErrorContains(t, err, want, text)
	}
}

// What the versions say of fixes is told as it is: a range that ends within a release was fixed after it, one that ends with a
// release in the next one unless that has the bug as well, and updates that have a bug which the release has not say nothing.
func TestFixes(t *testing.T) {
	for id, want := range map[string][]string{
		"JDK-8352649": {"17 after 17.0.15"},
		"JDK-8339133": {"8 after 8u422"},
		"JDK-8302320": {"17 after 17.0.7", "20 after 20.0.0"},
		"JDK-8283849": {"8 after 8u345", "11 after 11.0.17", "17 after 17.0.4", "19"},
		"JDK-8303444": nil,
	} {
		b, ok := known.Default().Bug(id)
		require.True(t, ok, id)
		require.Equal(t, want, b.Fixes(), id)
	}
	own, err := known.Own([]*misstepv1.KnownBug{{
		Id: "P-1", FixedIn: []string{"28+15"}, Matches: []*misstepv1.KnownMatch{{Kind: "crash", Parts: []string{"*", "frame: V Foo::bar"}}},
	}})
	require.NoError(t, err)
	require.Equal(t, []string{"28+15"}, own.Bugs()[0].Fixes())
}

// A bug is near if what tells it from others is the same and something else is not.
func TestNear(t *testing.T) {
	own, err := known.Own([]*misstepv1.KnownBug{
		{Id: "P-1", Matches: []*misstepv1.KnownMatch{{Kind: "crash", Parts: []string{"SIGSEGV", "frame: V Foo::bar"}}}},
		{Id: "P-2", Matches: []*misstepv1.KnownMatch{{Kind: "crash", Parts: []string{"SIGBUS", "frame: *"}}}},
		{Id: "P-3", Matches: []*misstepv1.KnownMatch{{Kind: "hang", Parts: []string{"deadlock", "left at Foo*"}}}},
	})
	require.NoError(t, err)
	near := func(c known.Catalogue, s signature.Signature) (ids []string) {
		for _, n := range c.Near(signature.Proto(s)) {
			require.NotEmpty(t, n.Reason)
			ids = append(ids, n.ID)
		}
		return ids
	}
	require.Equal(t, []string{"P-1"}, near(own, signature.Crash{Error: "SIGBUS", Frame: "V Foo::bar"})[:1])
	require.Empty(t, near(own, signature.Crash{Error: "SIGSEGV", Frame: "V Foo::bar"}), "that is the bug")
	require.Empty(t, near(own, signature.Crash{Error: "SIGILL", Frame: "V Foo::other"}), "an open frame is like everything")
	require.Equal(t, []string{"P-3"}, near(own, signature.Hang{Cause: "limit", Waiters: []string{"left at Foo.f"}}))
	const text = " guarantee(is_result_safe || is_in_asgct()) failed: unsafe access to zombie method"
	crashed := func(file string) signature.Crash {
		return signature.Crash{Error: "Internal Error " + file + text, Frame: "V CodeBlob::find"}
	}
	require.Len(t, near(known.Default(), crashed("codeBlob.cpp")), 3)
	require.Empty(t, near(known.Default(), crashed("codeCache.cpp")))
}
