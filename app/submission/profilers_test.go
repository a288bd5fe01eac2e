package submission

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"misstep/deploy/jdk"
	misstepv1 "misstep/proto/misstep/v1"
)

// A JDK without JFR is named once, however many alternatives have it, and for no other profiler.
func TestJDKsThatLackAProfiler(t *testing.T) {
	entry := jdk.Entry{Name: "old", Feature: 8, Path: t.TempDir()}
	alternatives := []*misstepv1.Profiler{
		{Name: "none"}, {Name: "jfr"}, {Name: "jfr", Options: []string{"maxchunksize=1M"}}, {Name: "async-profiler"},
	}
	lacking, err := lackProfilers(entry, alternatives)
	require.NoError(t, err)
	require.Len(t, lacking, 1)
	require.Equal(t, "old", lacking[0].GetJdk())
	require.Equal(t, "jfr", lacking[0].GetProfiler())
	require.Contains(t, lacking[0].GetReason(), "has no JFR")
	require.Empty(t, lacking[0].GetWorkload())

	require.NoError(t, os.MkdirAll(filepath.Join(entry.Path, "jre", "lib", "jfr"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(entry.Path, "jre", "lib", "jfr", "default.jfc"), nil, 0o600))
	lacking, err = lackProfilers(entry, alternatives)
	require.NoError(t, err)
	require.Empty(t, lacking)

	_, err = lackProfilers(entry, []*misstepv1.Profiler{{Name: "honest"}})
	require.ErrorContains(t, err, `unknown profiler "honest"`)
}
