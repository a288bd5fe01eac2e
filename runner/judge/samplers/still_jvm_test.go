package samplers

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/agent"
	"misstep/internal/testenv"
	"misstep/runner/recording"
)

// still runs the workload of that name under JFR and the agent's stack traces on a JDK of the catalogue, and returns the folder
// with still.jfr, stdout and agent/stacks.bin, and the helper that reads the recording.
func still(t *testing.T, name string) (string, recording.Helper) {
	t.Helper()
	build := filepath.Join(testenv.Root(), "build")
	jar, lib := filepath.Join(build, "recording", "misstep-recording.jar"), filepath.Join(build, "workloads", "still", "lib")
	for _, path := range []string{jar, lib} {
		if _, err := os.Stat(path); err != nil {
			t.Skipf("not built: %v; run make build", err)
		}
	}
	artefacts, err := agent.Find(testenv.Agent(t))
	require.NoError(t, err)
	dir := t.TempDir()
	out := filepath.Join(dir, "agent")
	require.NoError(t, os.Mkdir(out, 0o700))
	args, err := agent.JVMArgs(artefacts, "", 17, agent.Options{Out: out, Stacks: 5 * time.Millisecond})
	require.NoError(t, err)
	settings, err := filepath.Abs("testdata/samples.jfc")
	require.NoError(t, err)
	args = append(args, "-Xmx128m", "-XX:FlightRecorderOptions=stackdepth=1024",
		"-XX:StartFlightRecording=filename="+filepath.Join(dir, "still.jfr")+",settings="+settings,
		"-Dmisstep.repetitions=4", "-cp", lib+"/*", "misstep.workloads.still.Main")
	cmd := exec.CommandContext(t.Context(), testenv.Catalogued(t, name).Tool("java"), args...)
	stdout, err := os.Create(filepath.Join(dir, "stdout"))
	require.NoError(t, err)
	defer stdout.Close()
	cmd.Stdout, cmd.Stderr = stdout, os.Stderr
	require.NoError(t, cmd.Run())
	return dir, recording.Helper{Java: testenv.Catalogued(t, "jdk17").Tool("java"), Jar: jar}
}

// judged judges the files of a run; change is called with each event before it is judged.
func judged(t *testing.T, dir string, h recording.Helper, change func(*recording.Event)) *Judge {
	t.Helper()
	j := New(Options{})
	_, _, err := h.Read(t.Context(), filepath.Join(dir, "still.jfr"), recording.Limits{}, func(r recording.Record) error {
		if e, ok := r.(*recording.Event); ok {
			change(e)
		}
		return j.Visit(r)
	})
	require.NoError(t, err)
	_, err = agent.ReadStacks(filepath.Join(dir, "agent", agent.FileStacks), j.Round)
	require.NoError(t, err)
	output, err := os.Open(filepath.Join(dir, "stdout"))
	require.NoError(t, err)
	defer output.Close()
	require.NoError(t, j.Held(output))
	return j
}

// without returns an event's stack without the frame at an index, which is counted from the bottom if it is negative.
func without(s *recording.Stack, at int) *recording.Stack {
	changed := *s
	if at < 0 {
		at += len(s.Frames)
	}
	changed.Frames = slices.Delete(slices.Clone(s.Frames), at, at+1)
	return &changed
}

// Every sampler has samples of stacks that stand still, and none is wrong. A frame that is taken out of such a sample, in the
// middle or at the bottom, is noticed in each.
func TestSamplesOfStacksThatStandStill(t *testing.T) {
	for _, name := range []string{"jdk17", "jdk25"} {
		t.Run(name, func(t *testing.T) {
			dir, h := still(t, name)
			verdicts, whole := judged(t, dir, h, func(*recording.Event) {}).Figures()
			t.Logf("%v, %+v", verdicts.Count, whole)
			assert.Zero(t, verdicts.Count.GetMismatch(), "%v", verdicts.Mismatches)
			sampled := []Sampler{JFRExecution, JFRNative, AllStackTraces}
			if name == "jdk25" {
				sampled = append(sampled, JFRCPUTime)
			}
			for _, by := range sampled {
				assert.Greater(t, whole[by].Held, uint64(20), by)
			}
			for what, at := range map[string]int{"bottom": -1, "middle": -4} {
				t.Run(what, func(t *testing.T) {
					_, cut := judged(t, dir, h, func(e *recording.Event) {
						if e.Stack != nil && len(e.Stack.Frames) > 5 {
							e.Stack = without(e.Stack, at)
						}
					}).Figures()
					for _, by := range sampled {
						if by == AllStackTraces {
							continue
						}
						f := cut[by]
						assert.Equal(t, whole[by].Held, f.Held, by)
						assert.GreaterOrEqual(t, float64(f.Wrong+f.Edge), 0.99*float64(f.Held), "%v: %+v", by, f)
						assert.Greater(t, f.Wrong, f.Held/3, "%v: %+v", by, f)
						if what == "bottom" {
							assert.Equal(t, f.Wrong, f.Held, "%v: %+v", by, f)
						}
					}
				})
			}
		})
	}
}
