package bundle

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/signature"
)

// A bundle that was written before signatures had versions shows its finding under today's id.
func TestABundleOfVersion0(t *testing.T) {
	b, err := Open("testdata/version0.zip")
	require.NoError(t, err)
	defer b.Close()
	assert.Equal(t, "F313247774e0d", b.WrittenAs())
	f := b.Reproducer().GetFinding()
	assert.Equal(t, "F598b0c04d78c", f.GetId())
	assert.Equal(t, []string{"F313247774e0d"}, f.GetFormerIds())
	assert.Equal(t, uint32(signature.Version), f.GetSignature().GetVersion())
	assert.Equal(t, f.GetId(), signature.ID(f.GetSignature()))
	e := ExpectOf(f)
	assert.Equal(t, []string{"gst-asgct", "truncated"}, []string{e.Check, e.MismatchKind})

	c := sample(t)
	c.Reproducer.Finding.Id, c.Reproducer.Finding.Signature = f.GetId(), f.GetSignature()
	now, err := read(build(t, c))
	require.NoError(t, err)
	assert.Equal(t, f.GetId(), now.WrittenAs())
	d, err := Diff(b, now)
	require.NoError(t, err)
	assert.Empty(t, d.Finding, "the same finding in the words of two versions")
}
