package shorten

import (
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
)

func TestWholeCharactersAreKept(t *testing.T) {
	const text = "añb€c"
	for limit, want := range []string{"…", "a…", "a…", "añ…", "añb…", "añb…", "añb…", "añb€…", text, text} {
		assert.Equal(t, want, To(text, limit), limit)
		assert.True(t, utf8.ValidString(To(text, limit)))
	}
}
