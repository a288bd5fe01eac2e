package bench

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestStoreResumesAfterAKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cells.jsonl")
	add := func(want []int, more ...int) {
		s, err := OpenStore[int](path)
		require.NoError(t, err)
		require.Equal(t, want, s.Entries)
		for _, n := range more {
			require.NoError(t, s.Add(n))
		}
		require.NoError(t, s.Close())
	}
	add(nil, 1, 2)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	require.NoError(t, err)
	_, err = f.WriteString("33") // an incomplete line
	require.NoError(t, err)
	require.NoError(t, f.Close())
	add([]int{1, 2}, 4)
	add([]int{1, 2, 4})
	require.NoError(t, os.WriteFile(path, []byte("1\n{\n2\n"), 0o600))
	_, err = OpenStore[int](path)
	require.ErrorContains(t, err, path)
	require.ErrorContains(t, err, "remove the file")
}
