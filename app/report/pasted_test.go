package report_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What is pasted into a tracker lacks its number signs, is quoted or emphasised, and ends early; it is the same crash.
func TestPastedErrorFiles(t *testing.T) {
	head, _, found := strings.Cut(crashed, "#\n\n-----")
	require.True(t, found)
	want := one(t, "whole.log", []byte(head))
	bare := strings.ReplaceAll(strings.ReplaceAll(head, "# ", ""), "#", "")
	for name, text := range map[string]string{
		"bare":                      bare,
		"after prose":               "It died with\n\n" + bare + "\nand that was all. # no idea\n",
		"quoted":                    "> " + strings.ReplaceAll(strings.TrimSpace(bare), "\n", "\n> ") + "\n",
		"quoted, with number signs": "> " + strings.ReplaceAll(strings.TrimSpace(head), "\n", "\n> ") + "\n",
		"emphasised":                strings.Replace(bare, "Problematic frame:", "**Problematic frame:**", 1),
	} {
		got := one(t, "pasted.log", []byte(text))
		assert.Equal(t, want.ID, got.ID, name)
		assert.Equal(t, want.Signature, got.Signature, name)
	}
	whole := strings.ReplaceAll(strings.ReplaceAll(crashed, "# ", ""), "#\n", "\n")
	assert.Equal(t, one(t, "whole.log", []byte(crashed)).ID, one(t, "pasted.log", []byte(whole)).ID, "its stacks are read, too")
}

// Words about crashes are no crash, and a report that follows them is read.
func TestProseIsNoErrorFile(t *testing.T) {
	prose := "The log says: A fatal error has been detected by the Java Runtime Environment:\nWhat can I do?\n"
	_, err := answer(t, "question.txt", []byte(prose))
	require.ErrorContains(t, err, "neither an error file")
	assert.Equal(t, one(t, "whole.log", []byte(crashed)).ID, one(t, "question.txt", []byte(prose+crashed)).ID)
}

// The JVM's report of a deadlock is often all that is copied of a dump; it is the deadlock of the whole dump.
func TestPastedDeadlock(t *testing.T) {
	const pasted = `Found one Java-level deadlock:
=============================
"right":
  waiting to lock monitor 0x00007f17a0003820 (object 0x00000000fc0dd0e0, a java.lang.Object),
  which is held by "left"
"left":
  waiting to lock monitor 0x00007f17a0003910 (object 0x00000000fc0dd0f0, a java.lang.Object),
  which is held by "right"

Java stack information for the threads listed above:
===================================================
"right":
	at demo.Cross.right(Cross.java:4)
	- waiting to lock <0x00000000fc0dd0e0> (a java.lang.Object)
	- locked <0x00000000fc0dd0f0> (a java.lang.Object)
	at java.lang.Thread.run(java.base@17.0.15/Thread.java:840)
"left":
	at demo.Cross.left(Cross.java:3)
	- waiting to lock <0x00000000fc0dd0f0> (a java.lang.Object)
	- locked <0x00000000fc0dd0e0> (a java.lang.Object)
	at java.lang.Thread.run(java.base@17.0.15/Thread.java:840)

Found 1 deadlock.
`
	want := one(t, "whole.txt", []byte(hung))
	for name, text := range map[string]string{
		"alone": pasted, "in a comment": "     * " + strings.ReplaceAll(pasted, "\n", "\n     * "),
		"cut": pasted[:strings.LastIndex(pasted, "\tat java.lang")],
	} {
		assert.Equal(t, want.ID, one(t, "pasted.txt", []byte(text)).ID, name)
	}
}
