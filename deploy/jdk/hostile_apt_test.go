package jdk

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An archive that nobody whom the host trusts has signed is not read, whatever it says.
func TestArchivesThatNobodySigned(t *testing.T) {
	if _, err := exec.LookPath("apt-get"); err != nil {
		t.Skipf("needs apt: %v", err)
	}
	const packages = "Package: openjdk-21-jdk-headless\nVersion: 1\nArchitecture: all\nFilename: x.deb\nSize: 1\nSHA256: 00\n\n"
	release := "Origin: Debian\nSuite: sid\nCodename: sid\nComponents: main\nArchitectures: amd64 all\n" +
		"Date: Thu, 26 Nov 2026 10:00:00 UTC\nSHA256:\n" +
		fmt.Sprintf(" %x %d main/binary-amd64/Packages\n", sha256.Sum256([]byte(packages)), len(packages))
	inline := "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA512\n\n" + release +
		"-----BEGIN PGP SIGNATURE-----\n\niQIzBAEBCgAdFiEE\n=AAAA\n-----END PGP SIGNATURE-----\n"
	update := func(options, list string, files map[string]string) (*apt, error) {
		work, archive := t.TempDir(), t.TempDir()
		suite := filepath.Join(archive, "dists", "sid")
		require.NoError(t, os.MkdirAll(filepath.Join(suite, "main", "binary-amd64"), 0o755))
		write(t, filepath.Join(suite, "main", "binary-amd64", "Packages"), list, 0o644)
		for file, text := range files {
			write(t, filepath.Join(suite, file), text, 0o644)
		}
		sources := filepath.Join(work, "a.list")
		write(t, sources, "deb ["+options+"] copy:"+archive+" sid main\n", 0o644)
		a, err := newApt(work, "sid", AddOptions{AptSources: []string{sources}})
		require.NoError(t, err)
		return a, a.update(t.Context())
	}
	for name, files := range map[string]map[string]string{
		"no list":          {},
		"unsigned":         {"Release": release},
		"signed with dust": {"Release": release, "Release.gpg": "-----BEGIN PGP SIGNATURE-----\n\nAAAA\n-----END PGP SIGNATURE-----\n"},
		"signed in itself": {"InRelease": inline},
		"no signature":     {"InRelease": release},
		"garbage":          {"InRelease": strings.Repeat("\x00\x1b[2J", 1<<16)},
	} {
		a, err := update("arch=amd64", packages, files)
		_, refused := errors.AsType[*UnreachableError](err)
		require.True(t, refused, "%s: %v", name, err)
		assert.Less(t, len(err.Error()), 10_000, name)
		require.Error(t, a.download(t.Context(), []string{"openjdk-21-jdk-headless"}), name)
	}
	unsigned := map[string]string{"Release": release}
	_, err := update("arch=amd64 trusted=yes", packages, unsigned)
	require.NoError(t, err, "the host's administrator trusts it")
	_, err = update("arch=amd64 trusted=yes", strings.Replace(packages, "Version: 1", "Version: 2", 1), unsigned)
	require.Error(t, err, "a list of another digest")
}

// Lists that are older than what an earlier import saw are refused, although whoever made them is trusted.
func TestOldPackageLists(t *testing.T) {
	if _, err := exec.LookPath("apt-get"); err != nil {
		t.Skipf("needs apt: %v", err)
	}
	archive, dates := t.TempDir(), filepath.Join(t.TempDir(), aptDatesFile)
	release := filepath.Join(archive, "dists", "trixie", "Release")
	list := filepath.Join(archive, "dists", "trixie", "main", "binary-amd64", "Packages")
	require.NoError(t, os.MkdirAll(filepath.Dir(list), 0o755))
	const packages = "Package: openjdk-21-jdk-headless\nVersion: 1\nArchitecture: all\nFilename: x.deb\nSize: 1\nSHA256: 00\n\n"
	write(t, list, packages, 0o644)
	read := func(date string) error {
		write(t, release, "Origin: Debian\nSuite: trixie\nCodename: trixie\nComponents: main\nArchitectures: amd64 all\n"+
			"Date: "+date+"\nSHA256:\n"+
			fmt.Sprintf(" %x %d main/binary-amd64/Packages\n", sha256.Sum256([]byte(packages)), len(packages)), 0o644)
		work := t.TempDir()
		sources := filepath.Join(work, "a.list")
		write(t, sources, "deb [arch=amd64 trusted=yes] copy:"+archive+" trixie main\n", 0o644)
		a, err := newApt(work, "trixie", AddOptions{AptSources: []string{sources}})
		require.NoError(t, err)
		if err := a.update(t.Context()); err != nil {
			return err
		}
		return a.checkDates(t.Context(), dates)
	}
	require.NoError(t, read("Thu, 12 Nov 2020 10:00:00 UTC"))
	require.NoError(t, read("Fri, 13 Nov 2020 10:00:00 UTC"))
	require.NoError(t, read("Fri, 13 Nov 2020 10:00:00 UTC"), "the same again")
	err := read("Thu, 12 Nov 2020 10:00:00 UTC")
	require.ErrorContains(t, err, `suite "trixie": the archive shows its state of Thu, 12 Nov 2020 10:00:00 UTC, and showed that of `+
		"Fri, 13 Nov 2020 10:00:00 UTC before: its mirror is behind, or somebody replays old packages")
	require.NoError(t, os.Remove(dates))
	require.NoError(t, read("Thu, 12 Nov 2020 10:00:00 UTC"), "whoever removes the file accepts it")

	require.ErrorContains(t, read("yesterday"), "no date that can be read")
}

func TestLinesOfASearch(t *testing.T) {
	assert.Equal(t, []string{"openjdk-17", "openjdk-21"},
		foundJDKs("openjdk-21-jdk-headless - a JDK\n \n\nopenjdk-17-jdk-headless\n"))
	assert.Empty(t, foundJDKs("\n"))
}
