package bundle

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	misstepv1 "misstep/proto/misstep/v1"
)

func TestDiff(t *testing.T) {
	first := sample(t)
	a, err := read(build(t, first))
	require.NoError(t, err)
	same, err := Diff(a, a)
	require.NoError(t, err)
	assert.True(t, same.Equal())

	second := sample(t)
	r := second.Reproducer
	r.Recipe.JvmFlags = []string{"-Xcomp", "-XX:TieredStopAtLevel=1"}
	r.Recipe.Seed = 43
	r.Recipe.Jdk.Name = "seventeen"
	r.Finding.Signature.Parts[2] = "upcall loadClass"
	r.Finding.Example.Mismatches[0].Suspect.Frames = frames("a.B#work")
	r.OtherJdks = nil
	r.Reliability = &misstepv1.Reliability{Hits: 9, Tries: 10, Low: 0.6, High: 0.98}
	second.Command.JVMFlags = r.Recipe.JvmFlags
	b, err := read(build(t, second))
	require.NoError(t, err)
	d, err := Diff(a, b)
	require.NoError(t, err)
	assert.False(t, d.Equal())
	assert.Equal(t, []Change{{Field: "signature.parts[2]", A: "upcall <clinit>", B: "upcall loadClass"}}, d.Finding)
	assert.Equal(t, []Change{{Field: "jvm_flags[1]", B: "-XX:TieredStopAtLevel=1"}, {Field: "seed", A: "42", B: "43"}}, d.Recipe)
	assert.Equal(t, []Change{{Field: "measured", B: "9 of 10 (0.600–0.980)"}}, d.Rates)
	require.Len(t, d.Jdks, 2)
	assert.Equal(t, "25", d.Jdks[0].Field, "no digest: by name")
	require.Len(t, d.Stacks, 1)
	assert.Equal(t, "asgct", d.Stacks[0].Side)
	assert.Contains(t, d.Stacks[0].Text, "< a.B.<clinit>")
	var files []string
	for _, f := range d.Files {
		files = append(files, f.Field)
	}
	assert.Contains(t, files, "run.sh")
	assert.Contains(t, files, "standalone/WalkerTest.java")
	assert.NotContains(t, files, "README.md")
	assert.NotContains(t, files, "agent/libmisstep.so")

	findings, err := Compare(a.Reproducer().GetFinding(), b.Reproducer().GetFinding())
	require.NoError(t, err)
	assert.Equal(t, d.Finding, findings.Finding)
	assert.Equal(t, d.Stacks, findings.Stacks)
	assert.Empty(t, findings.Files)
	findings, err = Compare(a.Reproducer().GetFinding(), a.Reproducer().GetFinding())
	require.NoError(t, err)
	assert.True(t, findings.Equal())
}
