package process

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The kernel bounds what has a controller: in a hierarchy of its own, or in version 2 if groups below have it.
func TestUnbounded(t *testing.T) {
	unified := t.TempDir()
	delegate := func(controllers string) {
		require.NoError(t, os.WriteFile(filepath.Join(unified, "cgroup.subtree_control"), []byte(controllers), 0o600))
	}
	all := []string{"memory", Tasks}
	require.Equal(t, all, Cgroups{}.Unbounded())
	require.Equal(t, all, Cgroups{unified: unified}.Unbounded())
	delegate("cpu\n")
	require.Equal(t, all, Cgroups{unified: unified}.Unbounded())
	require.Equal(t, all[:1], Cgroups{unified: unified, pids: "/p"}.Unbounded())
	require.Equal(t, all[1:], Cgroups{unified: unified, memory: "/m"}.Unbounded())
	delegate("cpu memory pids\n")
	require.Empty(t, Cgroups{unified: unified}.Unbounded())
}
