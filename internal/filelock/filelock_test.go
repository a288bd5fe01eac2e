package filelock

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const pattern = ".work-*"

// TestMain makes a locked folder with something in it when this program is called for that, says where, and waits to be killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv("FILELOCK_MAKER"); dir != "" {
		name, _, err := Folder(dir, pattern)
		if err == nil {
			err = os.WriteFile(filepath.Join(name, "part"), nil, 0o600)
		}
		if err != nil {
			panic(err)
		}
		_, _ = os.Stdout.WriteString(name)
		_ = os.Stdout.Close()
		time.Sleep(time.Hour)
	}
	os.Exit(m.Run())
}

// What a killed maker left is swept, and what a living one has is not.
func TestFoldersOfDeadMakersAreSwept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "with [brackets]*")
	require.NoError(t, os.Mkdir(dir, 0o755))
	self, err := os.Executable()
	require.NoError(t, err)
	maker := exec.Command(self)
	maker.Env = append(os.Environ(), "FILELOCK_MAKER="+dir)
	said, err := maker.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, maker.Start())
	text := new(strings.Builder)
	_, err = said.(*os.File).WriteTo(text)
	require.NoError(t, err)
	other := filepath.Join(dir, "other")
	require.NoError(t, os.Mkdir(other, 0o755))
	mine, unlock, err := Folder(dir, pattern)
	require.NoError(t, err)

	require.NoError(t, Sweep(dir, pattern))
	require.DirExists(t, text.String())
	require.DirExists(t, mine)
	require.NoError(t, maker.Process.Kill())
	_ = maker.Wait()
	require.NoError(t, Sweep(dir, pattern))
	require.NoDirExists(t, text.String())
	require.DirExists(t, mine)
	require.DirExists(t, other)
	unlock()
	require.NoError(t, Sweep(dir, pattern))
	require.NoDirExists(t, mine)
	require.NoError(t, Sweep(filepath.Join(dir, "absent"), pattern))
}

// A folder that is swept between its making and its locking is made again: nobody gets one that is gone.
func TestMakersAndSweepersAtOnce(t *testing.T) {
	dir := t.TempDir()
	var made, sweeping sync.WaitGroup
	var done atomic.Bool
	for range 2 {
		sweeping.Go(func() {
			for !done.Load() {
				if err := Sweep(dir, pattern); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 4 {
		made.Go(func() {
			for range 200 {
				name, unlock, err := Folder(dir, pattern)
				if err == nil {
					err = os.WriteFile(filepath.Join(name, "part"), nil, 0o600)
				}
				if err != nil {
					t.Error(err)
					return
				}
				unlock()
			}
		})
	}
	made.Wait()
	done.Store(true)
	sweeping.Wait()
	require.NoError(t, Sweep(dir, pattern))
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestWaitEndsWithItsContext(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	open := func() *os.File {
		f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
		require.NoError(t, err)
		return f
	}
	unlock, err := Wait(t.Context(), open(), func() { t.Error("nobody holds it") })
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	_, err = Wait(ctx, open(), cancel)
	require.ErrorIs(t, err, context.Canceled)
	unlock()
	unlock, err = Wait(t.Context(), open(), nil)
	require.NoError(t, err)
	unlock()
}
