package jfrcheck

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"misstep/runner/recording"
)

// A chunk behind the one before it, of which nothing could be read, is the next one; one inside of it is of another file.
func TestJoinedAt(t *testing.T) {
	first := recording.Head{Offset: 0, Bytes: 100, Start: 1}
	for name, c := range map[string]struct {
		head recording.Head
		want int64
	}{
		"cut in the second chunk": {recording.Head{Offset: 100, Bytes: 200, Start: 2}, 0},
		"another file's chunk":    {recording.Head{Offset: 60, Bytes: 200, Start: 2}, 60},
		"a header of a flush":     {recording.Head{Offset: 60, Bytes: 60, Start: 1}, 0},
	} {
		assert.Equal(t, c.want, joinedAt([]recording.Head{first, c.head}, []int64{0}, 150), name)
	}
}
