package jdk

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// signedArchive is an apt archive of one suite, signed with a key of its own by GnuPG.
type signedArchive struct {
	root, gnupg, key, dates string
}

// A private key and the suite's only package, which does not exist.
func newSignedArchive(t *testing.T) signedArchive {
	t.Helper()
	for _, tool := range []string{"apt-get", "gpg", "gpgconf"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("needs apt and gpg: %v", err)
		}
	}
	gnupg, err := os.MkdirTemp("", "gpg") //nolint:usetesting // a short path: it holds the agent's socket
	require.NoError(t, err)
	s := signedArchive{root: t.TempDir(), gnupg: gnupg, dates: filepath.Join(t.TempDir(), aptDatesFile)}
	t.Cleanup(func() {
		s.run(t, "gpgconf", "--kill", "all")
		require.NoError(t, os.RemoveAll(gnupg))
	})
	s.gpg(t, "--passphrase", "", "--quick-generate-key", "archive@example.org", "ed25519", "sign", "never")
	s.key = filepath.Join(s.root, "archive.asc")
	s.gpg(t, "--armor", "--output", s.key, "--export", "archive@example.org")
	return s
}

func (s signedArchive) gpg(t *testing.T, arguments ...string) {
	t.Helper()
	s.run(t, "gpg", append([]string{"--batch", "--yes", "--pinentry-mode", "loopback"}, arguments...)...)
}

func (s signedArchive) run(t *testing.T, tool string, arguments ...string) {
	t.Helper()
	cmd := exec.Command(tool, arguments...)
	cmd.Env = append(os.Environ(), "GNUPGHOME="+s.gnupg)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s %v: %s", tool, arguments, out)
}

// publish signs a state of the suite; fields are further lines of its Release file.
func (s signedArchive) publish(t *testing.T, fields string) {
	t.Helper()
	const packages = "Package: openjdk-21-jdk-headless\nVersion: 1\nArchitecture: all\nFilename: x.deb\nSize: 1\nSHA256: 00\n\n"
	suite := filepath.Join(s.root, "dists", "trixie")
	write(t, filepath.Join(suite, "main", "binary-amd64", "Packages"), packages, 0o644)
	write(t, filepath.Join(suite, "Release"), "Origin: Debian\nSuite: trixie\nCodename: trixie\nComponents: main\n"+
		"Architectures: amd64 all\n"+fields+"SHA256:\n"+
		fmt.Sprintf(" %x %d main/binary-amd64/Packages\n", sha256.Sum256([]byte(packages)), len(packages)), 0o644)
	s.gpg(t, "--clear-sign", "--output", filepath.Join(suite, "InRelease"), filepath.Join(suite, "Release"))
}

// read is what an import does before it downloads packages, with a key that the host trusts for this archive. Whether a state may
// be past its time is said here, since the host's apt may be set either way.
func (s signedArchive) read(t *testing.T, key, checkValidUntil string) error {
	t.Helper()
	work := t.TempDir()
	sources := filepath.Join(work, "a.list")
	options := "arch=amd64 signed-by=" + key + " check-date=yes check-valid-until=" + checkValidUntil
	write(t, sources, "deb ["+options+"] copy:"+s.root+" trixie main\n", 0o644)
	a, err := newApt(work, "trixie", AddOptions{AptSources: []string{sources}})
	require.NoError(t, err)
	if err := a.update(t.Context()); err != nil {
		return err
	}
	return a.checkDates(t.Context(), s.dates)
}

// Whoever holds back an archive's newer states, or shows old ones again, has valid signatures for what he shows.
func TestSignedArchives(t *testing.T) {
	s := newSignedArchive(t)
	const (
		first  = "Date: Thu, 12 Nov 2020 10:00:00 UTC\n"
		second = "Date: Fri, 13 Nov 2020 10:00:00 UTC\n"
		valid  = "Valid-Until: Thu, 12 Nov 2099 10:00:00 UTC\n"
	)
	s.publish(t, first+valid)
	require.NoError(t, s.read(t, s.key, "yes"))

	s.publish(t, first+"Valid-Until: Thu, 19 Nov 2020 10:00:00 UTC\n")
	err := s.read(t, s.key, "yes")
	require.ErrorContains(t, err, `apt cannot read suite "trixie"`)
	require.ErrorContains(t, err, "is expired")
	require.ErrorContains(t, err, s.root, "which archive")
	require.NoError(t, s.read(t, s.key, "no"), "the host's administrator accepts it")

	s.publish(t, second+valid)
	require.NoError(t, s.read(t, s.key, "yes"))
	s.publish(t, first+valid)
	err = s.read(t, s.key, "yes")
	require.ErrorContains(t, err, `suite "trixie": the archive shows its state of Thu, 12 Nov 2020 10:00:00 UTC, and showed that of `+
		"Fri, 13 Nov 2020 10:00:00 UTC before")
	require.ErrorContains(t, err, s.dates)

	s.publish(t, second+valid)
	other := newSignedArchive(t)
	err = s.read(t, other.key, "yes")
	require.ErrorContains(t, err, `apt cannot read suite "trixie"`, "signed by somebody whom the host does not trust")
}
