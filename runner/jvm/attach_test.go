package jvm

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A workload may have put a link where the runner, perhaps as root, makes a file.
func TestAttachFollowsNoLink(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	victim := filepath.Join(t.TempDir(), "victim")
	require.NoError(t, os.WriteFile(victim, []byte("precious"), 0o600))
	require.NoError(t, os.Symlink(victim, fmt.Sprintf(".attach_pid%d", os.Getpid())))
	quit := func() { t.Error("nothing may be asked to listen") }
	_, err := attach(t.Context(), os.Getpid(), filepath.Join(dir, "no-socket"), quit)
	require.ErrorIs(t, err, os.ErrExist)
	text, err := os.ReadFile(victim)
	require.NoError(t, err)
	assert.Equal(t, "precious", string(text))
}
