package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A JVM runs in a folder of its own, where a relative path of the catalogue would lead nowhere.
func TestARelativeHomeIsMadeAbsolute(t *testing.T) {
	t.Chdir(t.TempDir())
	want, err := filepath.Abs("catalogue")
	require.NoError(t, err)
	e := &env{cli: &cli{Home: "catalogue"}}
	assert.Equal(t, want, e.installation().Home)
}
