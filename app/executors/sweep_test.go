package executors

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"misstep/runner/process"
	"misstep/runner/scratch"
)

// A fleet's folder goes with what a dead runner left in it; what is not a fleet's, or in use, stays.
func TestSweepWork(t *testing.T) {
	work := filepath.Join(t.TempDir(), "work")
	require.NoError(t, SweepWork(work), "nothing there")

	require.NoError(t, os.MkdirAll(filepath.Join(work, WorkHome, "cache", "trees", "t"), 0o755))
	trials := filepath.Join(work, WorkTrials)
	orphan := filepath.Join(trials, "trial-1-1-0123456789abcdef") // the process 1 began at another time
	require.NoError(t, os.MkdirAll(orphan, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(orphan, "file"), []byte("x"), 0o600))

	area, err := scratch.Open(filepath.Join(t.TempDir(), "other"), process.Cgroups{}, nil)
	require.NoError(t, err)
	folder, err := area.New()
	require.NoError(t, err)
	mine := filepath.Join(trials, filepath.Base(folder.Path))
	require.NoError(t, os.MkdirAll(mine, 0o755))
	require.ErrorContains(t, SweepWork(work), "a runner still uses "+mine)
	require.NoDirExists(t, orphan)
	require.NoError(t, os.RemoveAll(mine))

	foreign := filepath.Join(work, "thesis.tex")
	require.NoError(t, os.WriteFile(foreign, nil, 0o600))
	require.ErrorContains(t, SweepWork(work), "it holds thesis.tex")
	require.FileExists(t, foreign)
	require.NoError(t, os.Remove(foreign))

	require.NoError(t, os.MkdirAll(filepath.Join(work, "removing-SOMEONE-1", "below"), 0o755)) // by another node, or interrupted
	require.NoError(t, SweepWork(work))
	require.NoDirExists(t, work)
}
