// Package preset names sets of JVM flags that a campaign asks for on every JDK: collectors, compilers, stress. A preset knows which
// flags it needs and which it takes where a JDK has them; what a JDK has, the JDK itself was asked for at import.
package preset

import (
	"fmt"
	"slices"
	"strings"
)

// Kind of a flag by what unlocks it, as -XX:+PrintFlagsFinal has it in braces.
const (
	Product      = "product"
	Diagnostic   = "diagnostic"
	Experimental = "experimental"
)

// Preset is a named set of JVM flags.
type Preset struct {
	Name string
	// Does says for people what it changes.
	Does string
	// since is the first feature version in which the flags mean what Does says; 0 for all.
	since int
	// needs are flags that a JDK must have.
	needs []string
	// takes are flags that are given where a JDK has them.
	takes []string
}

// presets in the order in which people look for them. The versions in the comments are of HotSpot's sources: what a build has
// beyond them depends on how it was built, so the flags that it prints decide.
var presets = []Preset{
	{Name: "serial", Does: "the serial collector", needs: []string{"-XX:+UseSerialGC"}},
	{Name: "parallel", Does: "the parallel collector", needs: []string{"-XX:+UseParallelGC"}},
	{Name: "g1", Does: "the G1 collector", needs: []string{"-XX:+UseG1GC"}},
	// 11: experimental, 15: product (JEP 377), 24: always with generations (JEP 490).
	{Name: "zgc", Does: "ZGC; without generations before JDK 23", needs: []string{"-XX:+UseZGC"}},
	// 21 to 23: ZGenerational (JEP 439), 24: the only mode, and the flag is gone.
	{Name: "zgc-generational", Does: "ZGC with generations", since: 21, needs: []string{"-XX:+UseZGC"}, takes: []string{"-XX:+ZGenerational"}},
	{Name: "shenandoah", Does: "Shenandoah", needs: []string{"-XX:+UseShenandoahGC"}},
	// 24: experimental (JEP 404), 25: product (JEP 521). The flag ShenandoahGCMode is older than this mode of it.
	{Name: "shenandoah-generational", Does: "Shenandoah with generations", since: 25, needs: []string{"-XX:+UseShenandoahGC", "-XX:ShenandoahGCMode=generational"}},

	{Name: "int", Does: "the interpreter only", needs: []string{"-Xint"}},
	{Name: "comp", Does: "everything is compiled before its first call", needs: []string{"-Xcomp"}},
	{Name: "c1", Does: "no compiler but C1", needs: []string{"-XX:TieredStopAtLevel=1"}},
	{Name: "c1-comp", Does: "everything is compiled by C1 before its first call", needs: []string{"-XX:TieredStopAtLevel=1", "-Xcomp"}},
	{Name: "c1-profiled", Does: "C1 with full profiles, never C2", needs: []string{"-XX:TieredStopAtLevel=3"}},
	{Name: "c2", Does: "no compiler but C2", needs: []string{"-XX:-TieredCompilation"}},
	{
		Name: "no-inline", Does: "compiled methods have no inlined ones", needs: []string{"-XX:-Inline"},
		// C1 heeds levels only; before 16 it shared C2's.
		takes: []string{"-XX:MaxInlineLevel=0", "-XX:C1MaxInlineLevel=0", "-XX:C1MaxTrivialSize=0"},
	},
	{
		Name: "no-osr", Does: "no loop is replaced while it runs", needs: []string{"-XX:-UseOnStackReplacement"},
	},
	{
		Name: "deopt-stress", Does: "C2 speculates on little profile and may be wrong without end; nmethod barriers deoptimise at random (17+)",
		needs: []string{
			"-XX:PerMethodTrapLimit=100000", "-XX:PerBytecodeTrapLimit=100000", "-XX:PerMethodRecompilationCutoff=-1", "-XX:PerBytecodeRecompilationCutoff=-1",
			"-XX:Tier3InvocationThreshold=50", "-XX:Tier3MinInvocationThreshold=20", "-XX:Tier3CompileThreshold=100",
			"-XX:Tier4InvocationThreshold=100", "-XX:Tier4MinInvocationThreshold=50", "-XX:Tier4CompileThreshold=200", "-XX:Tier4BackEdgeThreshold=2000",
		},
		takes: []string{"-XX:+DeoptimizeNMethodBarriersALot", "-XX:+DeoptimizeOnAllocationException", "-XX:+StressUnstableIfTraps"},
	},
	{
		Name: "c2-stress", Does: "C2 orders and places code by chance (StressSeed=1 where there is one)", needs: []string{"-XX:+StressLCM", "-XX:+StressGCM"},
		takes: []string{
			"-XX:+StressIGVN", "-XX:+StressCCP", "-XX:+StressMacroExpansion", "-XX:+StressIncrementalInlining",
			"-XX:+StressUnstableIfTraps", "-XX:StressSeed=1",
		},
	},
	{
		Name: "safepoint-stress", Does: "a safepoint each millisecond", needs: []string{"-XX:GuaranteedSafepointInterval=1"},
		takes: []string{"-XX:+SafepointALot"},
	},
	{
		Name: "small-code-cache", Does: "a code cache of 8 MB that is flushed all the time", needs: []string{"-XX:ReservedCodeCacheSize=8m", "-XX:+UseCodeCacheFlushing"},
		takes: []string{"-XX:-SegmentedCodeCache", "-XX:StartAggressiveSweepingAt=50"},
	},
	{
		Name: "compressed-off", Does: "full-width object and, before JDK 27, class pointers", needs: []string{"-XX:-UseCompressedOops"},
		takes: []string{"-XX:-UseCompactObjectHeaders", "-XX:-UseCompressedClassPointers"},
	},
	// 24: experimental (JEP 450), 25: product (JEP 519).
	{Name: "compact-headers", Does: "compact object headers", needs: []string{"-XX:+UseCompactObjectHeaders"}},
	{Name: "frame-pointers", Does: "compiled methods keep a frame pointer", needs: []string{"-XX:+PreserveFramePointer"}},
	{Name: "bound-threads", Does: "each virtual thread has a platform thread of its own", since: 21, needs: []string{"-XX:-VMContinuations"}},
}

// All presets.
func All() []Preset { return slices.Clone(presets) }

// Names of all presets.
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

// Flags are the preset's on a JDK of a feature version that has the given flags (name to Kind), those first that unlock others. The error
// says in words why the JDK cannot.
func (p Preset) Flags(feature int, has map[string]string) ([]string, error) {
	if feature < p.since {
		return nil, fmt.Errorf("it needs JDK %d or newer", p.since)
	}
	chosen := slices.Clone(p.needs)
	for _, f := range p.needs {
		if name := flagName(f); name != "" && has[name] == "" {
			return nil, fmt.Errorf("it has no flag %s", name)
		}
	}
	for _, f := range p.takes {
		if has[flagName(f)] != "" {
			chosen = append(chosen, f)
		}
	}
	var unlock []string
	for kind, flag := range map[string]string{Diagnostic: "-XX:+UnlockDiagnosticVMOptions", Experimental: "-XX:+UnlockExperimentalVMOptions"} {
		if slices.ContainsFunc(chosen, func(f string) bool { return has[flagName(f)] == kind }) {
			unlock = append(unlock, flag)
		}
	}
	slices.Sort(unlock)
	return append(unlock, chosen...), nil
}

// flagName is UseG1GC for -XX:+UseG1GC, ReservedCodeCacheSize for -XX:ReservedCodeCacheSize=8m, and empty for what every JVM has (-Xint).
func flagName(flag string) string {
	name, ok := strings.CutPrefix(flag, "-XX:")
	if !ok {
		return ""
	}
	name, _, _ = strings.Cut(strings.TrimLeft(name, "+-"), "=")
	return name
}
