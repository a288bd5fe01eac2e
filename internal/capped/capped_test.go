package capped

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheFirstBytesAreKept(t *testing.T) {
	for limit, want := range map[int]string{0: "", 4: "abcd", 6: "abcdef", 100: "abcdef"} {
		var kept bytes.Buffer
		w := New(&kept, limit)
		for _, part := range []string{"abc", "", "def"} {
			n, err := fmt.Fprint(w, part)
			require.NoError(t, err)
			assert.Equal(t, len(part), n, "dropping is not an error")
		}
		assert.Equal(t, want, kept.String())
		assert.Equal(t, len(want) < 6, w.Dropped())
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestErrorsArePassedOn(t *testing.T) {
	_, err := New(full{}, 10).Write([]byte("x"))
	require.ErrorContains(t, err, "disk full")
	_, err = New(full{}, 0).Write([]byte("x"))
	require.NoError(t, err, "nothing is written beyond the limit")
}
