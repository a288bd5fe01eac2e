package vm

import (
	"bytes"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFramesAreReadToTheirEnd(t *testing.T) {
	f, err := newFrames(t.TempDir())
	require.NoError(t, err)
	defer f.close()
	ended := make(chan struct{})
	f.ended = ended
	chunk := bytes.Repeat([]byte("0123456789abcdef"), 1<<16) // 1 MiB
	const chunks = 3 * framesKept >> 20
	go func() {
		for range chunks {
			_, _ = f.write.Write(chunk) // the reader falls behind: the file accepts everything at once
		}
		time.Sleep(3 * framesPoll)
		_, _ = f.write.WriteString("end")
		close(ended)
	}()
	data, err := io.ReadAll(f)
	require.NoError(t, err)
	assert.Len(t, data, chunks<<20+3)
	assert.Equal(t, bytes.Repeat(chunk, chunks), data[:len(data)-3])
	assert.Positive(t, f.freed)
}
