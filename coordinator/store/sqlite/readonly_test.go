package sqlite

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// The store in a folder that cannot be written is refused with the reason, as a root user sees it on a read-only file system.
func TestReadOnlyFolder(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(t.Context(), filepath.Join(dir, "x.db"))
	require.NoError(t, err)
	require.NoError(t, s.Close())
	readOnly := filepath.Join(t.TempDir(), "ro")
	require.NoError(t, os.Mkdir(readOnly, 0o755))
	if err := unix.Mount(dir, readOnly, "", unix.MS_BIND, ""); err != nil {
		t.Skipf("cannot mount: %v; run as root", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(readOnly, unix.MNT_DETACH) })
	require.NoError(t, unix.Mount("", readOnly, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	_, err = Open(t.Context(), filepath.Join(readOnly, "x.db"))
	require.ErrorContains(t, err, "x.db: it or its folder cannot be written")
	require.ErrorContains(t, err, "copy the folder")
	require.NotContains(t, err.Error(), "(14)")
}
