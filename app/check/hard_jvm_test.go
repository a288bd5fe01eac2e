package check

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/internal/testenv"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

// Places and options in which programs run that leave little room: what a program does is the same, and the checks compare.
func TestProgramsInTightPlaces(t *testing.T) {
	dir := t.TempDir()
	output, err := exec.Command(testenv.Javac(t), "-source", "8", "-target", "8", "-nowarn", "-XDignore.symbol.file", "-d", dir,
		"testdata/Hard.java").CombinedOutput()
	require.NoError(t, err, "%s", output)
	for name, c := range map[string]struct {
		jdk     string
		flags   []string
		folder  string
		tempDir string
		refused bool // with instrumentation
	}{
		"security manager on 8":  {jdk: "jdk8", flags: []string{"-Djava.security.manager"}, refused: true},
		"security manager on 17": {jdk: "jdk17", flags: []string{"-Djava.security.manager"}, refused: true},
		"little memory":          {jdk: "jdk17", flags: []string{"-Xmx32m", "-XX:+UseSerialGC"}},
		"folder of no files":     {jdk: "jdk25", folder: "/proc"},
		"no temporary folder":    {jdk: "jdk17", tempDir: "/nonexistent"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.tempDir != "" {
				t.Setenv("TMPDIR", c.tempDir)
			}
			if c.folder != "" {
				t.Chdir(c.folder)
			}
			args := append(c.flags, "-cp", dir, "Hard", "1500", "-Xmx1g", "-agentpath:mine")
			alone := exec.Command(testenv.Catalogued(t, c.jdk).Tool("java"), args...)
			var wantOut, wantErr bytes.Buffer
			alone.Stdout, alone.Stderr = &wantOut, &wantErr
			require.NoError(t, alone.Run(), wantErr.String())
			require.Contains(t, wantOut.String(), "[1500, -Xmx1g, -agentpath:mine]")
			for _, light := range []bool{false, true} {
				o, stdout, stderr := options(t, append([]string{alone.Path}, args...)...)
				o.Light = light
				r, err := Run(t.Context(), o)
				if c.refused && !light {
					require.ErrorContains(t, err, "check it with --light")
					continue
				}
				require.NoError(t, err)
				assert.Equal(t, wantOut.String(), stdout.String())
				assert.Equal(t, wantErr.String(), stderr.String())
				assert.Equal(t, 0, r.ExitCode)
				assert.True(t, r.Proved(), "light %v: %s", light, r.Reason)
				assert.False(t, r.New(), "%+v", r.Bugs)
			}
		})
	}
}

// Programs such as JMH start JVMs with the arguments of their own, the agent's among them: each does what it does without Misstep.
// Without --all-jvms only the first is checked, and the report says so. A recording in which both write is not judged.
func TestJVMsWithTheArgumentsOfTheirParents(t *testing.T) {
	classes := compiled(t)
	command := []string{
		testenv.Catalogued(t, "jdk17").Tool("java"), "-Xmx128m", "-cp", classes, "Program", "400", "again", "exit", "7",
	}
	const printed = "worked true\nworked true\n"
	o, stdout, stderr := options(t, command...)
	o.Profiler = &misstepv1.Profiler{Name: recipe.ProfilerJFR}
	r, err := Run(t.Context(), o)
	require.NoError(t, err)
	assert.Equal(t, 7, r.ExitCode, r.Reason)
	assert.Equal(t, printed, stdout.String())
	assert.Equal(t, "on stderr\non stderr\n", stderr.String())
	assert.True(t, r.Proved(), r.Reason)
	assert.False(t, r.New(), "%+v", r.Bugs)
	assert.Contains(t, strings.Join(r.Notes, "\n"), "arguments of its own JVM: 1;")
	assert.Contains(t, r.Notes, sharedRecording)

	o, stdout, _ = options(t, command...)
	r, err = RunAll(t.Context(), o)
	require.NoError(t, err)
	assert.Equal(t, 7, r.ExitCode)
	assert.Equal(t, printed, stdout.String())
	assert.NotContains(t, strings.Join(r.Notes, "\n"), "arguments of its own JVM")
	require.Len(t, r.JVMs, 2)
	for _, one := range r.JVMs {
		assert.True(t, one.Proved(), "JVM %d: %s", one.PID, one.Reason)
	}
}
