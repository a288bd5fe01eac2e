package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Every call of Java code that is not a plain invoke is a named rule of edges, in each execution mode: each entry of the program is
// checked, so its stacks below every upcall and method handle are judged, and none may be called impossible.
func TestEdgesOfEveryKindArePossible(t *testing.T) {
	modes := map[string][]string{
		"interpreted": {"-Xint"},
		"mixed":       nil,
		"c1":          compiled("Upcalls*.*", "-XX:TieredStopAtLevel=1"),
	}
	for _, j := range jvms(t) {
		for mode, flags := range modes {
			t.Run(j.String()+"/"+mode, func(t *testing.T) {
				o := Options{Seed: 1, Include: []string{"Upcalls*"}, Checks: map[string]float64{"gst-asgct": 1, "edges": 1}}
				r := run(t, j, o, flags, "Upcalls", "20")
				requireSound(t, r)
				require.Contains(t, r.output, "upcalls: verified")
				c := r.check("edges")
				t.Logf("%+v", c)
				require.GreaterOrEqual(t, c.Total, r.check("gst-asgct").Total)
				require.Empty(t, c.Void)
				require.NotZero(t, c.Match)
				for _, rule := range []string{"vm-upcall", "method-handle", "native-caller"} {
					require.NotZerof(t, c.Tolerated[rule], "%s never fired", rule)
				}
				for _, m := range r.mismatches {
					require.NotEqual(t, "edges", m.Check, "%+v", m)
				}
			})
		}
	}
}

// Calls of the VM at instructions where they are rare: the interpreter's one instruction for two bytecodes, C2's allocation of an
// instance without a constructor (8; later JDKs have a native frame here), the comparison of value objects. Each was once reported
// as impossible, so the programs do reach them.
func TestRareEdgesArePossible(t *testing.T) {
	const c1, c2, preview = "-XX:TieredStopAtLevel=1", "-XX:-TieredCompilation", "--enable-preview"
	entries := Options{Seed: 1, Include: []string{"Rare*"}, Checks: map[string]float64{"gst-asgct": 1, "edges": 1}}
	for _, tt := range []struct {
		what, mode string
		since      int
		seen       int // the last JDK on which traces must have a call by the VM as their weakest edge
		options    Options
		flags      []string
	}{
		// The verifier would load the caught type before anything is thrown, and on 25 it does.
		{
			"letters", "interpreted", 8, 21, entries,
			[]string{"-Xint", "-XX:+UnlockDiagnosticVMOptions", "-XX:-BytecodeVerificationRemote"},
		},
		{"allocate", "c2", 8, 0, entries, compiled("java.lang.invoke.DirectMethodHandle::allocateInstance", c2)},
		{"compare", "interpreted", 28, 28, inTurns(), []string{preview, "-Xint"}},
		{"compare", "c1", 28, 28, inTurns(), compiled("Rare::*", preview, c1)},
		{"compare", "c2", 28, 0, inTurns(), compiled("Rare::*", preview, c2)},
	} {
		for _, j := range features(t) {
			if j.feature < tt.since {
				continue
			}
			t.Run(fmt.Sprintf("%s/%s/%s", tt.what, tt.mode, j), func(t *testing.T) {
				tt.options.Checks["edges"] = 1
				r := run(t, j, tt.options, tt.flags, "Rare", tt.what)
				requireSound(t, r)
				require.Contains(t, r.output, "rare: verified")
				t.Logf("%+v", r.check("edges"))
				require.NotZero(t, r.check("edges").Match)
				require.True(t, j.feature > tt.seen || r.check("edges").Tolerated["vm-upcall"] > 0)
				for _, m := range r.mismatches {
					t.Logf("%s %s at %s", m.Check, m.Kind, m.boundary())
					if m.Check != "edges" {
						continue
					}
					for _, f := range m.Reference.Frames {
						require.NotEqual(t, "Rare", strings.Split(f.ClassName, "$")[0], "%+v", m)
						require.NotEqual(t, "java.lang.invoke.DirectMethodHandle", f.ClassName, "%+v", m)
					}
				}
			})
		}
	}
}

// Compiled code that requests a recompilation of its method at entry has the classes of its arguments loaded: GetStackTrace returns
// the bytecode index 0 there and AsyncGetCallTrace -1. Both mean the method's entry.
func TestACompiledEntryIsOnePlace(t *testing.T) {
	for _, j := range features(t) {
		t.Run(j.String(), func(t *testing.T) {
			o := Options{
				Seed: 1, Include: []string{"Rare*"}, Checks: map[string]float64{"gst-asgct": 1, "shadow-gst": 1, "edges": 1},
			}
			r := run(t, j, o, []string{"-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,Rare*::*"}, "Rare", "entry")
			requireSound(t, r)
			require.Contains(t, r.output, "rare: verified")
			require.NotZero(t, r.check("gst-asgct").Match)
			for _, m := range r.mismatches {
				require.NotEqual(t, "wrong-bci", m.Kind, "%+v", m)
				require.Equal(t, "gst-asgct", m.Check, "%+v", m)
			}
		})
	}
}

// The JVM rewrites JFR event classes after all transformers and thereby moves their pushes and pops.
func TestPlacesThatTheJvmMoved(t *testing.T) {
	for _, j := range jvms(t) {
		t.Run(j.String(), func(t *testing.T) {
			o := Options{Seed: 1, Checks: map[string]float64{"gst-asgct": 0.1, "shadow-gst": 0.1}, Ratio: 1}
			r := run(t, j, o, nil, "Event")
			requireSound(t, r)
			require.Contains(t, r.output, "event: verified")
			t.Logf("%+v", r.check("shadow-gst"))
			require.NotZero(t, r.check("shadow-gst").Tolerated["retransformed"])
			for _, m := range r.mismatches {
				require.Equal(t, "gst-asgct", m.Check, "%+v", m)
			}
		})
	}
}

// In an epilogue the walker reads the caller from a dead part of the stack; edges detects that without any instrumentation. About
// every second run of four seconds has such a sample (docs/figures/0003-edges.md).
func TestEdgesSeeAnEpilogueFabricationWithoutInstrumentation(t *testing.T) {
	jar, err := filepath.Abs(filepath.Join("..", "build", "workloads", "epilogue", "lib"))
	require.NoError(t, err)
	if _, err := os.Stat(jar); err != nil {
		t.Skipf("the workloads are not built: %v", err)
	}
	for _, j := range jvms(t) {
		t.Run(j.String(), func(t *testing.T) {
			const most = 15
			for seed := range uint64(most) {
				o := Options{
					Seed: seed, Checks: map[string]float64{"asgct-gst-bracket": 1, "edges": 1},
					Interval: 50 * time.Microsecond, Jitter: 0.5,
				}
				flags := []string{
					"-Xmx256m", "-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints", "-Dmisstep.repetitions=2",
					"-Dmisstep.scratch=" + t.TempDir(),
				}
				r := run(t, j, o, flags, "-cp", jar+"/*", "misstep.workloads.epilogue.Main", "150000")
				require.NoError(t, r.err, r.output)
				require.Zero(t, r.status.Instrumented)
				require.NotZero(t, r.check("edges").Match)
				for _, m := range r.mismatches {
					if m.Check != "edges" {
						continue
					}
					require.Equal(t, "asgct", m.Suspect.Source, "a walk of GetStackTrace is never impossible")
					t.Logf("seed %d: %d of %d edges, code % x", seed, r.check("edges").Mismatch, r.check("edges").Total, m.Code)
					return
				}
			}
			t.Fatalf("no fabricated frame in %d runs", most)
		})
	}
}
