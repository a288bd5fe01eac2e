package strictyaml_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"misstep/internal/strictyaml"
)

type match struct {
	Kind  string   `yaml:"kind"`
	Parts []string `yaml:"parts"`
}

type entry struct {
	ID      string        `yaml:"id"`
	Every   time.Duration `yaml:"every,omitempty"`
	Own     bool          `yaml:"own"`
	Count   int           `yaml:"count"`
	Matches []match       `yaml:"matches"`
}

// What is wrong is said with its line and with what is expected, without Go's names of types.
func TestErrors(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{
			"list for text", "- id: [a, b]\n",
			"line 1: expected text, got a list",
		},
		{
			"text for a list", "- id: a\n  matches:\n  - {kind: crash, parts: all}\n",
			"line 3: expected a list, whose entries are each text, got text (all)",
		},
		{
			"mapping at the top", "id: a\n",
			"line 1: expected a list, whose entries are each a mapping with the fields id, every, own, count, matches, got a mapping",
		},
		{
			"list for a mapping", "- [a]\n",
			"line 1: expected a mapping with the fields id, every, own, count, matches, got a list",
		},
		{"no boolean", "- own: maybe\n", "line 1: expected true or false, got text (maybe)"},
		{"no number", "- count: many\n", "line 1: expected a number, got text (many)"},
		{"no duration", "- every: sometimes\n", "line 1: expected a duration such as 30s or 6h, got text (sometimes)"},
		{
			"unknown field", "- id: a\n  matchs: []\n",
			"line 2: unknown field \"matchs\": expected the fields id, every, own, count, matches",
		},
		{
			"syntax", "- id: \"a\n", "no valid YAML: line 2: found unexpected end of stream: look at quotes, colons and the indentation " +
				"there, which is by spaces",
		},
		{"two documents", "- id: a\n---\n- id: b\n", "line 2: expected one document, found a second: remove the line ---"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var entries []entry
			require.EqualError(t, strictyaml.Decode([]byte(c.text), &entries), c.want)
		})
	}
}

// A hostile file does not fill a terminal.
func TestErrorsAreBounded(t *testing.T) {
	var entries []entry
	err := strictyaml.Decode([]byte(strings.Repeat("- [x]\n", 20_000)), &entries)
	require.ErrorContains(t, err, "; and 19995 more")
	require.Less(t, len(err.Error()), 2000)
	err = strictyaml.Decode([]byte("- "+strings.Repeat("f", 1<<20)+": 1\n"), &entries)
	require.Less(t, len(err.Error()), 400)
}

func TestWhatIsRight(t *testing.T) {
	var entries []entry
	require.NoError(t, strictyaml.Decode([]byte("- {id: a, every: 6h, matches: [{kind: crash, parts: [a, b]}]}\n"), &entries))
	require.Equal(t, []entry{{ID: "a", Every: 6 * time.Hour, Matches: []match{{"crash", []string{"a", "b"}}}}}, entries)
	for _, empty := range []string{"", "# nothing\n"} {
		entries = nil
		require.NoError(t, strictyaml.Decode([]byte(empty), &entries))
		require.Empty(t, entries)
	}
}
