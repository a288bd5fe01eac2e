// Package reports_test runs the tests of the reports, which need no Misstep, on JDKs that have the bug and on those that do not.
package reports_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/internal/testenv"
)

// expected has, by report, the exit code of its run.sh on JDKs of the catalogue.
var expected = map[string]map[string]int{
	"MISSTEP-dump-at-exit":        {"jdk25": 0, "jdk26": 1, "jdk27": 1},
	"MISSTEP-virtual-thread-thaw": {"jdk21": 1, "jdk28": 1}, // on each JDK its control has to pass, else it exits with 2
}

func TestEachReportShowsItsBug(t *testing.T) {
	folders, err := filepath.Glob("*/run.sh")
	require.NoError(t, err)
	require.NotEmpty(t, folders)
	for _, script := range folders {
		id := filepath.Dir(script)
		require.NotEmpty(t, expected[id], "%s: JDKs with the bug, and one without or a control", id)
		for name, code := range expected[id] {
			t.Run(id+" "+name, func(t *testing.T) {
				j := testenv.Catalogued(t, name)
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
				defer cancel()
				cmd := exec.CommandContext(ctx, "bash", script, j.Path)
				out, err := cmd.CombinedOutput()
				require.NotNil(t, cmd.ProcessState, "%v", err)
				assert.Equal(t, code, cmd.ProcessState.ExitCode(), "%s", out)
			})
		}
		for _, file := range []string{"README.md", "report.md"} {
			_, err := os.Stat(filepath.Join(id, file))
			assert.NoError(t, err)
		}
	}
}
