package bundle

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/corpus"
	"misstep/corpus/localdir"
	"misstep/corpus/memory"
)

const largeFile = "workload/lib/suite.jar"

// sharing is sample with a large file in its workload, written into a folder beside its shared files.
func sharing(t *testing.T, embed bool) (path string, large []byte) {
	t.Helper()
	c := sample(t)
	large = bytes.Repeat([]byte("0123456789abcdef"), ShareFrom/16)
	writeFile(t, filepath.Join(c.Workload, "lib", "suite.jar"), string(large), 0o644)
	c.WorkloadSource = "/home/jane/Downloads/suite-1.2.jar"
	dir := t.TempDir()
	if !embed {
		store, err := localdir.New(filepath.Join(dir, SharedDir))
		require.NoError(t, err)
		c.Shared = store
	}
	path = filepath.Join(dir, "F.zip")
	file, err := os.Create(path)
	require.NoError(t, err)
	require.NoError(t, Write(t.Context(), file, c))
	require.NoError(t, file.Close())
	return path, large
}

func TestALargeFileIsSharedAndPutBack(t *testing.T) {
	path, large := sharing(t, false)
	b, err := Open(path)
	require.NoError(t, err)
	defer b.Close()
	require.Equal(t, []File{{Path: largeFile, Size: int64(len(large)), Digest: corpus.DigestBytes(large)}}, b.Shared())
	for _, f := range b.Files() {
		assert.NotEqual(t, largeFile, f.Path)
	}
	missing, err := b.Missing(t.Context())
	require.NoError(t, err)
	assert.Empty(t, missing)
	dir := filepath.Join(t.TempDir(), "unpacked")
	require.NoError(t, b.Extract(dir))
	got, err := os.ReadFile(filepath.Join(dir, largeFile))
	require.NoError(t, err)
	assert.True(t, bytes.Equal(large, got))
}

func TestWithoutASharedFolderAllIsEmbedded(t *testing.T) {
	path, _ := sharing(t, true)
	b, err := Open(path)
	require.NoError(t, err)
	defer b.Close()
	assert.Empty(t, b.Shared())
	format, err := b.ReadFile(nameFormat)
	require.NoError(t, err)
	assert.Equal(t, formatLine, string(format), "older versions of Misstep read it")
}

func TestASharedFileThatIsNotThereIsNamed(t *testing.T) {
	path, large := sharing(t, false)
	require.NoError(t, os.RemoveAll(filepath.Join(filepath.Dir(path), SharedDir)))
	b, err := Open(path)
	require.NoError(t, err, "what is in the bundle can be read all the same")
	defer b.Close()
	err = b.Extract(filepath.Join(t.TempDir(), "unpacked"))
	var missing *MissingError
	require.ErrorAs(t, err, &missing)
	require.ErrorIs(t, err, corpus.ErrNotFound)
	require.ErrorContains(t, err, largeFile)
	require.ErrorContains(t, err, "--embed")
	require.ErrorContains(t, err, "of workload clinit, which was added from suite-1.2.jar")

	other := memory.New()
	_, _, err = other.Put(t.Context(), bytes.NewReader(large), corpus.Digest{})
	require.NoError(t, err)
	b.Look("other", other)
	require.NoError(t, b.Extract(filepath.Join(t.TempDir(), "unpacked")))
}

func TestADamagedSharedFileIsRefused(t *testing.T) {
	path, large := sharing(t, false)
	blob := filepath.Join(filepath.Dir(path), SharedDir, localdir.Path(corpus.DigestBytes(large)))
	require.NoError(t, os.Chmod(blob, 0o644))
	large[0] ^= 1
	require.NoError(t, os.WriteFile(blob, large, 0o644))
	b, err := Open(path)
	require.NoError(t, err)
	defer b.Close()
	dir := filepath.Join(t.TempDir(), "unpacked")
	require.ErrorAs(t, b.Extract(dir), new(*corpus.MismatchError))
	assert.NoDirExists(t, dir)
}

func TestAListOfSharedFilesIsChecked(t *testing.T) {
	digest := corpus.DigestBytes(nil).String()
	own := []File{{Path: "workload/a.jar", Digest: corpus.DigestBytes(nil)}}
	for text, want := range map[string]string{
		"":                                       "0 shared files",
		"5 " + digest + "\n":                     "expected a size",
		"5 sha256:12 workload/b.jar\n":           "digest",
		"5 " + digest + " workload/../evil\n":    "evil",
		"5 " + digest + " run.sh\n":              "below workload/",
		"5 " + digest + " workload/a.jar\n":      "workload/a.jar",
		"source \n5 " + digest + " workload/b\n": "expected one line",
		"source a\n":                             "0 shared files",
		"-5 " + digest + " workload/b.jar\n":     "expected a size",
		"9999999999 " + digest + " workload/b\n": "are allowed",
	} {
		_, _, err := parseShared(text, own)
		assert.ErrorContains(t, err, want, text)
	}
}

func TestTheSourceOfAWorkload(t *testing.T) {
	for source, want := range map[string]string{
		"": "", "/src/build/workloads/clinit": "", "/home/jane/suite-1.2.jar": "suite-1.2.jar",
		"https://example.org/r/suite-1.2.jar": "https://example.org/r/suite-1.2.jar", "/tmp/two\nlines.jar": "two lines.jar",
	} {
		c := sample(t)
		c.WorkloadSource = source
		assert.Equal(t, want, sourceText(&c), source)
		_, got, err := parseShared(string(sharedText([]File{{Path: largeFile, Digest: corpus.DigestBytes(nil)}}, want)), nil)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
}

func TestSharedFilesAreVerifiedWhereTheyLie(t *testing.T) {
	path, large := sharing(t, false)
	b, err := Open(path)
	require.NoError(t, err)
	defer b.Close()
	file := b.Shared()[0]
	require.NoError(t, b.VerifyShared(t.Context(), file))
	assert.Equal(t, filepath.Join(filepath.Dir(path), SharedDir), b.Place(t.Context(), file))
	for _, name := range []string{nameReadme, Report} {
		text, err := b.ReadFile(name)
		require.NoError(t, err)
		assert.Contains(t, string(text), "Put the folder `shared`", name)
	}
	blob := filepath.Join(filepath.Dir(path), SharedDir, localdir.Path(file.Digest))
	require.NoError(t, os.Chmod(blob, 0o644))
	require.NoError(t, os.WriteFile(blob, append([]byte{1}, large[1:]...), 0o644))
	require.ErrorAs(t, b.VerifyShared(t.Context(), file), new(*corpus.MismatchError))
	require.NoError(t, os.WriteFile(blob, large[1:], 0o644))
	require.ErrorContains(t, b.VerifyShared(t.Context(), file), "bytes, not")
	require.NoError(t, os.Remove(blob))
	require.ErrorAs(t, b.VerifyShared(t.Context(), file), new(*MissingError))
	assert.Empty(t, b.Place(t.Context(), file))
}

// TestTheScriptFindsSharedFiles runs the part of run.sh that puts them in place, with a java that says so.
func TestTheScriptFindsSharedFiles(t *testing.T) {
	path, large := sharing(t, false)
	dir := filepath.Join(filepath.Dir(path), "F")
	unzipped(t, path, dir)
	jdk := t.TempDir()
	writeFile(t, filepath.Join(jdk, "bin", "java"), "#!/bin/sh\necho no JVM here; exit 3\n", 0o755)
	run := func() string {
		out, err := exec.Command("bash", filepath.Join(dir, "run.sh"), jdk).CombinedOutput()
		require.Error(t, err)
		return string(out)
	}
	assert.Contains(t, run(), "no JVM here")
	got, err := os.ReadFile(filepath.Join(dir, largeFile))
	require.NoError(t, err)
	assert.True(t, bytes.Equal(large, got))

	require.NoError(t, os.Remove(filepath.Join(dir, largeFile)))
	shared := filepath.Join(filepath.Dir(path), SharedDir)
	require.NoError(t, os.Rename(shared, shared+".away"))
	text := run()
	assert.Contains(t, text, "MISSTEP_SHARED")
	assert.Contains(t, text, "(SHA-256 "+corpus.DigestBytes(large).Hex()+") of workload clinit, which was added from suite-1.2.jar")
	t.Setenv("MISSTEP_SHARED", shared+".away")
	assert.Contains(t, run(), "no JVM here")
}

// unzipped unpacks a bundle as unzip would: without its shared files.
func unzipped(t *testing.T, path, dir string) {
	t.Helper()
	b, err := Open(path)
	require.NoError(t, err)
	defer b.Close()
	b.shared = nil
	require.NoError(t, b.Extract(dir))
}
