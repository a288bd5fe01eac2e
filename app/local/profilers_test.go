package local

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The helper runs on the catalogue's oldest JDK that can run it.
func TestHelperThatReadsRecordings(t *testing.T) {
	home, artefacts := t.TempDir(), t.TempDir()
	t.Setenv("JAVA_HOME", "")
	t.Setenv("PATH", "")
	i := Installation{Home: home, AgentDir: filepath.Join(artefacts, "agent")}
	require.NoError(t, os.MkdirAll(filepath.Join(artefacts, "recording"), 0o755))
	require.NoError(t, os.MkdirAll(i.AgentDir, 0o755))

	_, err := i.RecordingHelper()
	require.ErrorIs(t, err, ErrNoHelper)
	require.ErrorContains(t, err, "build the helper with `make recording`")
	jar := filepath.Join(artefacts, "recording", "misstep-recording.jar")
	require.NoError(t, os.WriteFile(jar, nil, 0o600))

	catalogued := func(name string, feature int) {
		require.NoError(t, os.MkdirAll(filepath.Join(home, "jdks"), 0o755))
		text := fmt.Sprintf(`{"name": %q, "path": "/jdks/%s", "feature": %d, "digest": "sha256:%s"}`, name, name, feature,
			strings.Repeat("1", 64))
		require.NoError(t, os.WriteFile(filepath.Join(home, "jdks", name+".json"), []byte(text), 0o600))
	}
	catalogued("jdk11", 11)
	_, err = i.RecordingHelper()
	require.ErrorIs(t, err, ErrNoHelper)
	require.ErrorContains(t, err, "misstep jdk add jdk17 SOURCE")

	installed := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(installed, "release"), []byte("JAVA_VERSION=\"21.0.1\"\n"), 0o600))
	t.Setenv("JAVA_HOME", installed)
	helper, err := i.RecordingHelper()
	require.NoError(t, err)
	require.Equal(t, jar, helper.Jar)
	require.Equal(t, filepath.Join(installed, "bin", "java"), helper.Java)

	catalogued("jdk28", 28)
	catalogued("jdk17", 17)
	helper, err = i.RecordingHelper()
	require.NoError(t, err)
	require.Equal(t, "/jdks/jdk17/bin/java", helper.Java)
}

func TestFolderOfProfilers(t *testing.T) {
	artefacts := t.TempDir()
	i := Installation{AgentDir: filepath.Join(artefacts, "agent")}
	require.Empty(t, i.Profilers())
	library := filepath.Join(artefacts, "profilers", "libasyncProfiler.so")
	require.NoError(t, os.MkdirAll(filepath.Dir(library), 0o755))
	require.NoError(t, os.WriteFile(library, nil, 0o600))
	require.Equal(t, filepath.Dir(library), i.Profilers())
}

func TestWorkloadsBesideTheAgent(t *testing.T) {
	artefacts := t.TempDir()
	i := Installation{Home: t.TempDir(), AgentDir: filepath.Join(artefacts, "agent")}
	folder := filepath.Join(artefacts, "workloads", "one")
	require.NoError(t, os.MkdirAll(folder, 0o755))
	names, err := i.WorkloadNames()
	require.NoError(t, err)
	require.Empty(t, names, "what was built is not catalogued")

	text := fmt.Sprintf(`{"name": "one", "path": "one", "digest": "sha256:%s"}`, strings.Repeat("1", 64))
	require.NoError(t, os.WriteFile(folder+".json", []byte(text), 0o600))
	entry, err := i.Workloads().Get("one")
	require.NoError(t, err)
	require.Equal(t, folder, entry.Path)
}
