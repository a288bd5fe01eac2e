package capped

import (
	"bufio"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReadLineCutsAndReadsOn(t *testing.T) {
	long := strings.Repeat("x", 50) // longer than the reader's buffer
	in := bufio.NewReaderSize(strings.NewReader("ab\r\n"+long+"\n\nlast"), 16)
	var buffer []byte
	for _, want := range []string{"ab", long[:20], ""} {
		line, err := ReadLine(in, buffer[:0], 20)
		require.NoError(t, err)
		assert.Equal(t, want, string(line))
		buffer = line
	}
	line, err := ReadLine(in, buffer[:0], 20)
	require.ErrorIs(t, err, io.EOF)
	assert.Equal(t, "last", string(line))
}
