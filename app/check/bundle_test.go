package check

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/agent"
	"misstep/app/local"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/workloads"
)

// What a bundle repeats is what was checked: the program as it was started and ended, the checks' budget, and the time it had.
func TestWhatABundleRepeats(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.jar"))
	write(t, filepath.Join(dir, "b.jar"))
	b := &bundler{
		Options: Options{Installation: local.Installation{Home: t.TempDir()}, Budget: 0.02},
		launch:  launch{main: "p.Main", flags: []string{"-Xint"}, arguments: []string{"one", "two"}},
	}
	of := &misstepv1.Recipe{
		Jdk: &misstepv1.Jdk{Digest: "/some/jdk", Version: "17"}, Checks: []*misstepv1.Check{{Name: recipe.ShadowGst}}, Seed: 5,
		Instrumentation: &misstepv1.Instrumentation{Ratio: 1},
	}
	r, err := b.recipe(of, agent.Artefacts{Digest: "d"}, dir, 10*time.Second)
	require.NoError(t, err)
	assert.Equal(t, []string{"one", "two"}, r.GetWorkload().GetArguments())
	assert.Equal(t, []string{"-Xint"}, r.GetJvmFlags())
	assert.Equal(t, "d", r.GetAgentDigest())
	assert.Empty(t, r.GetJdk().GetDigest(), "the folder of a JDK says nothing elsewhere")
	assert.Equal(t, 100*time.Second, r.GetLimits().GetWall().AsDuration(), "time enough for another machine")
	b.For = 3 * time.Second
	r, err = b.recipe(of, agent.Artefacts{Digest: "d"}, dir, 10*time.Second)
	require.NoError(t, err)
	assert.Equal(t, b.For, r.GetLimits().GetWall().AsDuration(), "a program that does not end by itself")

	command, err := b.command(r, dir)
	require.NoError(t, err)
	assert.Equal(t, []string{"p.Main", "one", "two"}, command.Invocation[2:], "the class path is asked for")
	assert.Regexp(t, ",budget=0.02$", command.AgentOptions)

	b.inside = []string{"a.jar", "b.jar"}
	text, err := b.manifest(&misstepv1.Outcome{ExitCode: 7})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, workloads.ManifestFile), text, 0o600))
	m, err := workloads.Load(dir)
	require.NoError(t, err)
	assert.Equal(t, 7, m.ExitCode)
	assert.Equal(t, b.inside, m.Classpath)
	_, err = b.manifest(&misstepv1.Outcome{ExitCode: -1, Signal: 6})
	require.NoError(t, err, "a signal ended it")
}
