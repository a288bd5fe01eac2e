package recording

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Whoever can write the recording can make the helper's own texts long, or lack what they should have: that is a problem of the
// recording, not an error of the reading, which would lose the trial.
func TestForgedChunks(t *testing.T) {
	class := func(attributes []string, fields ...element) element {
		return element{"root", nil, []element{{"metadata", nil, []element{{"class", attributes, fields}}}}}
	}
	list := readers(t)
	for name, c := range map[string]struct {
		chunk []byte
		// want is what the own reader says, and the helper.
		want, helper string
	}{
		"a long text": {
			forged(class([]string{"id", "7", "name", "a.B"}, element{"field", []string{"name", "f", "class", strings.Repeat("x", 2<<20)}, nil})),
			`constants: "xxx`, `constants: "xxx`,
		},
		"a class without a name": {
			forged(class([]string{"id", "7", "name", "a.B"}, element{"field", []string{"name", "f", "class", "8"}, nil},
				element{"class", []string{"id", "8"}, nil}), appendValues(nil, 7, 1)),
			"after 0 events of the chunk:  is no primitive type", "constants: ",
		},
		"a long name of a type": {
			forged(class([]string{"id", "7", "name", strings.Repeat("n", 2<<20), "superType", "jdk.jfr.Event"}), appendValues(nil, 7)),
			"", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			for name, want := range map[string]string{"own": c.want, "helper": c.helper} {
				o := readBytes(t, list[name], c.chunk, Limits{})
				require.Len(t, o.chunks, 1)
				for _, p := range o.problems {
					t.Log(p)
					assert.Less(t, len(p.Message), 1000)
				}
				if want != "" {
					require.NotEmpty(t, o.problems)
					require.Contains(t, o.problems[0].Message, want)
					require.Equal(t, Layout, o.problems[0].Kind)
				}
			}
		})
	}
}
