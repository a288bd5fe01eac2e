package home

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestDirTakesTheFirstThatIsSet(t *testing.T) {
	t.Setenv("HOME", "/home/user")
	t.Setenv("XDG_DATA_HOME", "")
	t.Setenv("MISSTEP_HOME", "")
	assert.Equal(t, "/home/user/.local/share/misstep", Dir())

	t.Setenv("XDG_DATA_HOME", "relative/is/ignored")
	assert.Equal(t, "/home/user/.local/share/misstep", Dir())

	t.Setenv("XDG_DATA_HOME", "/data")
	assert.Equal(t, "/data/misstep", Dir())

	t.Setenv("MISSTEP_HOME", "/own")
	assert.Equal(t, "/own", Dir())

	t.Setenv("MISSTEP_HOME", "own")
	assert.True(t, filepath.IsAbs(Dir()))
}

func TestDirWithoutAHomeFolder(t *testing.T) {
	t.Setenv("HOME", "")
	t.Setenv("XDG_DATA_HOME", "")
	t.Setenv("MISSTEP_HOME", "")
	t.Setenv("TMPDIR", "/scratch")
	assert.Equal(t, "/scratch/misstep", Dir())
}
