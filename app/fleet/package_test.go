package fleet

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A package depends on names, contents and whether a file can be executed, and on nothing else.
func TestPack(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), mode))
	}
	write("bin/program", "binary", 0o700)
	write("agent/b.jar", "jar", 0o600)
	write("agent/a.so", "library", 0o755)
	write("agent/.stamp", "left out", 0o644)
	all := []source{{filepath.Join(dir, "bin", "program"), "misstep"}, {filepath.Join(dir, "agent"), "agent"}}
	var first, second bytes.Buffer
	digest, err := pack(all, &first)
	require.NoError(t, err)
	sum := sha256.Sum256(first.Bytes())
	require.Equal(t, "sha256:"+hex.EncodeToString(sum[:]), digest)

	require.NoError(t, os.Chtimes(filepath.Join(dir, "agent", "a.so"), time.Unix(1, 0), time.Unix(1, 0)))
	again, err := pack(all, &second)
	require.NoError(t, err)
	require.Equal(t, digest, again)
	write("agent/a.so", "another", 0o755)
	other, err := pack(all, io.Discard)
	require.NoError(t, err)
	require.NotEqual(t, digest, other)

	unzipped, err := gzip.NewReader(&first)
	require.NoError(t, err)
	in := tar.NewReader(unzipped)
	modes := map[string]int64{}
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		modes[h.Name] = h.Mode
	}
	require.Equal(t, map[string]int64{"misstep": 0o755, "agent/a.so": 0o755, "agent/b.jar": 0o644}, modes)
	_, err = pack([]source{{filepath.Join(dir, "none"), "x"}}, io.Discard)
	require.ErrorContains(t, err, "pack "+filepath.Join(dir, "none"))
}
