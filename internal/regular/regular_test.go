package regular_test

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"misstep/internal/regular"
)

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	file, link, pipe := filepath.Join(dir, "file"), filepath.Join(dir, "link"), filepath.Join(dir, "pipe")
	require.NoError(t, os.WriteFile(file, []byte("text"), 0o600))
	require.NoError(t, os.Symlink(file, link))
	require.NoError(t, unix.Mkfifo(pipe, 0o600))

	f, err := regular.Open(file)
	require.NoError(t, err)
	text, err := io.ReadAll(f)
	require.NoError(t, err)
	require.Equal(t, "text", string(text))
	require.NoError(t, f.Close())
	for _, other := range []string{link, pipe, dir, "/dev/zero"} {
		_, err := regular.Open(other)
		require.ErrorIs(t, err, regular.ErrOther, other)
	}
	_, err = regular.Open(filepath.Join(dir, "missing"))
	require.ErrorIs(t, err, os.ErrNotExist)
}
