package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	since   = "# Changelog\n\nText.\n\n## Unreleased\n\n### Added\n\n- a\n"
	nothing = "# Changelog\n\n## Unreleased\n\n"
	third   = "## 0.3.0 (2026-12-24)\n\n- c\n\n"
	older   = "## 0.2.0 (2026-11-01)\n\n- b\n"
)

// A release is the first section of CHANGELOG.md with changes; a development version needs no heading of its own.
func TestAReleaseHasItsChanges(t *testing.T) {
	for _, c := range []struct{ changelog, version, problem string }{
		{third + older, "0.3.0", ""},
		{nothing + third + older, "0.3.0", ""},
		{since, "0.1.0-dev", ""},
		{since + older, "0.3.0-dev", ""},
		{since, "0.1.0", `VERSION says 0.1.0, and CHANGELOG.md begins with Unreleased: give the changes of the release the heading "## 0.1.0`},
		{since + third, "0.3.0", "begins with Unreleased"},
		{third + older, "0.2.0", "begins with 0.3.0"},
		{older, "0.3.0", "begins with 0.2.0"},
		{"## 0.3.0 (2026-12-24)\n\n" + older, "0.3.0", "begins with 0.2.0"},
		{"## 0.3.0\n\n- no day\n", "0.3.0", "begins with no release"},
		{"", "0.3.0", "begins with no release"},
		{third, "0.3", `VERSION says "0.3": expected N.N.N`},
		{third, "v0.3.0", "expected N.N.N"},
		{third, "0.3.0-rc1", "expected N.N.N"},
		{third, "", "expected N.N.N"},
	} {
		err := told(c.changelog, c.version)
		if c.problem == "" {
			require.NoError(t, err, "%q of %q", c.version, c.changelog)
			continue
		}
		require.ErrorContains(t, err, c.problem, "%q of %q", c.version, c.changelog)
	}
}

// What this repository has can be packed, and make dist says what is missing for a release.
func TestWhatIsMissingIsTold(t *testing.T) {
	text, err := os.ReadFile("../../VERSION")
	require.NoError(t, err)
	require.NoError(t, run([]string{"-check", "-version", string(bytes.TrimSpace(text))}))
	require.ErrorContains(t, run([]string{"-check", "-version", "99.0.0"}), "VERSION says 99.0.0")

	root := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(root, "CHANGELOG.md"), []byte(third), 0o600))
	say := func(version string) string {
		var said bytes.Buffer
		require.NoError(t, release{Root: root, Version: version}.ready(&said))
		return said.String()
	}
	assert.Contains(t, say("0.4.0-dev"), "0.4.0-dev is a development version")
	assert.Contains(t, say("0.3.0"), "there is no LICENSE")
	require.NoError(t, os.WriteFile(filepath.Join(root, licence), []byte("text"), 0o600))
	assert.Empty(t, say("0.3.0"))
}

// Without a licence the package has everything else; with one it is where Debian looks for it.
func TestLicenceOfTheDebianPackage(t *testing.T) {
	r := release{Version: "0.3.0", Out: t.TempDir(), Time: when}
	var names []string
	for _, p := range placed {
		names = append(names, p.from)
	}
	folder(t, r.folder(), names...)
	holds := func() bool {
		all, err := r.contents()
		require.NoError(t, err)
		for _, c := range all {
			if c.Destination == "/usr/share/doc/misstep/copyright" {
				return true
			}
		}
		return false
	}
	assert.True(t, holds())
	require.NoError(t, os.Remove(filepath.Join(r.folder(), licence)))
	assert.False(t, holds())
	require.NoError(t, os.Remove(filepath.Join(r.folder(), "CHANGELOG.md")))
	_, err := r.contents()
	require.ErrorIs(t, err, os.ErrNotExist, "nothing else may be missing")
}
