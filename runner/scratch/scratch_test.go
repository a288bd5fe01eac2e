package scratch

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"misstep/runner/process"
)

func TestFolderIsPrivateAndGoes(t *testing.T) {
	area, err := Open(filepath.Join(t.TempDir(), "trials"), process.Cgroups{})
	require.NoError(t, err)
	folder, err := area.New()
	require.NoError(t, err)
	info, err := os.Stat(folder.Path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	deep := filepath.Join(folder.Path, "a", "b")
	require.NoError(t, os.MkdirAll(deep, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(deep, "f"), make([]byte, 100_000), 0o600))
	require.GreaterOrEqual(t, folder.Size(), uint64(100_000))
	require.NoError(t, os.Chmod(deep, 0))
	require.NoError(t, os.Chmod(filepath.Dir(deep), 0))
	require.NoError(t, folder.Remove())
	require.NoDirExists(t, folder.Path)
}

// TestReapOfADeadRunner: the process that owns the name is gone, its child still runs in its name.
func TestReapOfADeadRunner(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	owner := exec.Command("true")
	require.NoError(t, owner.Run())
	stale := filepath.Join(dir, fmt.Sprintf("trial-%d-1-0123456789abcdef", owner.Process.Pid))
	require.NoError(t, os.MkdirAll(stale, 0o700))
	orphan := exec.Command("sleep", "1000")
	orphan.Env = []string{process.Mark + "=" + stale}
	require.NoError(t, orphan.Start())
	died := make(chan error, 1)
	go func() { died <- orphan.Wait() }()
	other := filepath.Join(dir, "mine")
	require.NoError(t, os.Mkdir(other, 0o700))

	start, ok := process.StartTime(os.Getpid())
	require.True(t, ok)
	living := filepath.Join(dir, fmt.Sprintf("trial-%d-%d-0123456789abcdef", os.Getpid(), start))
	require.NoError(t, os.Mkdir(living, 0o700))

	_, err = Open(dir, process.DetectCgroups())
	require.NoError(t, err)
	require.NoDirExists(t, stale)
	require.DirExists(t, living, "its runner lives")
	require.DirExists(t, other, "not a trial's")
	select {
	case err := <-died:
		require.Error(t, err, "it was killed")
	case <-time.After(10 * time.Second):
		_ = orphan.Process.Kill()
		t.Fatal("the orphan lives")
	}
}

func TestExplainNamesTheRemedy(t *testing.T) {
	err := Explain("/some/folder", fmt.Errorf("write: %w", syscall.ENOSPC))
	require.ErrorIs(t, err, ErrNoSpace)
	require.ErrorContains(t, err, "/some/folder")
	require.ErrorContains(t, err, "--dir")
	require.NotErrorIs(t, Explain("x", os.ErrExist), ErrNoSpace)
}
