package signature

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCompletes(t *testing.T) {
	whole := Crash{
		Error: "SIGSEGV", Frame: "V frame::sender", Walker: []string{"AsyncGetCallTrace"}, Thread: "Java", Operation: "none",
	}
	with := func(change func(*Crash)) Crash {
		c := whole
		change(&c)
		return c
	}
	noWalker := with(func(c *Crash) { c.Walker = []string{Unknown} })
	head := with(func(c *Crash) { c.Walker, c.Thread, c.Operation = []string{Unknown}, Unknown, Unknown })
	for _, c := range []struct {
		name        string
		whole, part Crash
		want        bool
	}{
		{"an unknown walker", whole, noWalker, true},
		{"the head only", whole, head, true},
		{"less of the same", noWalker, head, true},
		{"the other way round", head, whole, false},
		{"itself", whole, whole, false},
		{"an unknown part in itself", head, head, false},
		{"none is not unknown", whole, with(func(c *Crash) { c.Walker = nil }), false},
		{"another error", whole, with(func(c *Crash) { c.Error, c.Thread = "SIGBUS", Unknown }), false},
		{"another frame", whole, with(func(c *Crash) { c.Frame, c.Thread = "V frame::is_java_frame", Unknown }), false},
		{"another thread", whole, with(func(c *Crash) { c.Thread, c.Walker = "GC", []string{Unknown} }), false},
		{
			"each knows something else",
			with(func(c *Crash) { c.Operation = Unknown }), with(func(c *Crash) { c.Thread = Unknown }), false,
		},
		{"nothing but the signal", whole, with(func(c *Crash) { c.Frame = UnknownFrame }), false},
		{
			"nothing but the assertion",
			with(func(c *Crash) { c.Error = "Internal Error codeCache.cpp guarantee(x) failed" }),
			with(func(c *Crash) { c.Error, c.Frame = "Internal Error codeCache.cpp guarantee(x) failed", UnknownFrame }), true,
		},
		{
			"an unknown caller",
			with(func(c *Crash) { c.Frame = "C memcpy called by C libzip.so ZIP_GetEntry2" }),
			with(func(c *Crash) { c.Frame = "C memcpy called by (unknown)" }), true,
		},
		{
			"an unknown caller of another function",
			with(func(c *Crash) { c.Frame = "C memcpy called by C libzip.so ZIP_GetEntry2" }),
			with(func(c *Crash) { c.Frame = "C strlen called by (unknown)" }), false,
		},
	} {
		assert.Equal(t, c.want, c.whole.Completes(c.part), c.name)
	}
	assert.True(t, head.Partial())
	assert.False(t, whole.Partial())
	assert.False(t, with(func(c *Crash) { c.Walker = nil }).Partial(), "no walker is known")
	back, err := Parse(Text(head))
	require.NoError(t, err)
	assert.Equal(t, head, back, "unknown parts survive the text form")
}
