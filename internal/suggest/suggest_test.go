package suggest_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"misstep/internal/suggest"
)

func TestAmong(t *testing.T) {
	have := []string{"mix", "renaissance/scrabble", "churn", "renaissance/philosophers", "mix"}
	for name, want := range map[string]string{
		"mxi":                    ", did you mean mix? (there are: churn, mix, renaissance/philosophers, renaissance/scrabble)",
		"nothing-like-it":        " (there are: churn, mix, renaissance/philosophers, renaissance/scrabble)",
		"renaissance/scrable":    ", did you mean renaissance/scrabble? (there are: renaissance/philosophers, renaissance/scrabble)",
		"renaissance/dotty":      " (there are: renaissance/philosophers, renaissance/scrabble)",
		"renaisance/scrabble":    ", did you mean renaissance/scrabble? (there are: churn, mix, renaissance/philosophers, renaissance/scrabble)",
		strings.Repeat("m", 200): " (there are: churn, mix, renaissance/philosophers, renaissance/scrabble)",
	} {
		assert.Equal(t, want, suggest.Among(name, have), name)
	}
	assert.Equal(t, " (there is none)", suggest.Among("mix", nil))
}

func TestQuote(t *testing.T) {
	assert.Equal(t, `"a\n"`, suggest.Quote("a\n"))
	assert.Equal(t, `"`+strings.Repeat("x", 80)+`…"`, suggest.Quote(strings.Repeat("x", 81)))
}
