package races

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/internal/testenv"
)

// CheckThenAct is not rare in a JVM; it is no part of any set.
const notRare = "CheckThenAct"

func TestTheTableHasEveryRace(t *testing.T) {
	var sources []string
	for _, pattern := range []string{"c/*.c", "java/*.java"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, f := range found {
			name := strings.TrimSuffix(filepath.Base(f), filepath.Ext(f))
			if name != "Race" && name != notRare {
				sources = append(sources, name)
			}
		}
	}
	var rows []string
	sets := map[Set]map[bool]int{Tune: {}, Judge: {}}
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	for _, all := range [][]Race{Instant, Periodic} {
		for _, r := range all {
			rows = append(rows, r.Name)
			assert.Contains(t, string(readme), "| "+r.Name, "README.md says what each needs")
			if r.Gap > 0 {
				sets[r.Set][r.Java()]++
			}
		}
	}
	assert.ElementsMatch(t, sources, rows)
	assert.Equal(t, map[Set]map[bool]int{Tune: {false: 4, true: 4}, Judge: {false: 4, true: 4}}, sets)
}

// Nothing that tunes a strategy may look at a race that it is judged on: its name stands in no source but in those that measure.
func TestJudgesAreKeptApart(t *testing.T) {
	for _, folder := range []string{"bpf", "schedule", "agent/native"} {
		root := filepath.Join(testenv.Root(), folder)
		require.NoError(t, filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || strings.HasSuffix(path, ".o") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, r := range Periodic {
				if r.Set == Judge {
					assert.NotContains(t, string(text), r.Name, "%s", path)
				}
			}
			return err
		}))
	}
}

// Each bug shows in the first iterations if its gaps are long, and never with its fix: the fix is of the bug, and nothing else is
// wrong with the program. All run at once, as a hang takes ten seconds.
func TestTheFixFixesTheBug(t *testing.T) {
	dir := t.TempDir()
	out, err := exec.CommandContext(t.Context(), "./build.sh", dir).CombinedOutput()
	require.NoError(t, err, string(out))
	java, err := exec.LookPath("java")
	require.NoError(t, err)
	for _, r := range Periodic {
		run := func(t *testing.T, arguments ...string) (int, string) {
			line := []string{filepath.Join(dir, r.Name)}
			if r.Java() {
				line = []string{java, "-Xmx64m", "-cp", filepath.Join(dir, "java"), r.Name}
			}
			line = append(line, arguments...)
			command := exec.CommandContext(t.Context(), line[0], line[1:]...)
			command.Env = append(os.Environ(), "RACE_AWAY=400") // far above the gaps, for a busy machine
			out, _ := command.CombinedOutput()
			return command.ProcessState.ExitCode(), string(out)
		}
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			code, said := run(t, "3")
			assert.Equal(t, 1, code, said)
			assert.Contains(t, said, "bug at iteration ")
		})
		t.Run(r.Name+"/fixed", func(t *testing.T) {
			t.Parallel()
			code, said := run(t, "2", "60", "fixed")
			assert.Equal(t, 0, code, said)
			assert.Contains(t, said, "no bug in 2 iterations")
		})
	}
}
