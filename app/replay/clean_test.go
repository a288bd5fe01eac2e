package replay

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/app/local"
	"misstep/corpus/memory"
	"misstep/deploy/jdk"
	"misstep/internal/testenv"
	misstepv1 "misstep/proto/misstep/v1"
)

// A bundle is tried on the very build of its reproducer: from the catalogue, else from the coordinator's corpus, never on what
// JAVA_HOME names.
func TestBundleIsTriedOnItsOwnBuild(t *testing.T) {
	catalogue := jdk.Open(testenv.Home(t))
	entry, err := catalogue.Get("jdk17")
	require.NoError(t, err)
	t.Setenv("JAVA_HOME", entry.Path)
	own := &misstepv1.Jdk{Name: "jdk17", Digest: entry.Digest.String(), Version: entry.Version}

	home, err := sameBuild(t.Context(), local.Installation{Home: testenv.Home(t)}, memory.New(), own)
	require.NoError(t, err)
	assert.Empty(t, home, "the catalogue has it")

	_, err = sameBuild(t.Context(), local.Installation{Home: t.TempDir()}, memory.New(), own)
	require.ErrorContains(t, err, entry.Digest.String())
	require.ErrorContains(t, err, "jdk17")
	require.ErrorContains(t, err, "--clean-tries 0")
}
