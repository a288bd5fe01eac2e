package workloads_test

import (
	"archive/zip"
	"encoding/binary"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/deploy/jdk"
	"misstep/internal/testenv"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/workloads"
)

// builtDir returns the folder into which Maven writes the workloads.
func builtDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "build", "workloads"))
	require.NoError(t, err)
	if _, err := os.Stat(dir); err != nil {
		t.Skip("the workloads are not built; run mvn -q -f workloads/pom.xml package")
	}
	return dir
}

// feature returns java's feature version.
func feature(t *testing.T, java string) int {
	t.Helper()
	out, err := exec.Command(java, "-version").CombinedOutput()
	require.NoError(t, err)
	found := regexp.MustCompile(`version "(?:1\.)?(\d+)`).FindSubmatch(out)
	require.NotNil(t, found, "%s", out)
	n, err := strconv.Atoi(string(found[1]))
	require.NoError(t, err)
	return n
}

// small holds arguments with which the test of all workloads takes seconds; workloads not listed are small by default.
var small = map[string][]string{
	"deopt":         {"10"},
	"epilogue":      {"2000"},
	"churn":         {"20"},
	"exceptions":    {"2000", "7"},
	"forkjoin":      {"100000", "7"},
	"hangs":         {"all", "2", "7"},
	"h2":            {"3", "300", "7"},
	"indy-link":     {"5"},
	"lucene":        {"500", "7"},
	"mix":           {"2000", "7"},
	"pekko":         {"8", "20000"},
	"scala3":        {"20"},
	"still":         {"20", "4", "7"},
	"stubs":         {"4"},
	"upcalls":       {"2", "7"},
	"vthread-yield": {"8", "100"},
}

// compiledFor returns the oldest feature version that can load a class of a workload's own jars, 0 for a class that is in none.
func compiledFor(t *testing.T, folder, class string) int {
	t.Helper()
	jars, err := filepath.Glob(filepath.Join(folder, "lib", "misstep-*.jar"))
	require.NoError(t, err)
	for _, jar := range jars {
		archive, err := zip.OpenReader(jar)
		require.NoError(t, err)
		defer archive.Close()
		file, err := archive.Open(strings.ReplaceAll(class, ".", "/") + ".class")
		if err != nil {
			continue
		}
		defer file.Close()
		head := make([]byte, 8) // JVMS 4.1: magic, minor and major version
		_, err = io.ReadFull(file, head)
		require.NoError(t, err)
		return int(binary.BigEndian.Uint16(head[6:])) - 44
	}
	return 0
}

// TestBuiltWorkloadsVerify runs each built workload once, natively, and asserts that it verifies its result and leaves no files.
func TestBuiltWorkloadsVerify(t *testing.T) {
	dir, java := builtDir(t), tool(t, "java")
	manifests, err := filepath.Glob(filepath.Join(dir, "*", workloads.ManifestFile))
	require.NoError(t, err)
	require.NotEmpty(t, manifests)
	for _, manifest := range manifests {
		folder := filepath.Dir(manifest)
		t.Run(filepath.Base(folder), func(t *testing.T) {
			m, err := workloads.Load(folder)
			require.NoError(t, err)
			assert.Equal(t, filepath.Base(folder), m.Name)
			assert.LessOrEqual(t, compiledFor(t, folder, m.Main), m.MinFeature, "%s is compiled for a newer JDK than min_feature in "+
				"workload.yaml says: set min_feature, or maven.compiler.release in pom.xml", m.Main)
			java := java
			if feature(t, java) < m.MinFeature {
				newer, err := jdk.Open(testenv.Home(t)).Get("jdk25")
				require.NoError(t, err)
				java = filepath.Join(newer.Path, "bin", "java")
			}
			scratch := t.TempDir()
			inv, err := m.Invocation(folder, &misstepv1.Workload{Repetitions: 1, Arguments: small[m.Name]}, scratch)
			require.NoError(t, err)
			exit, stdout, stderr := run(t, java, append(inv.JVMFlags, inv.Args...)...)
			assert.Nil(t, m.Judge(exit, stdout, stderr), "%s%s", stdout, stderr)
			left, err := os.ReadDir(scratch)
			require.NoError(t, err)
			for _, file := range left {
				// HotSpot's own counters, which it sometimes removes after its end.
				assert.Contains(t, file.Name(), "hsperfdata", "left behind")
			}
		})
	}
}

// TestHarnessProtocol runs the real harness to each possible end and judges the result.
func TestHarnessProtocol(t *testing.T) {
	dir, java, javac := builtDir(t), tool(t, "java"), tool(t, "javac")
	jars, err := filepath.Glob(filepath.Join(dir, "mix", "lib", "harness-*.jar"))
	require.NoError(t, err)
	require.Len(t, jars, 1)
	workload := folder(t, "name: protocol\nmain: Protocol\nclasspath: [harness.jar, classes]\n")
	require.NoError(t, os.Symlink(jars[0], filepath.Join(workload, "harness.jar")))
	classes := filepath.Join(workload, "classes")
	out, err := exec.Command(javac, "-cp", jars[0], "-d", classes,
		filepath.Join("testdata", "harness", "Protocol.java")).CombinedOutput()
	require.NoError(t, err, "%s", out)
	m, err := workloads.Load(workload)
	require.NoError(t, err)
	for how, want := range map[string]string{
		"fine":    "",
		"thread":  "",
		"invalid": "validation: sum: expected 1, got 2",
		"throw":   "exception: java.lang.IllegalStateException: thrown on purpose",
		"heap":    "memory: java.lang.OutOfMemoryError",
		"silent":  "validation: exit 0, but stdout lacks",
	} {
		t.Run(how, func(t *testing.T) {
			scratch := t.TempDir()
			inv, err := m.Invocation(workload, &misstepv1.Workload{Arguments: []string{how}, Repetitions: 2}, scratch)
			require.NoError(t, err)
			exit, stdout, stderr := run(t, java, append([]string{"-Xmx32m"}, inv.Args...)...)
			assertFailure(t, want, m.Judge(exit, stdout, stderr))
			left, err := filepath.Glob(filepath.Join(scratch, "repetition*"))
			require.NoError(t, err)
			assert.Empty(t, left)
		})
	}
}
