// Package preset defines named sets of JVM flags that a campaign can request on every JDK: collectors, compilers, stress. A preset
// has required and optional flags; the flags that a JDK has were queried from it at import.
package preset

import (
	"fmt"
	"slices"
	"strings"
)

// Kinds of flags by what unlocks them, as -XX:+PrintFlagsFinal prints them in braces.
const (
	Product      = "product"
	Diagnostic   = "diagnostic"
	Experimental = "experimental"
)

// Preset is a named set of JVM flags.
type Preset struct {
	Name string
	// Does describes what it changes.
	Does string
	// since is the first feature version in which the flags have the described effect; 0 for all.
	since int
	// required are flags that a JDK must have.
	required []string
	// optional are flags that are added if a JDK has them.
	optional []string
}

// presets in the order in which they are listed. The versions in the comments are those of HotSpot's sources; since the flags of a
// build also depend on how it was built, the flags that it prints decide.
var presets = []Preset{
	{Name: "serial", Does: "the serial collector", required: []string{"-XX:+UseSerialGC"}},
	{Name: "parallel", Does: "the parallel collector", required: []string{"-XX:+UseParallelGC"}},
	{Name: "g1", Does: "the G1 collector", required: []string{"-XX:+UseG1GC"}},
	// 11: experimental, 15: product (JEP 377), 24: always with generations (JEP 490).
	{Name: "zgc", Does: "ZGC; without generations before JDK 23", required: []string{"-XX:+UseZGC"}},
	// 21 to 23: ZGenerational (JEP 439), 24: the only mode, and the flag is removed.
	{
		Name: "zgc-generational", Does: "ZGC with generations", since: 21, required: []string{"-XX:+UseZGC"},
		optional: []string{"-XX:+ZGenerational"},
	},
	{Name: "shenandoah", Does: "Shenandoah", required: []string{"-XX:+UseShenandoahGC"}},
	// 24: experimental (JEP 404), 25: product (JEP 521). The flag ShenandoahGCMode is older than this mode.
	{
		Name: "shenandoah-generational", Does: "Shenandoah with generations", since: 25,
		required: []string{"-XX:+UseShenandoahGC", "-XX:ShenandoahGCMode=generational"},
	},

	{Name: "int", Does: "the interpreter only", required: []string{"-Xint"}},
	{Name: "comp", Does: "methods are compiled before their first call", required: []string{"-Xcomp"}},
	{Name: "c1", Does: "C1 only", required: []string{"-XX:TieredStopAtLevel=1"}},
	{
		Name: "c1-comp", Does: "methods are compiled by C1 before their first call",
		required: []string{"-XX:TieredStopAtLevel=1", "-Xcomp"},
	},
	{Name: "c1-profiled", Does: "C1 with full profiles, never C2", required: []string{"-XX:TieredStopAtLevel=3"}},
	{Name: "c2", Does: "C2 only", required: []string{"-XX:-TieredCompilation"}},
	{
		Name: "no-inline", Does: "no inlining", required: []string{"-XX:-Inline"},
		// C1 obeys the levels only; before 16 it shared C2's.
		optional: []string{"-XX:MaxInlineLevel=0", "-XX:C1MaxInlineLevel=0", "-XX:C1MaxTrivialSize=0"},
	},
	{
		Name: "no-osr", Does: "no on-stack replacement", required: []string{"-XX:-UseOnStackReplacement"},
	},
	{
		Name: "deopt-stress", Does: "C2 speculates on short profiles, with practically no limit on traps and recompilations; " +
			"nmethod barriers deoptimise at random (17+)",
		required: []string{
			"-XX:PerMethodTrapLimit=100000", "-XX:PerBytecodeTrapLimit=100000", "-XX:PerMethodRecompilationCutoff=-1",
			"-XX:PerBytecodeRecompilationCutoff=-1",
			"-XX:Tier3InvocationThreshold=50", "-XX:Tier3MinInvocationThreshold=20", "-XX:Tier3CompileThreshold=100",
			"-XX:Tier4InvocationThreshold=100", "-XX:Tier4MinInvocationThreshold=50", "-XX:Tier4CompileThreshold=200",
			"-XX:Tier4BackEdgeThreshold=2000",
		},
		optional: []string{
			"-XX:+DeoptimizeNMethodBarriersALot", "-XX:+DeoptimizeOnAllocationException",
			"-XX:+StressUnstableIfTraps",
		},
	},
	{
		Name: "c2-stress", Does: "C2 schedules code at random (StressSeed=1 where the flag exists)",
		required: []string{"-XX:+StressLCM", "-XX:+StressGCM"},
		optional: []string{
			"-XX:+StressIGVN", "-XX:+StressCCP", "-XX:+StressMacroExpansion", "-XX:+StressIncrementalInlining",
			"-XX:+StressUnstableIfTraps", "-XX:StressSeed=1",
		},
	},
	{
		Name: "safepoint-stress", Does: "a safepoint every millisecond", required: []string{"-XX:GuaranteedSafepointInterval=1"},
		optional: []string{"-XX:+SafepointALot"},
	},
	{
		Name: "small-code-cache", Does: "a code cache of 8 MB that is flushed constantly",
		required: []string{"-XX:ReservedCodeCacheSize=8m", "-XX:+UseCodeCacheFlushing"},
		optional: []string{"-XX:-SegmentedCodeCache", "-XX:StartAggressiveSweepingAt=50"},
	},
	{
		Name: "compressed-off", Does: "full-width object and, before JDK 27, class pointers",
		required: []string{"-XX:-UseCompressedOops"},
		optional: []string{"-XX:-UseCompactObjectHeaders", "-XX:-UseCompressedClassPointers"},
	},
	// 24: experimental (JEP 450), 25: product (JEP 519).
	{Name: "compact-headers", Does: "compact object headers", required: []string{"-XX:+UseCompactObjectHeaders"}},
	{Name: "frame-pointers", Does: "compiled methods keep a frame pointer", required: []string{"-XX:+PreserveFramePointer"}},
	{
		Name: "bound-threads", Does: "each virtual thread is bound to a platform thread of its own", since: 21,
		required: []string{"-XX:-VMContinuations"},
	},
}

// All returns all presets.
func All() []Preset { return slices.Clone(presets) }

// Names returns the names of all presets.
func Names() []string {
	var names []string
	for _, p := range presets {
		names = append(names, p.Name)
	}
	return names
}

// Find returns the preset of that name.
func Find(name string) (Preset, bool) {
	i := slices.IndexFunc(presets, func(p Preset) bool { return p.Name == name })
	if i < 0 {
		return Preset{}, false
	}
	return presets[i], true
}

// Flags returns the preset's flags for a JDK of a feature version that has the given flags (kinds by name), preceded by those that
// unlock them. The error explains why the JDK does not support the preset.
func (p Preset) Flags(feature int, has map[string]string) ([]string, error) {
	if feature < p.since {
		return nil, fmt.Errorf("it needs JDK %d or newer", p.since)
	}
	chosen := slices.Clone(p.required)
	for _, f := range p.required {
		if name := flagName(f); name != "" && has[name] == "" {
			return nil, fmt.Errorf("it has no flag %s", name)
		}
	}
	for _, f := range p.optional {
		if has[flagName(f)] != "" {
			chosen = append(chosen, f)
		}
	}
	var unlock []string
	for kind, flag := range map[string]string{
		Diagnostic:   "-XX:+UnlockDiagnosticVMOptions",
		Experimental: "-XX:+UnlockExperimentalVMOptions",
	} {
		if slices.ContainsFunc(chosen, func(f string) bool { return has[flagName(f)] == kind }) {
			unlock = append(unlock, flag)
		}
	}
	slices.Sort(unlock)
	return append(unlock, chosen...), nil
}

// flagName returns UseG1GC for -XX:+UseG1GC, ReservedCodeCacheSize for -XX:ReservedCodeCacheSize=8m, and an empty string for
// options that every JVM has (-Xint).
func flagName(flag string) string {
	name, ok := strings.CutPrefix(flag, "-XX:")
	if !ok {
		return ""
	}
	name, _, _ = strings.Cut(strings.TrimLeft(name, "+-"), "=")
	return name
}
