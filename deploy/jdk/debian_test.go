package jdk

import (
	"debug/elf"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/corpus/tree"
)

const (
	deb822 = `# the host's
Types: deb deb-src
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main contrib
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 -----END PGP PUBLIC KEY BLOCK-----

Types: deb
URIs: http://mirror.example/debian-security
Suites: bookworm-security
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Enabled: no
Types: deb
URIs: http://off.example/debian
Suites: bookworm
Components: main
`
	oneLine = `deb [arch=amd64,arm64 signed-by=/k.gpg] https://vendor.example/apt vendor-bookworm main # not Debian's
#deb http://commented.example/debian bookworm main
deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg trusted=yes] http://old.example/debian stable main
deb-src http://src.example/debian bookworm main
deb [broken http://x bookworm main
deb http://short.example
`
)

func readSources(t *testing.T, files map[string]string) []aptSource {
	t.Helper()
	dir := t.TempDir()
	var names []string
	for _, name := range []string{"sources.list", "a.list", "debian.sources"} {
		if text, ok := files[name]; ok {
			write(t, filepath.Join(dir, name), text, 0o644)
		}
		names = append(names, filepath.Join(dir, name))
	}
	sources, err := readAptSources(names)
	require.NoError(t, err)
	return sources
}

func TestForSuiteTakesTheHostsSources(t *testing.T) {
	sources := readSources(t, map[string]string{"debian.sources": deb822, "a.list": oneLine})
	text, err := forSuite(sources, "sid")
	require.NoError(t, err)
	assert.Equal(t, `Types: deb
URIs: http://mirror.example/debian
Suites: sid
Components: main
Targets: Packages
Signed-By: 
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 -----END PGP PUBLIC KEY BLOCK-----

Types: deb
URIs: http://old.example/debian
Suites: sid
Components: main
Targets: Packages
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
Trusted: yes
`, text)
	text, err = forSuite(sources, "bookworm-security")
	require.NoError(t, err)
	assert.Contains(t, text, "http://mirror.example/debian-security\nSuites: bookworm-security\n")
	assert.Contains(t, text, "http://mirror.example/debian\nSuites: bookworm\n", "its libc comes from the base suite")
	assert.NotContains(t, text, "off.example")
	assert.NotContains(t, text, "vendor.example")
}

func TestForSuiteWithoutADebianSource(t *testing.T) {
	for _, files := range []map[string]string{
		nil,
		{"sources.list": "deb http://x.example/ubuntu noble main\n"},
		{"sources.list": "deb http://x.example/debian bookworm contrib\n"},
	} {
		_, err := forSuite(readSources(t, files), "sid")
		require.ErrorContains(t, err, "no source of the Debian archive")
	}
	_, err := forSuite(readSources(t, map[string]string{"sources.list": "deb http://x.example/debian bookworm main\n"}),
		"bookworm-security")
	require.ErrorContains(t, err, `"bookworm-security"`, "the security archive is a separate one")
}

func TestParseDebian(t *testing.T) {
	for source, want := range map[string]string{
		"debian:openjdk-17": "debian:openjdk-17@bookworm-security", "debian:openjdk-21": "debian:openjdk-21@trixie",
		"debian:openjdk-25": "debian:openjdk-25@trixie",
		"debian:openjdk-8":  "debian:openjdk-8@sid", "debian:openjdk-28@forky": "debian:openjdk-28@forky",
	} {
		d, err := parseDebian(source)
		require.NoError(t, err)
		assert.Equal(t, want, d.source())
	}
	for _, source := range []string{
		"debian:", "debian:openjdk", "debian:openjdk-21@", "debian:openjdk-21@a b",
		"debian:openjdk-21@../x", "debian:temurin-21", "debian:openjdk-21@-x",
	} {
		_, err := parseDebian(source)
		require.Error(t, err, source)
	}
}

// TestAssemble uses an unpacked root as Debian's packages produce it.
func TestAssemble(t *testing.T) {
	root, to := t.TempDir(), filepath.Join(t.TempDir(), "home")
	home := filepath.Join(root, "usr/lib/jvm/java-21-openjdk-amd64")
	write(t, filepath.Join(home, "bin/java"), fakeJava, 0o755)
	write(t, filepath.Join(root, "etc/java-21-openjdk/net.properties"), "a=b\n", 0o644)
	write(t, filepath.Join(root, "usr/share/doc/openjdk/copyright"), "text", 0o644)
	require.NoError(t, os.Mkdir(filepath.Join(home, "conf"), 0o755))
	for link, target := range map[string]string{
		"conf/net.properties": "/etc/java-21-openjdk/net.properties",
		"docs":                "../../../share/doc/openjdk",
		"src.zip":             "../../openjdk-21/src.zip",
		"cacerts":             "/etc/ssl/certs/java/cacerts",
		"passwd":              "../../../../../../../../../../../../etc/passwd", // the host's: must never be copied
		"java":                "bin/java",
	} {
		require.NoError(t, os.Symlink(target, filepath.Join(home, link)))
	}
	require.NoError(t, assemble(t.Context(), root, home, to))
	m, err := tree.Scan(to)
	require.NoError(t, err)
	var got []string
	for e := range m.Entries() {
		got = append(got, e.Kind.String()+" "+e.Path)
	}
	assert.Equal(t, []string{"dir bin", "exec bin/java", "dir conf", "file conf/net.properties", "link java"}, got)
}

// TestOwnLibc gives a program of the host a sysroot of the host's own libraries and runs it with these, also after a move.
func TestOwnLibc(t *testing.T) {
	if _, err := exec.LookPath("patchelf"); err != nil {
		t.Skipf("needs patchelf: %v", err)
	}
	program, err := exec.LookPath("patchelf") // itself a dynamic C++ program
	require.NoError(t, err)
	dir, libs := filepath.Join(t.TempDir(), "tree"), filepath.Join(t.TempDir(), "libs")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "bin"), 0o755))
	require.NoError(t, copyFile(program, filepath.Join(dir, "bin", "java"), 0o755))
	write(t, filepath.Join(dir, "bin", "script"), "#!/bin/sh\n", 0o755)
	hostLibraries(t, program, filepath.Join(libs, "host_1_amd64.deb"))

	providers, unresolved, err := gatherSysroot(libs, dir)
	require.NoError(t, err)
	assert.Equal(t, []string{"host_1_amd64.deb"}, providers)
	for _, line := range unresolved {
		assert.Contains(t, line, "the JVM needs", "only libraries that the program does not need")
	}
	before, err := tree.Scan(dir)
	require.NoError(t, err)
	run, err := Runnable(t.Context(), dir)
	require.NoError(t, err)
	assert.Equal(t, dir+".run", run)
	assertRuns(t, run)
	after, err := tree.Scan(dir)
	require.NoError(t, err)
	assert.Equal(t, before.Digest(), after.Digest(), "the tree itself is unchanged")
	info, err := os.Stat(filepath.Join(run, "bin", "java"))
	require.NoError(t, err)
	again, err := Runnable(t.Context(), dir)
	require.NoError(t, err)
	sameInfo, err := os.Stat(filepath.Join(again, "bin", "java"))
	require.NoError(t, err)
	assert.True(t, os.SameFile(info, sameInfo), "created once")

	moved := filepath.Join(t.TempDir(), "moved")
	require.NoError(t, os.Rename(dir, moved))
	require.NoError(t, os.Rename(run, moved+".run"))
	run, err = Runnable(t.Context(), moved)
	require.NoError(t, err)
	assertRuns(t, run)
}

// hostLibraries copies the libraries that ldd finds for the program to dir.
func hostLibraries(t *testing.T, program, dir string) {
	t.Helper()
	out, err := exec.Command("ldd", program).Output()
	if err != nil {
		t.Skipf("needs ldd: %v", err)
	}
	require.NoError(t, os.MkdirAll(dir, 0o755))
	for word := range strings.FieldsSeq(string(out)) {
		if filepath.IsAbs(word) {
			require.NoError(t, copyFile(word, filepath.Join(dir, filepath.Base(word)), 0o755))
		}
	}
}

func assertRuns(t *testing.T, run string) {
	t.Helper()
	program := filepath.Join(run, "bin", "java")
	file, err := elf.Open(program)
	require.NoError(t, err)
	loader := interpreter(file)
	require.NoError(t, file.Close())
	assert.Equal(t, filepath.Join(run, sysroot), filepath.Dir(loader))
	out, err := exec.Command(loader, "--list", program).CombinedOutput() // as ldd does
	require.NoError(t, err, string(out))
	for line := range strings.Lines(string(out)) {
		if _, found, ok := strings.Cut(line, " => "); ok {
			assert.True(t, strings.HasPrefix(found, run), line)
		}
	}
	out, err = exec.Command(program, "--version").CombinedOutput()
	require.NoError(t, err, string(out))
	assert.Contains(t, string(out), "patchelf")
}

// TestDebianOverTheNetwork imports a real build of another suite and runs it.
func TestDebianOverTheNetwork(t *testing.T) {
	if os.Getenv("MISSTEP_TEST_NETWORK") != "1" {
		t.Skip("downloads 140 MB: set MISSTEP_TEST_NETWORK=1, as make test does")
	}
	c := Open(t.TempDir())
	e, err := c.Add(t.Context(), "debian-21", "debian:openjdk-21", AddOptions{})
	if unreachable, ok := errors.AsType[*UnreachableError](err); ok {
		t.Skipf("needs the Debian archive: %v", unreachable)
	}
	if errors.Is(err, exec.ErrNotFound) {
		t.Skipf("needs Debian's tools: %v", err)
	}
	require.NoError(t, err)
	assert.Equal(t, 21, e.Feature)
	assert.Equal(t, "debian:openjdk-21@trixie", e.Source)
	assert.True(t, e.HasCompiler)
	program := filepath.Join(t.TempDir(), "Hello.java")
	write(t, program, `public class Hello {
  public static void main(String[] arguments) throws Exception {
    int exit = new ProcessBuilder("true").start().waitFor(); // goes through lib/jspawnhelper
    System.out.println("hello from " + Runtime.version().feature() + ", child " + exit);
  }
}
`, 0o644)
	out, err := exec.Command(filepath.Join(e.Path, "bin", "java"), program).CombinedOutput()
	require.NoError(t, err, string(out))
	assert.Equal(t, "hello from 21, child 0\n", string(out))
	_, err = c.Get("debian-21")
	require.NoError(t, err)

	_, err = c.Add(t.Context(), "none", "debian:openjdk-99@trixie", AddOptions{})
	require.ErrorContains(t, err, `suite "trixie" has openjdk-21, openjdk-25`)
}
