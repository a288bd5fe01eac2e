package kernel

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseSuite(t *testing.T) {
	for _, s := range Suites() {
		got, err := ParseSuite(s.String())
		require.NoError(t, err)
		assert.Equal(t, s, got)
	}
	assert.Len(t, Suites(), len(suiteNames))
	for _, name := range []string{"", "trixie", "SID", "../sid"} {
		_, err := ParseSuite(name)
		require.ErrorContains(t, err, `: expected sid, testing, trixie-backports or experimental`)
	}
}

func TestEachSuiteHasItsOwnNewest(t *testing.T) {
	cache := filepath.Join(t.TempDir(), "kernel")
	for folder, version := range map[string]string{
		"kernel": "7.2.13-1", "kernel-testing": "7.2.12-1",
		"kernel-experimental": "7.3~rc7-1~exp1",
	} {
		dir := filepath.Join(filepath.Dir(cache), folder, version)
		require.NoError(t, os.MkdirAll(dir, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, metaFile), []byte(`{"version": "`+version+`"}`), 0o644))
	}
	for suite, version := range map[Suite]string{
		Sid: "7.2.13-1", Testing: "7.2.12-1", TrixieBackports: "",
		Experimental: "7.3~rc7-1~exp1",
	} {
		k, ok, err := Fetcher{Cache: cache, Suite: suite}.Cached()
		require.NoError(t, err)
		assert.Equal(t, version != "", ok, suite)
		assert.Equal(t, version, k.Version, suite)
	}
}
