package chunks_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"misstep/internal/testenv"
	"misstep/runner/judge/altered"
)

// Each change of bytes of a real recording is found, as what it is, unless nothing in the recording contradicts it.
func TestChangedBytesAreFound(t *testing.T) {
	h := helper(t)
	data, err := os.ReadFile(record(t, testenv.Catalogued(t, "jdk25"), "mix"))
	require.NoError(t, err)
	whole, err := altered.Split(data)
	require.NoError(t, err)
	require.Greater(t, len(whole), 1)
	for _, tt := range altered.OfBytes {
		t.Run(tt.Class, func(t *testing.T) {
			copied := slices.Clone(data)
			split, err := altered.Split(copied)
			require.NoError(t, err)
			chunks, err := tt.Apply(rand.New(rand.NewPCG(1, 2)), split)
			require.NoError(t, err)
			changed := bytes.Join(chunks, nil)
			require.NotEqual(t, data, changed)
			file := filepath.Join(t.TempDir(), "changed.jfr")
			require.NoError(t, os.WriteFile(file, changed, 0o600))
			v := judgedFiles(t, h, file)
			if tt.Kind == "" {
				require.Empty(t, v.Mismatches)
				return
			}
			found := false
			for _, m := range v.Mismatches {
				found = found || m.GetKind() == tt.Kind && m.GetRecordingFault().GetType() == tt.Type
			}
			require.True(t, found, "want %s of %q, got %v", tt.Kind, tt.Type, v.Mismatches)
		})
	}
}
