package check

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/bundle"
	"misstep/internal/testenv"
	"misstep/recipe"
)

// shows is a check of a program that shows JDK-8303444: a small one of this machine's, compiled with the workload clinit.
func shows(t *testing.T) (o Options, home string) {
	t.Helper()
	jars, err := filepath.Glob(filepath.Join(testenv.Root(), "build", "workloads", "clinit", "lib", "*.jar"))
	if err != nil || len(jars) == 0 {
		t.Skipf("the workload clinit is not built: run make workloads (%v)", err)
	}
	jdk := testenv.Catalogued(t, "jdk17")
	o, _, _ = options(t, jdk.Tool("java"), "-Xmx128m", "-Xcomp", "-XX:TieredStopAtLevel=1", "-cp", strings.Join(jars, ":"),
		"misstep.workloads.clinit.Main", "1")
	o.Checks, o.Interval = []string{recipe.GstAsgct + "=0.1", recipe.AsgctShadow}, 100*time.Microsecond
	o.Budget, o.Bundling = 0.05, Bundling{Dir: filepath.Join(t.TempDir(), "bundles"), Limit: 64 << 20}
	return o, filepath.Dir(filepath.Dir(jdk.Tool("java")))
}

// unpacked is the folder of the unpacked bundle of a known bug.
func unpacked(t *testing.T, r *Report, bug string) string {
	t.Helper()
	require.NotEmpty(t, r.Bundles)
	require.Equal(t, bug, r.Bugs[0].ID)
	require.Equal(t, r.Bugs[0].Findings[0], r.Bundles[0].Finding)
	assert.Contains(t, r.Bundles[0].String(), "bundle of "+r.Bundles[0].Finding+", "+bug+": ")
	b, err := bundle.Open(r.Bundles[0].File)
	require.NoError(t, err)
	defer b.Close()
	assert.Equal(t, bug, b.Reproducer().GetFinding().GetKnownAs())
	require.NotEmpty(t, b.Reproducer().GetEvidence())
	dir := filepath.Join(t.TempDir(), "bundle")
	require.NoError(t, b.Extract(dir))
	return dir
}

// repeated runs the one command of a bundle, with variables.
func repeated(dir, home string, env ...string) (output string, err error) {
	run := exec.Command("bash", filepath.Join(dir, "run.sh"), "-f", home)
	run.Env = append(os.Environ(), env...)
	run.Dir = filepath.Dir(dir)
	text, err := run.CombinedOutput()
	return string(text), err
}

func TestBundleWithClassPath(t *testing.T) {
	o, home := shows(t)
	o.Bundling.WithClassPath = true
	r, err := Run(t.Context(), o)
	require.NoError(t, err)
	output, err := repeated(unpacked(t, r, "JDK-8303444"), home)
	require.NoError(t, err, output)
	assert.Contains(t, output, "reproduced")
}

// A bundle without the program says what it needs, and repeats the finding with that.
func TestBundleWithoutClassPath(t *testing.T) {
	o, home := shows(t)
	r, err := Run(t.Context(), o)
	require.NoError(t, err)
	dir := unpacked(t, r, "JDK-8303444")
	jars, err := filepath.Glob(filepath.Join(dir, "workload", "*"))
	require.NoError(t, err)
	assert.Equal(t, []string{filepath.Join(dir, "workload", "workload.yaml")}, jars)
	readme, err := os.ReadFile(filepath.Join(dir, "README.md"))
	require.NoError(t, err)
	assert.Contains(t, string(readme), "Its main class and arguments were `misstep.workloads.clinit.Main 1`.")

	output, err := repeated(dir, home)
	require.ErrorContains(t, err, "exit status 2")
	assert.Contains(t, output, "set MISSTEP_CLASSPATH to its class path. Main class and arguments were: "+
		"misstep.workloads.clinit.Main 1")
	output, err = repeated(dir, home, "MISSTEP_CLASSPATH=no-such.jar")
	require.ErrorContains(t, err, "exit status 2")
	assert.Contains(t, output, "MISSTEP_CLASSPATH: no-such.jar is not there")
	classpath, err := filepath.Rel(filepath.Dir(dir), filepath.Join(testenv.Root(), "build", "workloads", "clinit", "lib"))
	require.NoError(t, err)
	output, err = repeated(dir, home, "MISSTEP_CLASSPATH="+classpath+"/*")
	require.NoError(t, err, output)
}

func TestProgramsThatCannotBeBundled(t *testing.T) {
	o, _ := shows(t)
	o.Bundling.WithClassPath, o.Bundling.Limit = true, 100
	_, err := Run(t.Context(), o)
	require.ErrorContains(t, err, "more than 100 B")
	o.Command = append(o.Command[:1:1], "-m", "m/Main")
	_, err = Run(t.Context(), o)
	require.ErrorContains(t, err, "--bundle")
}
