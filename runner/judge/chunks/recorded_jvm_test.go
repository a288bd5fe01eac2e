package chunks_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"misstep/internal/testenv"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/runner/judge"
	"misstep/runner/judge/chunks"
	"misstep/runner/recording"
)

// jdk is a JDK of the catalogue.
type jdk struct {
	Path    string
	Feature int
}

func catalogued(t *testing.T, name string) jdk {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(testenv.Home(t), "jdks", name+".json"))
	if err != nil {
		t.Skipf("%s is not in the catalogue (%v); run make catalogue", name, err)
	}
	var j jdk
	require.NoError(t, json.Unmarshal(data, &j))
	return j
}

func helper(t *testing.T) recording.Helper {
	t.Helper()
	jar := built(t, "make recording", "recording", "misstep-recording.jar")
	return recording.Helper{Java: filepath.Join(catalogued(t, "jdk17").Path, "bin", "java"), Jar: jar}
}

// built returns the path of something below build/; the test skips where it is not built.
func built(t *testing.T, remedy string, path ...string) string {
	t.Helper()
	file := filepath.Join(append([]string{testenv.Root(), "build"}, path...)...)
	if _, err := os.Stat(file); err != nil {
		t.Skipf("%s is not built (%v); run %s", file, err, remedy)
	}
	return file
}

var (
	disabled  = regexp.MustCompile(`(name="(?:enabled|stackTrace)"[^>]*>)false<`)
	threshold = regexp.MustCompile(`(name="threshold"[^>]*>)[^<]*<`)
	period    = regexp.MustCompile(`(name="period"[^>]*>)[0-9]+ m?s<`)
)

// everything writes settings with all events of a JDK, without thresholds, with short periods.
func everything(t *testing.T, j jdk, dir string) string {
	t.Helper()
	settings, err := os.ReadFile(filepath.Join(j.Path, "lib", "jfr", "profile.jfc"))
	require.NoError(t, err)
	settings = disabled.ReplaceAll(settings, []byte("${1}true<"))
	settings = threshold.ReplaceAll(settings, []byte("${1}0 ms<"))
	settings = period.ReplaceAll(settings, []byte("${1}10 ms<"))
	file := filepath.Join(dir, "everything.jfc")
	require.NoError(t, os.WriteFile(file, settings, 0o600))
	return file
}

// programs are workloads with arguments that take seconds.
var programs = map[string][]string{
	"epochs": {"misstep.workloads.epochs.Main", "10", "7"},
	"mix":    {"misstep.workloads.mix.Main", "15000", "7"},
}

// record runs a workload under JFR with everything enabled and small chunks, and returns the recording.
func record(t *testing.T, j jdk, workload string) string {
	t.Helper()
	lib := built(t, "make workloads", "workloads", workload, "lib")
	dir := t.TempDir()
	file := filepath.Join(dir, "recorded.jfr")
	arguments := []string{
		"-Xmx400m", "-XX:FlightRecorderOptions=maxchunksize=1M,repository=" + dir,
		"-XX:StartFlightRecording=filename=" + file + ",settings=" + everything(t, j, dir),
		"-Dmisstep.name=" + workload, "-Djava.io.tmpdir=" + dir,
	}
	if workload == "epochs" { // its manifest has the agent that redefines
		arguments = append(arguments, "-jar", filepath.Join(lib, "misstep-epochs.jar"))
		arguments = append(arguments, programs[workload][1:]...)
	} else {
		arguments = append(append(arguments, "-cp", lib+"/*"), programs[workload]...)
	}
	output, err := exec.Command(filepath.Join(j.Path, "bin", "java"), arguments...).CombinedOutput()
	require.NoError(t, err, "%s", output)
	return file
}

// judgedFiles judges the recordings of one trial, and returns the number of their chunks.
func judgedFiles(t *testing.T, h recording.Helper, files ...string) (judge.Verdicts, int) {
	t.Helper()
	j, read := chunks.New(1000), 0
	for _, file := range files {
		summary, _, err := h.Read(context.Background(), file, recording.Limits{}, func(r recording.Record) error {
			if _, ok := r.(*recording.Chunk); ok {
				read++
			}
			return j.Visit(r)
		})
		require.NoError(t, err)
		require.True(t, summary.Complete)
	}
	v := j.Verdicts()
	balanced(t, v)
	return v, read
}

// candidate is a fault of JDKs whose recordings have it: docs/figures/0013-recordings.md.
type candidate struct {
	first, last             int // features
	kind, typeName, from, f string
}

// candidates are narrow: another field, type, referrer or JDK is a failure of the test.
var candidates = []candidate{
	{11, 21, recipe.KindUndefinedConstant, "jdk.types.StackTrace", "jdk.OldObjectSample", "stackTrace"},
	{11, 17, recipe.KindUndefinedConstant, "jdk.types.StackTrace", "jdk.JavaMonitorEnter", "stackTrace"},
	{17, 17, recipe.KindUndefinedConstant, "java.lang.Thread", "", "eventThread"},
	{17, 17, recipe.KindUndefinedConstant, "java.lang.Thread", "jdk.ThreadEnd", "thread"},
	{17, 17, recipe.KindUndefinedConstant, "java.lang.Thread", "jdk.ExecutionSample", "sampledThread"},
	{17, 17, recipe.KindEventTime, "jdk.ActiveRecording", "", "before"},
}

func (c candidate) is(feature int, m *misstepv1.Mismatch) bool {
	f := m.GetRecordingFault()
	return c.first <= feature && feature <= c.last && c.kind == m.GetKind() && c.typeName == f.GetType() &&
		(c.from == "" || c.from == f.GetReferrer()) && c.f == f.GetField()
}

// unknown returns the mismatches that are no candidates.
func unknown(feature int, v judge.Verdicts) []*misstepv1.Mismatch {
	var out []*misstepv1.Mismatch
	for _, m := range v.Mismatches {
		known := false
		for _, c := range candidates {
			known = known || c.is(feature, m)
		}
		if !known {
			out = append(out, m)
		}
	}
	return out
}

// Recordings with all events enabled, of many chunks, have what the rules permit and what is known of their JDK, and nothing else.
func TestRecordingsOfRealJDKs(t *testing.T) {
	h := helper(t)
	for _, name := range []string{"jdk11", "jdk17", "jdk21", "jdk25", "jdk28"} {
		for workload := range programs {
			t.Run(name+"/"+workload, func(t *testing.T) {
				j := catalogued(t, name)
				v, read := judgedFiles(t, h, record(t, j, workload))
				t.Logf("%d chunks: %d units, %d match, tolerated %v, void %v, %d mismatches", read, v.Count.GetTotal(),
					v.Count.GetMatch(), v.Count.GetTolerated(), v.Count.GetVoid(), v.Count.GetMismatch())
				for _, m := range v.Mismatches {
					t.Logf("%d × %s %v", m.GetCount(), m.GetKind(), m.GetRecordingFault())
				}
				require.Greater(t, v.Count.GetMatch(), uint64(10_000))
				require.Empty(t, v.Count.GetVoid())
				require.Empty(t, unknown(j.Feature, v))
				if workload == "epochs" {
					require.Greater(t, read, 10, "each dump begins a chunk")
				}
			})
		}
	}
}

// The recordings of one trial are judged each by itself: what one of them has does not repair another.
func TestSeveralRecordingsOfOneTrial(t *testing.T) {
	h := helper(t)
	file := record(t, catalogued(t, "jdk25"), "mix")
	one, read := judgedFiles(t, h, file)
	both, readBoth := judgedFiles(t, h, file, file)
	require.Equal(t, 2*read, readBoth)
	require.Empty(t, both.Mismatches)
	require.Equal(t, 2*one.Count.GetTotal(), both.Count.GetTotal())
	require.Equal(t, 2*one.Count.GetMatch(), both.Count.GetMatch())
}

// async-profiler writes the format in its own way: without fields that JFR has, and with frames that are no Java.
func TestAsyncProfilersRecordings(t *testing.T) {
	h := helper(t)
	library := built(t, "make profilers", "profilers", "libasyncProfiler.so")
	lib := built(t, "make workloads", "workloads", "mix", "lib")
	for _, name := range []string{"jdk17", "jdk25"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "async.jfr")
			arguments := append([]string{
				"-Xmx400m", "-agentpath:" + library + "=start,event=ctimer,interval=1ms,jfr,chunktime=5s,file=" + file,
				"-Dmisstep.name=mix", "-Djava.io.tmpdir=" + dir, "-cp", lib + "/*",
			}, programs["mix"]...)
			output, err := exec.Command(filepath.Join(catalogued(t, name).Path, "bin", "java"), arguments...).CombinedOutput()
			require.NoError(t, err, "%s", output)
			v, read := judgedFiles(t, h, file)
			t.Logf("%d chunks: %v", read, v.Count)
			for _, m := range v.Mismatches {
				t.Logf("%d × %s %v", m.GetCount(), m.GetKind(), m.GetRecordingFault())
			}
			require.Positive(t, read)
			require.Greater(t, v.Count.GetMatch(), uint64(100))
			require.Empty(t, v.Mismatches)
		})
	}
}
