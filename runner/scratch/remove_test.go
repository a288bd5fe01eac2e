package scratch

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"misstep/runner/process"
)

// nested makes folders in each other below a folder, with a file in each thousandth. The deepest ones have paths beyond PATH_MAX.
func nested(t *testing.T, dir string, levels int) {
	t.Helper()
	at, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY, 0)
	require.NoError(t, err)
	for level := range levels {
		require.NoError(t, unix.Mkdirat(at, "dddddddddd", 0o700))
		if level%1000 == 0 {
			file, err := unix.Openat(at, "file", unix.O_CREAT|unix.O_WRONLY, 0o600)
			require.NoError(t, err)
			require.NoError(t, unix.Close(file))
		}
		below, err := unix.Openat(at, "dddddddddd", unix.O_PATH|unix.O_DIRECTORY, 0)
		require.NoError(t, err)
		require.NoError(t, unix.Close(at))
		at = below
	}
	require.NoError(t, unix.Close(at))
}

// Removal takes no descriptor for each level, and no path of all names.
func TestRemoveOfDeepFolders(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "trial")
	for branch, levels := range map[string]int{"a": 5000, "b": 50, "c/d": 50} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, branch), 0o700))
		nested(t, filepath.Join(dir, branch), levels)
	}
	var before unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &before))
	few := unix.Rlimit{Cur: uint64(openFiles(t)) + 8, Max: before.Max}
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &few))
	err := RemoveAll(dir)
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &before))
	require.NoError(t, err)
	require.NoDirExists(t, dir)
	require.NoError(t, RemoveAll(dir), "what is gone is no error")
}

// Nodes of a fleet that share a disk remove the same folder at the same time.
func TestRemoveByRivals(t *testing.T) {
	for range 20 {
		dir := filepath.Join(t.TempDir(), "work")
		for i := range 200 {
			require.NoError(t, os.MkdirAll(filepath.Join(dir, fmt.Sprint(i%5), fmt.Sprint("b", i), "c", "d"), 0o700))
		}
		var rivals sync.WaitGroup
		errs := make([]error, 4)
		for i := range errs {
			rivals.Go(func() { errs[i] = RemoveAll(dir) })
		}
		rivals.Wait()
		require.NoError(t, errors.Join(errs...))
		require.NoDirExists(t, dir)
	}
}

// openFiles is one more than the highest descriptor of this process.
func openFiles(t *testing.T) (next int) {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	for _, e := range entries {
		var fd int
		_, err := fmt.Sscan(e.Name(), &fd)
		require.NoError(t, err)
		next = max(next, fd+1)
	}
	return next
}

func TestRemoveTakesAnythingAndFollowsNothing(t *testing.T) {
	outside := t.TempDir()
	kept := filepath.Join(outside, "kept")
	require.NoError(t, os.WriteFile(kept, []byte("text"), 0o600))
	dir := filepath.Join(t.TempDir(), "trial")
	deep := filepath.Join(dir, "a", "b", "c")
	require.NoError(t, os.MkdirAll(deep, 0o700))
	require.NoError(t, os.Symlink(outside, filepath.Join(deep, "link")))
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "link")))
	require.NoError(t, unix.Mkfifo(filepath.Join(deep, "pipe"), 0o600))
	for i := range batch + 100 {
		require.NoError(t, os.WriteFile(filepath.Join(deep, fmt.Sprint(i)), nil, 0o600))
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "a", fmt.Sprint(i), "x"), 0o700))
	}
	require.NoError(t, os.Chmod(deep, 0))
	require.NoError(t, os.Chmod(filepath.Dir(deep), 0))
	require.NoError(t, RemoveAll(dir))
	require.NoDirExists(t, dir)
	require.FileExists(t, kept)
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(outside, link))
	require.NoError(t, RemoveAll(link))
	require.FileExists(t, kept)
	require.NoFileExists(t, link)
}

// What cannot be removed in time is moved aside: the area is usable at once, the folder is told, and it goes later.
func TestWhatIsNotRemovedInTimeIsMovedAside(t *testing.T) {
	var told strings.Builder
	area, err := Open(t.TempDir(), process.Cgroups{}, slog.New(slog.NewTextHandler(&told, nil)))
	require.NoError(t, err)
	folder, err := area.New()
	require.NoError(t, err)
	nested(t, folder.Path, 100)
	aside := filepath.Join(area.path, asideName)
	area.aside.Lock() // nothing is removed there yet
	require.NoError(t, area.remove(folder.Path, time.Now()))
	require.NoDirExists(t, folder.Path)
	require.DirExists(t, filepath.Join(aside, filepath.Base(folder.Path)))
	require.Contains(t, told.String(), filepath.Base(folder.Path))
	area.aside.Unlock()

	_, err = Open(area.path, process.Cgroups{}, nil)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		_, err := os.Lstat(aside)
		return os.IsNotExist(err)
	}, time.Minute, time.Millisecond)
}

func TestSizeCountsEverything(t *testing.T) {
	area, err := Open(t.TempDir(), process.Cgroups{}, nil)
	require.NoError(t, err)
	folder := func() *Folder {
		f, err := area.New()
		require.NoError(t, err)
		return f
	}
	empty := folder()
	for i := range 1000 {
		require.NoError(t, os.WriteFile(filepath.Join(empty.Path, fmt.Sprint(i)), nil, 0o600))
	}
	size, err := empty.Size(1 << 30)
	require.NoError(t, err)
	require.GreaterOrEqual(t, size, uint64(1000*entryBytes), "empty files take inodes")
	size, err = empty.Size(1 << 19)
	require.NoError(t, err)
	require.Greater(t, size, uint64(1<<19))
	require.LessOrEqual(t, size, uint64(1<<19+entryBytes), "what is beyond the limit is not counted")

	deep := folder()
	nested(t, deep.Path, 1000)
	_, err = deep.Size(1 << 30)
	require.ErrorIs(t, err, ErrImmeasurable)
	require.ErrorContains(t, err, "nested more than 128 deep")
	fine := folder()
	nested(t, fine.Path, maxDepth-1)
	_, err = fine.Size(1 << 30)
	require.NoError(t, err)
}
