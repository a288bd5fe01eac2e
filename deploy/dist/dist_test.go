package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var when = time.Unix(1_800_000_000, 0).UTC()

// folder makes files of a release; order and times are the caller's.
func folder(t *testing.T, dir string, names ...string) string {
	t.Helper()
	for _, name := range names {
		file := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(t, os.WriteFile(file, []byte(name), 0o600))
	}
	return dir
}

func TestTheSameFilesGiveTheSameArchive(t *testing.T) {
	first := folder(t, t.TempDir(), "misstep", "agent/a.jar", "agent.txt")
	second := folder(t, t.TempDir(), "agent.txt", "agent/a.jar", "misstep")
	require.NoError(t, os.Chmod(filepath.Join(first, "misstep"), 0o700))
	require.NoError(t, os.Chmod(filepath.Join(second, "misstep"), 0o755))
	require.NoError(t, os.Chtimes(filepath.Join(second, "agent.txt"), when, when))
	var a, b bytes.Buffer
	require.NoError(t, writeTar(&a, first, "x", when))
	require.NoError(t, writeTar(&b, second, "x", when))
	require.Equal(t, a.Bytes(), b.Bytes())

	modes := map[string]int64{}
	for r := tar.NewReader(&a); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		assert.Equal(t, when, h.ModTime.UTC())
		assert.Zero(t, h.Uid)
		modes[h.Name] = h.Mode
	}
	assert.Equal(t, map[string]int64{
		"x/": 0o755, "x/agent/": 0o755, "x/agent/a.jar": 0o644, "x/agent.txt": 0o644, "x/misstep": 0o755,
	}, modes)

	require.NoError(t, os.Symlink("misstep", filepath.Join(first, "link")))
	require.ErrorContains(t, writeTar(io.Discard, first, "x", when), "is no regular file")
}

func TestChecksumsAreThoseOfSha256sum(t *testing.T) {
	dir := folder(t, t.TempDir(), "misstep", "agent/a.jar")
	require.NoError(t, sums(dir, "SHA256SUMS"))
	check := exec.Command("sha256sum", "--check", "--strict", "SHA256SUMS")
	check.Dir = dir
	out, err := check.CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Equal(t, "agent/a.jar: OK\nmisstep: OK\n", string(out))
	before, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
	require.NoError(t, err)
	require.NoError(t, sums(dir, "SHA256SUMS"))
	after, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
	require.NoError(t, err)
	assert.Equal(t, before, after, "its own is not in it")
}

// A release refuses a library that a supported distribution cannot load.
func TestGlibcThatALibraryNeeds(t *testing.T) {
	compiler, err := exec.LookPath("cc")
	if err != nil || runtime.GOARCH != "amd64" {
		t.Skip("no C compiler for x86-64")
	}
	library := filepath.Join(t.TempDir(), "a.so")
	compile := exec.Command(compiler, "-shared", "-fPIC", "-o", library, "-xc", "-")
	compile.Stdin = strings.NewReader("extern int gnu_get_libc_version(void); int f(void) { return gnu_get_libc_version(); }\n")
	out, err := compile.CombinedOutput()
	require.NoError(t, err, "%s", out)
	minor, symbol, err := needsGlibc(library)
	require.NoError(t, err)
	assert.LessOrEqual(t, minor, newestGlibc)
	assert.NotEmpty(t, symbol)
	require.ErrorContains(t, checkLibraries(t.TempDir()), "no library")
}

func TestPartsOfMaven(t *testing.T) {
	r := release{Root: "../..", Repository: t.TempDir(), Maven: filepath.Join(t.TempDir(), "maven.txt")}
	require.NoError(t, os.WriteFile(r.Maven, []byte("\nThe following files have been resolved:\n"+
		"   org.ow2.asm:asm:jar:9.8:compile\n   org.junit:junit:jar:5:test\n"), 0o600))
	packed, err := r.packed()
	require.NoError(t, err)
	require.Equal(t, []artifact{{"org.ow2.asm", "asm", "9.8"}}, packed)

	write := func(a artifact, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(r.file(a, "")), 0o755))
		require.NoError(t, os.WriteFile(r.file(a, ".pom"), []byte(text), 0o600))
	}
	write(packed[0], `<?xml version="1.0" encoding="US-ASCII"?><project><parent><groupId>org.ow2</groupId>
		<artifactId>ow2</artifactId><version>1</version></parent></project>`)
	write(artifact{"org.ow2", "ow2", "1"}, `<project><licenses><license><name>BSD-3-Clause</name>
		<url>https://asm.ow2.io</url></license></licenses></project>`)
	name, url, err := r.pomLicence(packed[0], 0)
	require.NoError(t, err)
	assert.Equal(t, []string{"BSD-3-Clause", "https://asm.ow2.io"}, []string{name, url}, "the parent's")
	assert.Equal(t, "asm.txt", ownText(part{Name: "org.ow2.asm:asm"}))
	assert.Equal(t, "jline.txt", ownText(part{Name: "org.jline:jline-reader"}))
	require.ErrorContains(t, r.addOwnText(&part{Name: "a:b", Licence: "GPL"}), "a:b  (GPL) has no licence text")
	profiler, err := r.profiler()
	require.NoError(t, err)
	assert.Equal(t, "Apache-2.0.txt", ownText(profiler))
}

func TestListOfPartsIsTheSameEachTime(t *testing.T) {
	r := release{Version: "1.2.3", Time: when}
	text, err := json.Marshal(r.bom([]part{
		{Name: "org.ow2.asm:asm", Version: "9.8", PURL: "pkg:maven/org.ow2.asm/asm@9.8", Licence: "BSD"},
	}))
	require.NoError(t, err)
	assert.Contains(t, string(text), `"timestamp":"2027-01-15T08:00:00Z"`)
	assert.Contains(t, string(text), `"group":"org.ow2.asm"`)
	assert.NotContains(t, string(text), "serialNumber")
}

// The manual is made of the reference, which is made of the command line: man can show it.
func TestManual(t *testing.T) {
	page, err := release{Root: "../..", Version: "1.2.3", Time: when}.page()
	require.NoError(t, err)
	assert.Contains(t, string(page), ".TH ")
	assert.Contains(t, string(page), "misstep hunt")
	assert.NotContains(t, string(page), "Generated by")
	assert.Equal(t, "complete -C misstep misstep\n", anywhere("complete -C /build/dist/misstep misstep\n", "/build/dist/misstep"))
}

// OpenSSH itself accepts the signature of a release, and not that of other checksums.
func TestSignature(t *testing.T) {
	keygen, err := exec.LookPath("ssh-keygen")
	if err != nil {
		t.Skip("no ssh-keygen")
	}
	dir := t.TempDir()
	key := filepath.Join(dir, "key")
	require.NoError(t, exec.Command(keygen, "-q", "-t", "ed25519", "-N", "", "-f", key).Run())
	public, err := os.ReadFile(key + ".pub")
	require.NoError(t, err)
	signers, signed := filepath.Join(dir, "signers"), filepath.Join(dir, "sig")
	require.NoError(t, os.WriteFile(signers, append([]byte("me "), public...), 0o600))
	signature, err := sign([]byte("sums"), key)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(signed, signature, 0o600))
	verify := func(text string) error {
		c := exec.Command(keygen, "-Y", "verify", "-f", signers, "-I", "me", "-n", namespace, "-s", signed)
		c.Stdin = strings.NewReader(text)
		return c.Run()
	}
	require.NoError(t, verify("sums"))
	require.Error(t, verify("others"))
}
