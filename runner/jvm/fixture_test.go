package jvm

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/types/known/durationpb"

	"misstep/corpus"
	"misstep/corpus/memory"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner/process"
	"misstep/workloads"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if fixtureDir != "" {
		_ = os.RemoveAll(fixtureDir)
	}
	// The fuzzer's own goroutines may still be at their end when its time is up.
	if fuzz := flag.Lookup("test.fuzz"); code == 0 && (fuzz == nil || fuzz.Value.String() == "") {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// jdks are the JDKs of this machine by feature version; MISSTEP_TEST_JDKS may name others, separated by colons.
var jdks = sync.OnceValue(func() map[int]string {
	homes := filepath.SplitList(os.Getenv("MISSTEP_TEST_JDKS"))
	if len(homes) == 0 {
		homes, _ = filepath.Glob("/usr/lib/jvm/*")
	}
	found := map[int]string{}
	for _, home := range homes {
		release, err := os.ReadFile(filepath.Join(home, "release"))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(release)) {
			if version, ok := strings.CutPrefix(strings.TrimSpace(line), `JAVA_VERSION="`); ok {
				major, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSuffix(version, `"`), "1."), ".")
				if n, err := strconv.Atoi(major); err == nil && found[n] == "" {
					found[n] = home
				}
			}
		}
	}
	return found
})

var fixtureDir string

// fixture is the compiled workload, made once with the oldest JDK that has a compiler.
var fixture = sync.OnceValues(func() (string, error) {
	var javac string
	oldest := 0
	for feature, home := range jdks() {
		path := filepath.Join(home, "bin", "javac")
		if _, err := os.Stat(path); err == nil && (oldest == 0 || feature < oldest) {
			oldest, javac = feature, path
		}
	}
	if javac == "" {
		return "", errors.New("no JDK with a compiler in /usr/lib/jvm")
	}
	dir, err := os.MkdirTemp("", "misstep-fixture-")
	if err != nil {
		return "", err
	}
	fixtureDir = dir
	if err := os.Chmod(dir, 0o755); err != nil { // JVMs may run as another user
		return "", err
	}
	if out, err := exec.Command(javac, "-nowarn", "-d", filepath.Join(dir, "classes"),
		"testdata/Fixture.java").CombinedOutput(); err != nil {
		return "", fmt.Errorf("javac: %w: %s", err, out)
	}
	manifest := "name: fixture\ndescription: misbehaves\nmain: Fixture\nclasspath: [classes]\n" +
		"arguments: [verified]\nrepetitions: 1\nmin_feature: 8\n"
	return dir, os.WriteFile(filepath.Join(dir, workloads.ManifestFile), []byte(manifest), 0o600)
})

// stand is an executor with a fresh scratch area, and what it should look like afterwards.
type stand struct {
	*Executor
	store corpus.Store
}

func newStand(t *testing.T) *stand {
	t.Helper()
	if len(jdks()) == 0 {
		t.Skip("no JDK in /usr/lib/jvm; install one, or name some in MISSTEP_TEST_JDKS")
	}
	dir, err := fixture()
	if err != nil {
		t.Skipf("the fixture cannot be compiled: %v", err)
	}
	store := memory.New()
	s := &stand{store: store, Executor: &Executor{
		JDK: func(_ context.Context, jdk *misstepv1.Jdk) (string, int, error) {
			feature, err := strconv.Atoi(jdk.GetName())
			return jdks()[feature], feature, err
		},
		Workload: func(context.Context, *misstepv1.Workload) (string, workloads.Manifest, error) {
			m, err := workloads.Load(dir)
			return dir, m, err
		},
		Corpus: store, Scratch: filepath.Join(t.TempDir(), "trials"), PatchCache: filepath.Join(t.TempDir(), "patch"),
	}}
	require.NoError(t, s.Open())
	return s
}

// run runs a fixture and checks that nothing of it is left, whatever its outcome.
//
//nolint:revive // t first in tests
func (s *stand) run(t *testing.T, ctx context.Context, recipe *misstepv1.Recipe) (*misstepv1.Outcome, error) {
	t.Helper()
	outcome, err := s.Run(ctx, recipe, nil)
	left, readErr := os.ReadDir(s.Scratch)
	require.NoError(t, readErr)
	require.Empty(t, left, "a temporary folder is left")
	require.Empty(t, marked(s.Scratch), "a process is left")
	return outcome, err
}

// marked lists the processes whose environment names a trial in the area.
func marked(area string) (pids []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		if data, err := os.ReadFile(file); err == nil && strings.Contains(string(data), process.Mark+"="+area) {
			pids = append(pids, file)
		}
	}
	return pids
}

func (s *stand) evidence(t *testing.T, outcome *misstepv1.Outcome, name string) string {
	t.Helper()
	for _, e := range outcome.GetEvidence() {
		if e.GetName() == name {
			digest, err := corpus.ParseDigest(e.GetDigest())
			require.NoError(t, err)
			blob, size, err := s.store.Open(t.Context(), digest)
			require.NoError(t, err)
			defer blob.Close()
			require.Equal(t, e.GetSize(), uint64(size)) // not negative
			data, err := io.ReadAll(blob)
			require.NoError(t, err)
			return string(data)
		}
	}
	t.Fatalf("no evidence %s among %v", name, outcome.GetEvidence())
	panic("unreachable")
}

func recipeOf(feature int, arguments ...string) *misstepv1.Recipe {
	return &misstepv1.Recipe{
		Jdk:      &misstepv1.Jdk{Name: strconv.Itoa(feature)},
		Workload: &misstepv1.Workload{Name: "fixture", Arguments: arguments},
		JvmFlags: []string{"-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"},
		Limits:   &misstepv1.Limits{Wall: durationpb.New(60 * time.Second), MemoryMib: 512},
	}
}

// everyJDK runs f on each JDK of this machine, side by side: most of these trials wait for a limit. Each has a stand of its own.
func everyJDK(t *testing.T, f func(t *testing.T, s *stand, feature int)) {
	t.Helper()
	newStand(t) // skips the whole test where there is nothing to run
	for feature := range jdks() {
		t.Run(fmt.Sprintf("jdk%d", feature), func(t *testing.T) {
			t.Parallel()
			f(t, newStand(t), feature)
		})
	}
}
