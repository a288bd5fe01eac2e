package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLookPath(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "program")
	require.NoError(t, os.WriteFile(program, nil, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "text"), nil, 0o644))
	env := []string{"PATH=/nonexistent:" + dir}
	for _, c := range []struct{ name, want, problem string }{
		{"program", program, ""},
		{program, program, ""},
		{"./program", program, ""},
		{"text", "", "text is not in the guest's PATH"},
		{"absent", "", "absent is not in the guest's PATH /nonexistent:" + dir},
		{"./absent", "", "is not in the guest"},
	} {
		got, err := lookPath(c.name, dir, env)
		if c.problem != "" {
			require.ErrorContains(t, err, c.problem)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, c.want, got)
	}
}
