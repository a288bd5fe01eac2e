package check

import (
	"bytes"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/internal/testenv"
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
