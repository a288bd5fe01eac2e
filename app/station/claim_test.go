package station

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// Of two coordinators that start on one new store at once, the second finds no note, and then the blobs of the first: they are its
// store's, too, if the first has noted so.
func TestAClaimAtTheSameTime(t *testing.T) {
	const id = "cae0eced208c4734"
	for name, c := range map[string]struct{ faster, want string }{
		"same store":    {ownerLine + id + " postgres://h/d\n", ""},
		"another store": {ownerLine + "0123456789abcdef postgres://h/e\n", "belong to the store 0123456789abcdef (postgres://h/e)"},
		"nobody":        {"", "are of a store that is not known"},
	} {
		t.Run(name, func(t *testing.T) {
			err := claim{owner: owner{id, "postgres://h/d"}}.on(t.Context(), &overtaken{faster: c.faster})
			if c.want == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.want)
			}
		})
	}
}

// overtaken is a place without a note in which, once that was read, another process writes one, and blobs.
type overtaken struct {
	place
	faster string
	read   bool
}

func (o *overtaken) String() string { return "s3://b/p" }

func (o *overtaken) note(context.Context) (string, error) {
	if !o.read {
		o.read = true
		return "", nil
	}
	return o.faster, nil
}

func (o *overtaken) empty(context.Context) (bool, error) { return false, nil }
