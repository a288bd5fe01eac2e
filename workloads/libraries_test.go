package workloads_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/workloads"
)

// TestBugsOfLibraries runs the programs that show bugs of libraries: with the fixed versions none shows; with the others those do
// that need neither a perturbation nor ten seconds of a hang.
func TestBugsOfLibraries(t *testing.T) {
	dir := filepath.Join(builtDir(t), "..", "libraries")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("the programs are not built; run mvn -q -f workloads/pom.xml package")
	}
	java := tool(t, "java")
	judge := func(name, bug, rounds string, flags ...string) *misstepv1.ApplicationFailure {
		folder := filepath.Join(dir, name)
		m, err := workloads.Load(folder)
		require.NoError(t, err)
		inv, err := m.Invocation(folder, &misstepv1.Workload{Repetitions: 1, Arguments: []string{bug, rounds}}, t.TempDir())
		require.NoError(t, err)
		exit, stdout, stderr := run(t, java, slices.Concat(flags, inv.JVMFlags, inv.Args)...)
		return m.Judge(exit, stdout, stderr)
	}
	for _, bug := range []string{"pool-clear", "disruptor-halt", "log4j-render", "gson-cycle"} {
		t.Run(bug, func(t *testing.T) { assert.Nil(t, judge("libraries-fixed", bug, "100")) })
	}
	// The interpreter's stores are far enough apart for threads to meet between them.
	t.Run("lang-hash", func(t *testing.T) { assert.Nil(t, judge("libraries-fixed", "lang-hash", "1000", "-Xint")) })
	failure := judge("libraries", "lang-hash", "50000", "-Xint")
	require.NotNil(t, failure)
	assert.Contains(t, failure.GetMessage(), "the hash of a range was")
	failure = judge("libraries", "gson-cycle", "50000")
	require.NotNil(t, failure)
	assert.Contains(t, failure.GetMessage(), "java.lang.IllegalStateException")
	failure = judge("libraries", "no-such", "1")
	require.NotNil(t, failure)
	assert.Contains(t, failure.GetMessage(), "want lang-hash, pool-clear")
}
