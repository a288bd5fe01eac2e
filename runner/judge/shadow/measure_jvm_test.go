package shadow

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"misstep/agent"
	"misstep/internal/testenv"
	"misstep/runner/recording"
)

// workload is a built workload.
type workload struct {
	Main      string
	Classpath []string
	Arguments []string
	JVMFlags  []string `yaml:"jvm_flags"`
}

// trial runs a workload under a profiler with the tap, and leaves tap.bin, methods.txt and r.jfr in dir.
func trial(t *testing.T, j jdk, name, profiler, dir string) {
	t.Helper()
	home := filepath.Join(testenv.Root(), "build", "workloads", name)
	data, err := os.ReadFile(filepath.Join(home, "workload.yaml"))
	require.NoError(t, err)
	var w workload
	require.NoError(t, yaml.Unmarshal(data, &w))
	a, err := agent.Find(testenv.Agent(t))
	require.NoError(t, err)
	java := filepath.Join(j.Path, "bin", "java")
	patch, err := agent.Prepare(t.Context(), a, java, j.Feature, filepath.Join(os.TempDir(), "h3-patch"), j.Digest)
	require.NoError(t, err)
	o := agent.Options{Out: dir, Seed: 1, Ratio: 0.5, Tap: "both", Exclude: []string{"jdk.*", "sun.*"}}
	if profiler != "jfr" {
		o.Tap = "prof"
	}
	args, err := agent.JVMArgs(a, patch, j.Feature, o)
	require.NoError(t, err)
	file := filepath.Join(dir, "r.jfr")
	flags := append([]string{}, w.JVMFlags...)
	if profiler == "jfr" {
		settings, err := filepath.Abs("testdata/samples.jfc")
		require.NoError(t, err)
		flags = append(flags, "-XX:StartFlightRecording=filename="+file+",settings="+settings, "-XX:FlightRecorderOptions=stackdepth=1024")
	} else {
		flags = append(flags, "-agentpath:"+os.Getenv("MISSTEP_ASYNC_PROFILER")+"=start,event=ctimer,interval=1ms,cstack="+profiler+",jfr,file="+file)
	}
	flags = append(flags, "-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Second)
	defer cancel()
	all := append(append(flags, args...), "-cp", strings.Join(w.Classpath, ":"), w.Main)
	cmd := exec.CommandContext(ctx, java, append(all, w.Arguments...)...)
	cmd.Dir = home
	output, err := cmd.CombinedOutput()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "output.txt"), output, 0o644))
	if err != nil {
		t.Logf("%v: %s", err, output)
	}
}

func judgeDir(t *testing.T, j jdk, profiler, dir string) (*Judge, recording.Summary) {
	t.Helper()
	tap, err := agent.ReadTap(filepath.Join(dir, agent.FileTap))
	require.NoError(t, err)
	list, err := os.ReadFile(filepath.Join(dir, agent.FileMethods))
	require.NoError(t, err)
	in := Input{Check: "jfr-shadow", Source: JFR, Feature: j.Feature, Tap: &tap, Methods: strings.Split(string(list), "\n"), Limit: 1000}
	if profiler != "jfr" {
		in.Check, in.Source, in.Walker = "profiler-shadow", AsyncProfiler, profiler
	}
	judge := New(in)
	h := recording.Helper{
		Java: filepath.Join(catalogued(t, "jdk17").Path, "bin", "java"),
		Jar:  filepath.Join(testenv.Root(), "build", "recording", "misstep-recording.jar"),
	}
	summary, _, err := h.Read(t.Context(), filepath.Join(dir, "r.jfr"), recording.Limits{}, judge.Visit)
	require.NoError(t, err)
	return judge, summary
}

// MISSTEP_SHADOW_OUT names a folder; MISSTEP_SHADOW_RUNS lists JDK/workload/profiler.
func TestMeasure(t *testing.T) {
	out := os.Getenv("MISSTEP_SHADOW_OUT")
	if out == "" {
		t.Skip("MISSTEP_SHADOW_OUT names no folder")
	}
	for _, run := range strings.Fields(os.Getenv("MISSTEP_SHADOW_RUNS")) {
		part := strings.Split(run, "/")
		j := catalogued(t, part[0])
		dir := filepath.Join(out, strings.Join(part, "-"))
		if _, err := os.Stat(filepath.Join(dir, "r.jfr")); err != nil {
			require.NoError(t, os.MkdirAll(dir, 0o755))
			trial(t, j, part[1], part[2], dir)
		}
		judge, _ := judgeDir(t, j, part[2], dir)
		v := judge.Verdicts()
		kinds := map[string]int{}
		for i, e := range judge.events {
			_ = i
			kinds[e.Type]++
		}
		t.Logf("%s %v calls %v lost %v\n  %v", run, kinds, judge.in.Tap.Called, judge.in.Tap.Lost, v.Count)
		for i, m := range v.Mismatches {
			if i == 40 {
				break
			}
			var b strings.Builder
			fmt.Fprintf(&b, "%d x %s at %d, %s, %s, sequence %d, pc %x, biased %d\n", m.Count, m.Kind, m.Divergence, m.Suspect.Sampler, m.Thread, m.Sequence, m.Pc, judge.events[m.Sequence-1].Biased)
			for _, f := range m.Reference.Frames {
				fmt.Fprintf(&b, "    ref %s.%s%s\n", f.ClassName, f.Method, f.Descriptor_)
			}
			for _, f := range m.Suspect.Frames {
				fmt.Fprintf(&b, "    sus %s.%s%s @%d\n", f.ClassName, f.Method, f.Descriptor_, f.Bci)
			}
			require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("mismatch-%02d.txt", i)), []byte(b.String()), 0o644))
		}
	}
}
