package executors

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/corpus"
	"misstep/corpus/memory"
	misstepv1 "misstep/proto/misstep/v1"
)

func TestTailOfStderr(t *testing.T) {
	blobs := memory.New()
	tail := func(text string) string {
		d, _, err := blobs.Put(t.Context(), strings.NewReader(text), corpus.DigestBytes([]byte(text)))
		require.NoError(t, err)
		got, err := stderrTail(t.Context(), blobs, &misstepv1.Outcome{Evidence: []*misstepv1.Evidence{{
			Name:   "stderr.txt",
			Digest: d.String(),
		}}})
		require.NoError(t, err)
		return got
	}
	assert.Equal(t, "bad option\n", tail("bad option\n"))
	long := strings.Repeat("0123456789\n", 1000)
	got := tail(long + "bad option\n")
	assert.LessOrEqual(t, len(got), tailBytes)
	assert.True(t, strings.HasPrefix(got, "0123456789\n") && strings.HasSuffix(got, "\nbad option\n"), got)
	none, err := stderrTail(t.Context(), blobs, &misstepv1.Outcome{})
	require.NoError(t, err)
	assert.Empty(t, none)
}
