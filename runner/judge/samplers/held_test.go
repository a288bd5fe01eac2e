package samplers

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestHeldReadsItsLines(t *testing.T) {
	j := New(Options{})
	require.NoError(t, j.Held(strings.NewReader(`misstep: stack 1 a.B.hold:7 a.B$C.<init>:0
something else
misstep: held 1 9 2000000000 3000000000
misstep: held 1 9 500000000 900000000
misstep: cpu 9 1500
misstep: still verified 2 repetitions
misstep: held 1 9 9999`)), "the last line is not whole")
	require.Len(t, j.held[9], 2)
	assert.Equal(t, int64(500000000), j.held[9][0].begin, "by time")
	first := j.held[9][1]
	assert.Equal(t, int64(3000000000), first.end)
	require.Len(t, first.stack, 2)
	assert.Equal(t, methodName{"a.B", "hold"}, j.stacks.names[first.stack[0].name])
	assert.Equal(t, methodName{"a.B$C", "<init>"}, j.stacks.names[first.stack[1].name])
	assert.Equal(t, int32(7), first.stack[0].line)
	assert.Equal(t, 1500*time.Nanosecond, j.cpu[9])
}

func TestBrokenLinesAreNamed(t *testing.T) {
	for line, says := range map[string]string{
		"misstep: held 1 9 1 2":                        "line 1: stack 1 is not known",
		"misstep: held 1 9 1":                          "3 words: expected 4",
		"misstep: held 1 x 1 2":                        `"x" is not a number`,
		"misstep: cpu 1 -5":                            `"-5" is not a number`,
		"misstep: stack 1 ab:7":                        `"ab:7" is not CLASS.METHOD:LINE`,
		"misstep: stack 1 a.b":                         `"a.b" is not CLASS.METHOD:LINE`,
		"misstep: stack 1":                             "without frames",
		"misstep: stack 1 java.lang.MisstepShadow.x:1": "without frames",
	} {
		assert.ErrorContains(t, New(Options{}).Held(strings.NewReader(line+"\n")), says, line)
	}
}

func TestLongLinesOfTheProgramArePassedOver(t *testing.T) {
	j := New(Options{})
	require.NoError(t, j.Held(strings.NewReader(strings.Repeat("x", 3*maxLine)+"\nmisstep: cpu 9 1500\n")))
	assert.Len(t, j.cpu, 1)
}

func FuzzHeld(f *testing.F) {
	f.Add("misstep: stack 1 a.B.hold:7\nmisstep: held 1 9 2 3\nmisstep: cpu 9 1500\n")
	f.Add("misstep: stack 1 :\nmisstep: stack 2 .:\n")
	f.Fuzz(func(t *testing.T, text string) {
		j := New(Options{})
		_ = j.Held(strings.NewReader(text))
		for thread, spans := range j.held {
			for _, s := range spans {
				if len(s.stack) == 0 {
					t.Errorf("an empty stack stood on %d", thread)
				}
			}
		}
		_, _, _ = j.standing(9, 2, 3)
	})
}
