package quickstart

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/app/local"
	"misstep/coordinator/campaign"
	"misstep/deploy/jdk"
)

// fakeJDK is a folder whose java answers as one of that version does; with broken, it does not start.
func fakeJDK(t *testing.T, feature int, broken bool) jdk.Installed {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	script := "#!/bin/sh\n[ \"$1\" = -Xinternalversion ] && echo 'OpenJDK 64-Bit Server VM'\n" +
		"[ \"$3\" = -XX:+PrintFlagsFinal ] && echo '     bool UseG1GC = true {product} {default}'\nexit 0\n"
	if broken {
		script = "#!/bin/sh\nexit 1\n"
	}
	require.NoError(t, os.MkdirAll(filepath.Join(home, "bin"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(home, "bin", "java"), []byte(script), 0o755))
	release := fmt.Sprintf("JAVA_VERSION=\"%d.0.1\"\nIMPLEMENTOR=\"Debian\"\nNUMBER=\"%s\"\n", feature, filepath.Base(home))
	require.NoError(t, os.WriteFile(filepath.Join(home, "release"), []byte(release), 0o600))
	return jdk.Installed{Home: home, Feature: feature}
}

// release is an installation with the workloads of the campaign beside its agent.
func release(t *testing.T, names ...string) local.Installation {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		folder := filepath.Join(dir, "workloads", name)
		require.NoError(t, os.MkdirAll(folder, 0o755))
		entry := fmt.Sprintf(`{"name": %q, "path": %q, "digest": "sha256:%064d"}`, name, name, 1)
		require.NoError(t, os.WriteFile(folder+".json", []byte(entry), 0o600))
	}
	return local.Installation{Home: filepath.Join(t.TempDir(), "home"), AgentDir: filepath.Join(dir, "agent")}
}

func TestPrepareNamesWhatIsMissing(t *testing.T) {
	found := []jdk.Installed{fakeJDK(t, 17, false)}
	prepare := func(i local.Installation, dir string) error {
		_, err := Prepare(t.Context(), i, found, 1, dir, func(string, ...any) {})
		return err
	}
	dir := t.TempDir()
	err := prepare(release(t, "clinit", "epilogue", "forkjoin"), dir)
	require.ErrorContains(t, err, `this release is not whole: workload "mix" is missing; `)
	require.ErrorContains(t, err, "unpack its archive again")
	assert.NoFileExists(t, filepath.Join(dir, "campaign.yaml"))

	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	below := filepath.Join(file, "folder") // that nobody can make, not even root
	require.ErrorContains(t, prepare(local.Installation{Home: below}, dir), "MISSTEP_HOME=FOLDER chooses another")
	require.ErrorContains(t, prepare(local.Installation{Home: t.TempDir()}, below), "--dir FOLDER chooses another")
}

func TestPrepareCataloguesWhatIsInstalled(t *testing.T) {
	i := release(t, "clinit", "epilogue", "mix", "forkjoin")
	var said []string
	say := func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
	jdks := func(found ...jdk.Installed) []string {
		t.Helper()
		file, err := Prepare(t.Context(), i, found, 2, filepath.Join(t.TempDir(), "hunt"), say)
		require.NoError(t, err)
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		document, err := campaign.Parse(text, file)
		require.NoError(t, err)
		assert.Equal(t, Name, document.Campaign.GetName())
		return document.Campaign.GetJdks()
	}
	_, err := Prepare(t.Context(), i, nil, 2, t.TempDir(), say)
	require.ErrorContains(t, err, "no JDK of 8 or later that starts")
	require.ErrorContains(t, err, "JAVA_HOME=FOLDER misstep quickstart")

	first, second, other := fakeJDK(t, 21, false), fakeJDK(t, 17, false), fakeJDK(t, 21, false)
	assert.Equal(t, []string{"jdk21", "jdk17"}, jdks(first, other, second, fakeJDK(t, 11, false)))
	assert.Contains(t, said[len(said)-1], "not in this hunt: "+other.Home+", ")
	assert.Equal(t, []string{"jdk21", "jdk17"}, jdks(first, second), "the same are not catalogued again")
	assert.Equal(t, []string{"jdk21-2", "jdk17"}, jdks(other, second), "the name is another build's")
	assert.Equal(t, []string{"jdk17"}, jdks(fakeJDK(t, 25, true), second))
	assert.Contains(t, fmt.Sprint(said), "left out: ")
	assert.Len(t, jdks(), 2, "those of the catalogue, when none is installed")
}
