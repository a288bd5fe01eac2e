package jdk

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/ulikunitz/xz"

	"misstep/corpus"
)

// makeTar returns a tar of a JDK in the folder prefix, followed by more.
func makeTar(t *testing.T, prefix string, more ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(fakeFiles)) {
		text := fakeFiles[name]
		require.NoError(t,
			w.WriteHeader(&tar.Header{
				Name: prefix + name, Mode: int64(fakeMode(name)), Size: int64(len(text)),
				Typeflag: tar.TypeReg,
			}))
		_, err := w.Write([]byte(text))
		require.NoError(t, err)
	}
	for _, header := range more {
		require.NoError(t, w.WriteHeader(&header))
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}

func compress(t *testing.T, data []byte, with func(io.Writer) (io.WriteCloser, error)) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := with(&b)
	require.NoError(t, err)
	_, err = w.Write(data)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

func gzipped(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil }

func xzipped(w io.Writer) (io.WriteCloser, error) { return xz.NewWriter(w) }

func makeZip(t *testing.T, prefix string, more ...*zip.FileHeader) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(fakeFiles)) {
		header := &zip.FileHeader{Name: prefix + name, Method: zip.Deflate}
		header.SetMode(fakeMode(name))
		entry, err := w.CreateHeader(header)
		require.NoError(t, err)
		_, err = entry.Write([]byte(fakeFiles[name]))
		require.NoError(t, err)
	}
	for _, header := range more {
		entry, err := w.CreateHeader(header)
		require.NoError(t, err)
		_, err = entry.Write([]byte("../../../../etc/passwd"))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}

func sum(data []byte) string {
	digest := sha256.Sum256(data)
	return hex.EncodeToString(digest[:])
}

func TestAddAnArchive(t *testing.T) {
	inFolder, err := Open(t.TempDir()).Add(t.Context(), "x", fakeJDK(t), AddOptions{})
	require.NoError(t, err)
	for name, data := range map[string][]byte{
		"jdk.tar.gz":                 compress(t, makeTar(t, "jdk-21.0.1+1/"), gzipped),
		"jdk.tar.xz":                 compress(t, makeTar(t, "./jdk-21/"), xzipped),
		"jdk.zip":                    makeZip(t, "jdk-21/"),
		"at the root.tgz":            compress(t, makeTar(t, ""), gzipped),
		"mac.tar.gz":                 compress(t, makeTar(t, "jdk/Contents/Home/"), gzipped),
		"zip with another suffix.gz": makeZip(t, ""),
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), name)
			require.NoError(t, os.WriteFile(file, data, 0o600))
			c := Open(filepath.Join(t.TempDir(), "[home]"))
			e, err := c.Add(t.Context(), "x", file, AddOptions{SHA256: strings.ToUpper(sum(data))})
			require.NoError(t, err)
			assert.Equal(t, inFolder.Digest, e.Digest, "the same files have the same identity whatever their source")
			assert.Equal(t, fakeVersion, e.Version)
			_, err = c.Get("x")
			require.NoError(t, err)
			_, err = c.Add(t.Context(), "x", file, AddOptions{SHA256: sum(data)})
			require.NoError(t, err)
			require.NoError(t, c.Remove("x"))
			assertOnlyLock(t, c)
		})
	}
}

// assertOnlyLock asserts that nothing of a build is left in the catalogue.
func assertOnlyLock(t *testing.T, c *Catalogue) {
	t.Helper()
	left, err := os.ReadDir(c.dir())
	require.NoError(t, err)
	require.Len(t, left, 1)
	assert.Equal(t, ".lock-x", left[0].Name())
}

func TestAddAnArchiveByURL(t *testing.T) {
	data := compress(t, makeTar(t, "jdk/"), gzipped)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/jdk.tar.gz":
			_, _ = w.Write(data)
		case "/moved":
			http.Redirect(w, r, "/jdk.tar.gz", http.StatusFound)
		case "/huge":
			w.Header().Set("Content-Length", "3000000000")
		case "/cut":
			w.Header().Set("Content-Length", "100000")
			_, _ = w.Write(data)
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	var reported int64
	progress := func(_ string, done, _ int64) { reported = max(reported, done) }
	for _, path := range []string{"/jdk.tar.gz", "/moved"} {
		_, err := Open(t.TempDir()).Add(t.Context(), "x", server.URL+path, AddOptions{SHA256: sum(data), Progress: progress})
		require.NoError(t, err)
		assert.EqualValues(t, len(data), reported)
	}
	for path, want := range map[string]string{"/gone": "404", "/huge": "too large", "/cut": "unexpected EOF"} {
		c := Open(t.TempDir())
		_, err := c.Add(t.Context(), "x", server.URL+path, AddOptions{SHA256: sum(data)})
		require.ErrorContains(t, err, want)
		assertOnlyLock(t, c)
	}
	_, err := Open(t.TempDir()).Add(t.Context(), "x", server.URL+"/jdk.tar.gz", AddOptions{})
	require.ErrorContains(t, err, "needs its SHA-256")
}

func TestBadArchivesAreRefused(t *testing.T) {
	good := makeTar(t, "jdk/")
	tarWith := func(headers ...tar.Header) []byte { return compress(t, makeTar(t, "jdk/", headers...), gzipped) }
	outside := &zip.FileHeader{Name: "jdk/link"}
	outside.SetMode(os.ModeSymlink | 0o777)
	for want, data := range map[string][]byte{
		"climbs":                   tarWith(tar.Header{Name: "../evil", Typeflag: tar.TypeReg}),
		`"jdk/../../evil": climbs`: tarWith(tar.Header{Name: "jdk/../../evil", Typeflag: tar.TypeReg}),
		"absolute":                 tarWith(tar.Header{Name: "/etc/evil", Typeflag: tar.TypeReg}),
		"leaves the tree": tarWith(tar.Header{
			Name: "jdk/out", Linkname: "../../../../../../../../etc/passwd",
			Typeflag: tar.TypeSymlink,
		}),
		"to /etc/passwd: leaves":  tarWith(tar.Header{Name: "jdk/out", Linkname: "/etc/passwd", Typeflag: tar.TypeSymlink}),
		"link target":             tarWith(tar.Header{Name: "jdk/out", Linkname: "/etc/passwd", Typeflag: tar.TypeLink}),
		"neither file nor folder": tarWith(tar.Header{Name: "jdk/null", Typeflag: tar.TypeChar}),
		"file exists":             tarWith(tar.Header{Name: "jdk/release", Typeflag: tar.TypeReg}),
		"ignores case":            tarWith(tar.Header{Name: "jdk/Release", Typeflag: tar.TypeReg}),
		"holds 2 JDKs": compress(t, append(good[:len(good)-1024:len(good)-1024], makeTar(t, "other/")...),
			gzipped),
		"unexpected EOF":                compress(t, good[:len(good)-2000], gzipped),
		"neither gzip nor xz nor zip":   []byte("just text"),
		"holds no bin/java":             compress(t, make([]byte, 1024), gzipped), // an empty tar
		"zip: not a valid zip":          makeZip(t, "jdk/")[:200],
		`entry "../x": path "../x": cl`: makeZip(t, "jdk/", &zip.FileHeader{Name: "../x"}),
		"etc/passwd: leaves the tree":   makeZip(t, "jdk/", outside),
		"backslash":                     nil,
	} {
		if want == "backslash" {
			want, data = `forbidden character '\\'`, makeZip(t, "jdk/", &zip.FileHeader{Name: `..\x`})
		}
		file := filepath.Join(t.TempDir(), "archive")
		require.NoError(t, os.WriteFile(file, data, 0o600))
		c := Open(t.TempDir())
		_, err := c.Add(t.Context(), "x", file, AddOptions{SHA256: sum(data)})
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, file)
		assertOnlyLock(t, c)
	}
}

func TestAnArchiveOfAnotherDigestIsNotUnpacked(t *testing.T) {
	data := compress(t, makeTar(t, "jdk/"), gzipped)
	file := filepath.Join(t.TempDir(), "jdk.tar.gz")
	require.NoError(t, os.WriteFile(file, data, 0o600))
	c := Open(t.TempDir())
	_, err := c.Add(t.Context(), "x", file, AddOptions{SHA256: sum([]byte("other"))})
	require.ErrorContains(t, err, "the archive has SHA-256 "+sum(data))
	assertOnlyLock(t, c)
}

// TestABombIsBounded unpacks 1 MiB of zeros with a limit of 1,000 bytes.
func TestABombIsBounded(t *testing.T) {
	root, err := os.OpenRoot(t.TempDir())
	require.NoError(t, err)
	defer root.Close()
	x := &extractor{ctx: t.Context(), root: root, left: 1000}
	err = x.file("zeros", 0o644, io.LimitReader(zeros{}, 1<<20))
	require.ErrorIs(t, err, corpus.ErrTooLarge)
	info, err := root.Stat("zeros")
	require.NoError(t, err)
	assert.LessOrEqual(t, info.Size(), int64(1001))
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
