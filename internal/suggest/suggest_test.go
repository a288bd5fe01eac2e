package suggest_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"misstep/internal/suggest"
)

func TestAmong(t *testing.T) {
	have := []string{"mix", "renaissance/scrabble", "churn", "renaissance/philosophers", "mix"}
	const (
		all   = " (there are: churn, mix, renaissance/philosophers, renaissance/scrabble)"
		suite = " (there are: renaissance/philosophers, renaissance/scrabble)"
	)
	for name, want := range map[string]string{
		"mxi":                    ", did you mean mix?" + all,
		"nothing-like-it":        all,
		"renaissance/scrable":    ", did you mean renaissance/scrabble?" + suite,
		"renaissance/dotty":      suite,
		"renaisance/scrabble":    ", did you mean renaissance/scrabble?" + all,
		strings.Repeat("m", 200): all,
	} {
		assert.Equal(t, want, suggest.Among(name, have), name)
	}
	assert.Equal(t, " (there is none)", suggest.Among("mix", nil))
}

func TestQuote(t *testing.T) {
	assert.Equal(t, `"a\n"`, suggest.Quote("a\n"))
	assert.Equal(t, `"`+strings.Repeat("x", 80)+`…"`, suggest.Quote(strings.Repeat("x", 81)))
}

// Of several messages only the first has the list; another list is shown when it comes first.
func TestOnce(t *testing.T) {
	have := []string{"churn", "mix", "renaissance/scrabble"}
	var once suggest.Once
	assert.Equal(t, " (there are: churn, mix, renaissance/scrabble)", once.Among("nothing", have))
	assert.Empty(t, once.Among("nothing-either", have))
	assert.Equal(t, ", did you mean mix?", once.Among("mxi", have))
	assert.Equal(t, " (there are: renaissance/scrabble)", once.Among("renaissance/dotty", have))
	assert.Empty(t, once.Among("renaissance/neo4j", have))
}
