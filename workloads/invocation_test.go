package workloads_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/workloads"
)

func TestInvocationOfAPlainWorkload(t *testing.T) {
	dir := folder(t, "name: a\nmain: a.B\nclasspath: [lib/z.jar, 'lib/*']\narguments: [x, \"a b\"]\nrepetitions: 3\n"+
		"jvm_flags: [-Xmx1g]\n")
	write(t, filepath.Join(dir, "lib", "z.jar"), "jar")
	write(t, filepath.Join(dir, "lib", "b.jar"), "jar")
	m, err := workloads.Load(dir)
	require.NoError(t, err)
	scratch := t.TempDir()

	inv, err := m.Invocation(dir, nil, scratch)
	require.NoError(t, err)
	lib := filepath.Join(dir, "lib")
	assert.Equal(t, workloads.Invocation{
		JVMFlags: []string{"-Xmx1g"},
		Args: []string{
			"-Djava.io.tmpdir=" + scratch, "-Dmisstep.name=a", "-Dmisstep.repetitions=3", "-Dmisstep.scratch=" + scratch,
			"-cp", lib + "/z.jar:" + lib + "/b.jar:" + lib + "/z.jar", "a.B", "x", "a b",
		},
	}, inv)

	inv, err = m.Invocation(dir, &misstepv1.Workload{Arguments: []string{"y"}, Repetitions: 7}, scratch)
	require.NoError(t, err)
	assert.Contains(t, inv.Args, "-Dmisstep.repetitions=7")
	assert.Equal(t, []string{"a.B", "y"}, inv.Args[len(inv.Args)-2:])
}

func TestInvocationOfARenaissanceBenchmark(t *testing.T) {
	dir := folder(t, "name: renaissance\njar: r.jar\nharness: renaissance\nrepetitions: 2\n")
	write(t, filepath.Join(dir, "r.jar"), "jar")
	m, err := workloads.Load(dir)
	require.NoError(t, err)
	scratch := t.TempDir()

	inv, err := m.Invocation(dir, &misstepv1.Workload{Name: "renaissance/scrabble", Arguments: []string{"-c", "test"}}, scratch)
	require.NoError(t, err)
	assert.Equal(t, []string{
		"-Djava.io.tmpdir=" + scratch, "-jar", filepath.Join(dir, "r.jar"), "-r", "2", "--scratch-base", scratch,
		"-c", "test", "scrabble",
	}, inv.Args)

	for _, name := range []string{"renaissance", "renaissance/", "renaissance/--help", "scrabble", ""} {
		_, err := m.Invocation(dir, &misstepv1.Workload{Name: name}, scratch)
		assert.Error(t, err, name)
	}
}

func TestInvocationOfAProgram(t *testing.T) {
	dir := folder(t, "name: p\nmain: a.B\nclasspath: [lib]\nharness: program\nexit_code: 7\n")
	write(t, filepath.Join(dir, "lib", "a", "B.class"), "class")
	m, err := workloads.Load(dir)
	require.NoError(t, err)
	assert.Equal(t, 7, m.ExitCode)
	scratch := t.TempDir()
	inv, err := m.Invocation(dir, &misstepv1.Workload{Arguments: []string{"x"}}, scratch)
	require.NoError(t, err)
	assert.Equal(t, []string{"-Djava.io.tmpdir=" + scratch, "-cp", filepath.Join(dir, "lib"), "a.B", "x"}, inv.Args)

	dir = folder(t, "name: p\nmain: a.B\nharness: program\n")
	m, err = workloads.Load(dir)
	require.NoError(t, err)
	_, err = m.Invocation(dir, nil, scratch)
	require.ErrorContains(t, err, "run its run.sh with MISSTEP_CLASSPATH set")
}

func TestInvocationRefuses(t *testing.T) {
	dir := folder(t, "name: a\njar: a.jar\n")
	jar := filepath.Join(dir, "a.jar")
	write(t, jar, "jar")
	m, err := workloads.Load(dir)
	require.NoError(t, err)
	_, err = m.Invocation(dir, nil, "")
	require.ErrorContains(t, err, "no scratch folder")
	_, err = m.Invocation(t.TempDir(), nil, t.TempDir())
	require.ErrorContains(t, err, "a.jar does not exist")
	_, err = m.Invocation("/a:b", nil, t.TempDir())
	require.ErrorContains(t, err, "move it")
}
