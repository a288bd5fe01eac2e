package agent

import (
	"archive/zip"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// early returns the JVM flags that start threads before the agent's Java half instruments anything, and the flag that does the work
// below the JVM's own agent code afterwards.
func early(t *testing.T) (flags []string, work string) {
	t.Helper()
	library, err := filepath.Abs(filepath.Join("..", "build", "agent-early", "libmisstep_early.so"))
	require.NoError(t, err)
	if _, err := os.Stat(library); err != nil {
		t.Skipf("the test fixture is not built (make agent): %v", err)
	}
	path := filepath.Join(t.TempDir(), "early.jar")
	file, err := os.Create(path)
	require.NoError(t, err)
	jar := zip.NewWriter(file)
	manifest, err := jar.Create("META-INF/MANIFEST.MF")
	require.NoError(t, err)
	_, err = manifest.Write([]byte("Manifest-Version: 1.0\nPremain-Class: Early\nCan-Retransform-Classes: true\n\n"))
	require.NoError(t, err)
	require.NoError(t, jar.Close())
	require.NoError(t, file.Close())
	return []string{"-agentpath:" + library, "-javaagent:" + path}, "-javaagent:" + path + "=work"
}

// earlyWorks is how often the program does its work: below premain, in main, on a thread of another Java agent, and on threads of
// JVMTI and JNI.
const earlyWorks = 6

// requireNoPattern asserts that a check of samples finds no more than occasional bugs of the JVM, which may show at any place. A
// fault in the handling of frames below a thread's first instrumented method would show in each of its samples.
func requireNoPattern(t *testing.T, r result, check string) {
	t.Helper()
	c := r.check(check)
	t.Logf("%+v", c)
	require.NotZero(t, c.Match+sum(c.Tolerated), check)
	require.LessOrEqual(t, c.Mismatch, 2+c.Total/20, "%s: %+v", check, r.mismatches)
}

func sum(counts map[string]uint64) uint64 {
	var n uint64
	for _, c := range counts {
		n += c
	}
	return n
}

// Threads that started before they could have a shadow stack: their frames below the first instrumented method are on no shadow
// stack, which is no difference. Where a class is instrumented while its methods run, these may or may not be on the shadow stack,
// which a rule tolerates.
func TestThreadsFromBeforeTheShadow(t *testing.T) {
	for _, j := range jvms(t) {
		for _, mode := range []string{"kept", "retransformed"} {
			t.Run(j.String()+"/"+mode, func(t *testing.T) {
				flags, work := early(t)
				o := Options{
					Seed: 1, Include: []string{"Early*"}, Interval: time.Millisecond, Threads: "name:early*",
					Checks: map[string]float64{"gst-asgct": 1, "shadow-gst": 1, "asgct-shadow": 1, "edges": 1},
				}
				r := run(t, j, o, flags, work, "Early", mode)
				requireSound(t, r)
				require.Contains(t, r.output, fmt.Sprintf("early: verified %d", earlyWorks))
				entries := r.check("shadow-gst")
				t.Logf("%+v", entries)
				// 100 calls that recurse 0 to 9 times, each with its leaf.
				require.GreaterOrEqual(t, entries.Total, uint64(earlyWorks*650))
				require.Equal(t, entries.Total, entries.Match+entries.Tolerated["retransformed"], "%+v", r.mismatches)
				require.Equal(t, mode == "retransformed", entries.Tolerated["retransformed"] > 0)
				require.Equal(t, r.check("gst-asgct").Total, r.check("gst-asgct").Match, "%+v", r.mismatches)
				require.Equal(t, entries.Total, r.check("gst-asgct").Total)
				requireNoPattern(t, r, "asgct-shadow")
				requireNoPattern(t, r, "edges")
			})
		}
		t.Run(j.String()+"/brackets", func(t *testing.T) {
			flags, _ := early(t)
			o := Options{Seed: 1, Interval: time.Millisecond, Checks: map[string]float64{"asgct-gst-bracket": 1, "edges": 1}}
			r := run(t, j, o, flags, "Early", "kept")
			requireSound(t, r)
			requireNoPattern(t, r, "asgct-gst-bracket")
			requireNoPattern(t, r, "edges")
		})
	}
}

// A fault above such frames is caught nevertheless: here that of Deoptimised, above a frame of an early thread and of a class that
// was instrumented while the frame was active.
func TestAFaultOnAThreadFromBeforeTheShadow(t *testing.T) {
	for _, j := range jvms(t) {
		t.Run(j.String(), func(t *testing.T) {
			flags, _ := early(t)
			flags = append(flags, "-XX:TieredStopAtLevel=1", "-XX:-BackgroundCompilation", "-XX:-UseOnStackReplacement",
				"-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,Deoptimised.*")
			o := Options{
				Seed: 1, Include: []string{"Deoptimised*", "Early*"}, Interval: time.Millisecond,
				Checks: map[string]float64{"gst-asgct": 1, "shadow-gst": 1, "asgct-shadow": 1},
			}
			found := map[string]bool{}
			var r result
			// One run of half a second in which no signal came at that place is no failure, three are.
			for try := 0; try < 3 && len(found) < 2; try++ {
				r = run(t, j, o, flags, "Early", "Deoptimised", "deoptimised")
				requireSound(t, r)
				require.Contains(t, r.output, "deoptimised: verified")
				require.NotZero(t, r.check("shadow-gst").Tolerated["retransformed"])
				require.Zero(t, r.check("shadow-gst").Mismatch, "%+v", r.mismatches)
				t.Logf("%+v", r.check("asgct-shadow"))
				for _, m := range r.mismatches {
					if m.Thread == "early-java" && m.Kind == "truncated" && m.boundary() == "Deoptimised.inner" {
						found[m.Check] = true
					}
				}
			}
			require.Equal(t, map[string]bool{"gst-asgct": true, "asgct-shadow": true}, found, "%+v", r.mismatches)
		})
	}
}

// Without options all methods are instrumented, and no class is loaded in the middle of another's instrumentation.
func TestTheDefaultsInstrumentAll(t *testing.T) {
	a := built(t)
	cache, err := filepath.Abs(filepath.Join("..", "build", "agent-test-cache"))
	require.NoError(t, err)
	for _, j := range jvms(t) {
		t.Run(j.String(), func(t *testing.T) {
			java := filepath.Join(j.home, "bin", "java")
			patch, err := Prepare(t.Context(), a, java, j.feature, cache, fmt.Sprintf("%016d", j.feature))
			require.NoError(t, err)
			out := t.TempDir()
			output, err := exec.Command(java, "--patch-module=java.base="+patch, "-agentpath:"+a.Library+"=out="+out,
				"-javaagent:"+a.Jar, "-cp", classes(t), "Clinit").CombinedOutput()
			require.NoErrorf(t, err, "%s", output)
			status, err := ReadStatus(filepath.Join(out, "status.bin"))
			require.NoError(t, err)
			require.Greater(t, status.Instrumented, uint64(100))
			log, err := os.ReadFile(filepath.Join(out, "agent.log"))
			require.NoError(t, err)
			require.NotContains(t, string(log), "not instrumented")
		})
	}
}

// A class that is loaded while its thread instruments another one cannot be instrumented, as the JVM does not call a transformer
// recursively: the agent logs it. A class that is loaded within a shadow push is instrumented like any other.
func TestClassesLoadedByTheTransformerAndByAPush(t *testing.T) {
	for _, j := range jvms(t) {
		t.Run(j.String(), func(t *testing.T) {
			flags, _ := early(t)
			o := Options{
				Seed: 1, Out: t.TempDir(), Include: []string{"EarlyLoads*"},
				Checks: map[string]float64{"gst-asgct": 1, "shadow-gst": 1},
			}
			r := run(t, j, o, flags, "Early", "loads")
			requireSound(t, r)
			require.Contains(t, r.output, "early: verified")
			require.Empty(t, r.mismatches)
			methods, err := os.ReadFile(filepath.Join(o.Out, "methods.txt"))
			require.NoError(t, err)
			require.Contains(t, string(methods), "EarlyLoads$Trigger.value()I")
			require.Contains(t, string(methods), "EarlyLoads$InPush.value()I")
			require.NotContains(t, string(methods), "EarlyLoads$InTransformer")
			log, err := os.ReadFile(filepath.Join(o.Out, "agent.log"))
			require.NoError(t, err)
			require.Regexp(t,
				`not instrumented: EarlyLoads\$InTransformer: it was loaded while its thread instrumented EarlyLoads`, string(log))
			require.Equal(t, uint64(strings.Count(string(log), "not instrumented: ")), r.status.Failed)
		})
	}
}
