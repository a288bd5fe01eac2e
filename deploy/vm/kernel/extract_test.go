package kernel

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/ulikunitz/xz"
)

func TestUnpackImage(t *testing.T) {
	program, err := os.ReadFile("/proc/self/exe")
	require.NoError(t, err)
	encoder, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	for _, c := range []struct {
		name, problem string
		image         []byte
	}{
		{"nothing", "no zstd frame", nil},
		{"no frame", "no zstd frame", bytes.Repeat([]byte("x"), 1000)},
		{"the magic by chance", "no zstd frame", []byte{0x28, 0xb5, 0x2f, 0xfd}},
		{"a frame of something else", "no zstd frame", encoder.EncodeAll([]byte("text"), nil)},
		// A program has no BTF, but its being unpacked shows that the frame was found between other bytes.
		{"a program", "holds no BTF", append(encoder.EncodeAll(program, []byte("setup \x28\xb5\x2f\xfd code")), "more"...)},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := unpackImage(c.image)
			require.ErrorContains(t, err, c.problem)
		})
	}
}

func TestCheckConfigNamesWhatIsMissing(t *testing.T) {
	require.NoError(t, checkConfig([]byte(strings.Join(required, "\n")+"\n")))
	err := checkConfig([]byte("# CONFIG_SCHED_CLASS_EXT is not set\n" + strings.Join(required[1:], "\n")))
	require.EqualError(t, err, "its configuration lacks CONFIG_SCHED_CLASS_EXT=y")
}

func TestReadModuleUnpacks(t *testing.T) {
	tree := t.TempDir()
	dir := filepath.Join(tree, "kernel", "fs")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	var packed bytes.Buffer
	w, err := xz.NewWriter(&packed)
	require.NoError(t, err)
	_, err = w.Write([]byte("\x7fELF module"))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.ko.xz"), packed.Bytes(), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "b.ko"), []byte("\x7fELF plain"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "c.ko.xz"), packed.Bytes()[:20], 0o644))

	got, err := readModule(tree, "a")
	require.NoError(t, err)
	assert.Equal(t, "\x7fELF module", string(got))
	got, err = readModule(tree, "b")
	require.NoError(t, err)
	assert.Equal(t, "\x7fELF plain", string(got))
	_, err = readModule(tree, "c")
	require.ErrorContains(t, err, "unpacking module c")
	_, err = readModule(tree, "d")
	require.ErrorContains(t, err, "module d is not in")
}

func TestCachedTakesTheNewest(t *testing.T) {
	cache := t.TempDir()
	f := Fetcher{Cache: cache}
	_, ok, err := f.Cached()
	require.NoError(t, err)
	assert.False(t, ok)
	for _, version := range []string{"7.9.1-1", "7.10.2-1"} {
		require.NoError(t, os.Mkdir(filepath.Join(cache, version), 0o755))
		meta := `{"release": "r` + version + `", "version": "` + version + `"}`
		require.NoError(t, os.WriteFile(filepath.Join(cache, version, metaFile), []byte(meta), 0o644))
	}
	k, ok, err := f.Cached()
	require.NoError(t, err)
	assert.True(t, ok)
	assert.Equal(t, "7.10.2-1", k.Version)
	assert.Equal(t, filepath.Join(cache, "7.10.2-1", "vmlinuz"), k.Image())
	require.NoError(t, os.WriteFile(filepath.Join(cache, "7.9.1-1", metaFile), []byte("{"), 0o644))
	_, _, err = f.Cached()
	require.ErrorContains(t, err, "remove that folder")
}
