package main

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"misstep/internal/testenv"
)

// completions of a command line whose cursor is at its end.
func completions(t *testing.T, line string) []string {
	t.Helper()
	t.Setenv("COMP_LINE", line)
	t.Setenv("COMP_POINT", strconv.Itoa(len(line)))
	code, out, errs := execute(t)
	assert.Equal(t, exitOK, code, errs)
	return strings.Fields(out)
}

func TestCompletion(t *testing.T) {
	t.Setenv("MISSTEP_HOME", t.TempDir())
	assert.Equal(t, []string{"replay"}, completions(t, "misstep repl"))
	assert.ElementsMatch(t, []string{"run", "replay", "kernel", "doctor"}, completions(t, "misstep vm "))
	assert.Equal(t, []string{"--clean-tries"}, completions(t, "misstep hunt --clean"))
	assert.Equal(t, []string{"chaos"}, completions(t, "misstep sched run --strategy ch"))
	assert.Equal(t, []string{"jfr"}, completions(t, "misstep run --profiler j"))
	assert.NotContains(t, completions(t, "misstep "), "trial", "it is hidden")
	assert.Empty(t, completions(t, "misstep replay --jdk "), "the catalogue is empty")
}

func TestCompletionOfNames(t *testing.T) {
	t.Setenv("MISSTEP_HOME", testenv.Home(t))
	assert.Contains(t, completions(t, "misstep replay --jdk jdk1"), "jdk17")
}

func TestCompletionCode(t *testing.T) {
	for shell, want := range map[string]string{"bash": "complete ", "zsh": "bashcompinit", "fish": "complete -f -c misstep"} {
		code, out, errs := execute(t, "completion", shell)
		assert.Equal(t, exitOK, code, errs)
		assert.Contains(t, out, want)
	}
	code, _, errs := execute(t, "completion", "csh")
	assert.Equal(t, exitFailed, code)
	assert.Contains(t, errs, "csh")
}
