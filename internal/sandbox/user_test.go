package sandbox

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMappedUsers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "uid_map")
	require.NoError(t, os.WriteFile(file, []byte("         0       1000          1\n         1     100000      65536\n"), 0o600))
	for id, want := range map[uint64]bool{0: true, 1: true, nobody: true, 65536: true, 65537: false, firstOwn: false} {
		assert.Equal(t, want, mapped(id, file), id)
	}
	assert.False(t, mapped(0, file+"-missing"))
}

func TestOwnUsers(t *testing.T) {
	for range 100 {
		u := ownUser()
		assert.True(t, IsOwn(u.Uid))
		assert.Equal(t, u.Uid, u.Gid)
	}
	assert.False(t, IsOwn(nobody))
	assert.False(t, IsOwn(firstOwn+ownUsers))
}
