package vmtest

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/deploy/vm"
	"misstep/deploy/vm/kernel"
	"misstep/internal/testenv"
)

// build runs a go command in this checkout without cgo, so that the result runs in any guest.
func build(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = testenv.Root()
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "go %v: %s", args, out)
}

// home returns the folder in which kernels are cached: the one that make uses.
func home() string {
	if dir := os.Getenv("MISSTEP_HOME"); dir != "" {
		return dir
	}
	return filepath.Join(testenv.Root(), "build", "home")
}

// boot runs a command in a virtual machine, or skips the test with the reason why there is none.
func boot(t *testing.T, c vm.Config, command ...string) (exit int, output string) {
	t.Helper()
	if testing.Short() {
		t.Skip("booting takes too long for -short")
	}
	c.Home = home()
	c.Guest = filepath.Join(t.TempDir(), "init")
	build(t, "build", "-trimpath", "-ldflags", "-s -w", "-o", c.Guest, "./deploy/vm/guest")
	c.Root = true // loading a scheduler needs it
	c.Limit = 25 * time.Minute
	c.Log = t.Logf
	var stdout, stderr bytes.Buffer
	exit, err := vm.Run(t.Context(), c, command, &stdout, &stderr)
	if errors.Is(err, vm.ErrUnavailable) {
		t.Skip(err)
	}
	require.NoError(t, err, "%s%s", &stdout, &stderr)
	return exit, stdout.String() + stderr.String()
}

var verdict = regexp.MustCompile(`(?m)^ *--- (PASS|FAIL|SKIP): (\S+)`)

// relay reports each test of the guest as a subtest with its verdict, and returns the names of those that passed.
func relay(t *testing.T, exit int, output string) (passed []string) {
	t.Helper()
	verdicts := verdict.FindAllStringSubmatch(output, -1)
	require.NotEmpty(t, verdicts, "exit code %d: %s", exit, output)
	for _, v := range verdicts {
		t.Run(v[2], func(t *testing.T) {
			switch v[1] {
			case "PASS":
				passed = append(passed, v[2])
			case "SKIP":
				t.Skip("skipped in the guest")
			default:
				t.Fail()
			}
		})
	}
	if exit != 0 {
		t.Errorf("exit code %d in the guest:\n%s", exit, output)
	} else {
		t.Log(output)
	}
	return passed
}

// binary compiles the tests of a package and returns the path.
func binary(t *testing.T, folder string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o755))
	path := filepath.Join(dir, filepath.Base(folder)+".test")
	build(t, "test", "-c", "-o", path, "./"+folder)
	return path
}

// All tests except those with a JVM, in virtual time on one CPU: a busy host cannot make them fail.
func TestSchedulerInVirtualTime(t *testing.T) {
	path := binary(t, "bpf")
	c := vm.Config{Mode: vm.ModeDeterministic, Memory: 1024, Trees: []vm.Tree{{Host: path, Guest: "/bpf.test"}}}
	exit, output := boot(t, c, "/bpf.test", "-test.v", "-test.run", "^TestKernel", "-test.skip", "JVM", "-test.timeout", "60m")
	passed := relay(t, exit, output)
	assert.Contains(t, strings.Join(passed, "\n"), "TestKernelEachStrategyDoesItsWork/chaos",
		"a machine in which everything is skipped proves nothing")
}

// On the newest kernel of each suite that has one, the verifier accepts the program within its bounds, and the program perturbs a
// process.
func TestSchedulerOnEachKernel(t *testing.T) {
	if testing.Short() {
		t.Skip("booting takes too long for -short")
	}
	path := binary(t, "bpf")
	booted := map[string]kernel.Suite{} // by the package's version
	for _, suite := range kernel.Suites() {
		t.Run(suite.String(), func(t *testing.T) {
			fetcher := kernel.Fetcher{Cache: filepath.Join(home(), "cache", "vm", "kernel"), Suite: suite, Log: t.Logf}
			k, err := fetcher.Get(t.Context())
			if err != nil {
				t.Skipf("no kernel of %s can be obtained: %v", suite, err)
			}
			if other, ok := booted[k.Version]; ok {
				t.Skipf("its kernel %s is that of %s", k.Version, other)
			}
			booted[k.Version] = suite
			c := vm.Config{
				Mode: vm.ModeDeterministic, Suite: suite, Memory: 1024,
				Trees: []vm.Tree{{Host: path, Guest: "/bpf.test"}},
			}
			const verify = `uname -r && exec /bpf.test -test.v -test.timeout 10m -test.run '` +
				`^TestKernelVerifierComplexity$|^TestKernelReplayStopsThreadsAtPlaces$|^TestKernelEachStrategyDoesItsWork$/^chaos$'`
			exit, output := boot(t, c, "/bin/sh", "-c", verify)
			release, _, _ := strings.Cut(output, "\n")
			require.Equal(t, k.Release, release, "as the guest reports it: results of another kernel prove nothing about this one")
			passed := relay(t, exit, output)
			if len(passed) == 0 && !t.Failed() {
				t.Skipf("kernel %s lacks what the scheduler needs: %s", k.Release, output)
			}
			assert.Subset(t, passed, []string{"TestKernelVerifierComplexity", "TestKernelEachStrategyDoesItsWork/chaos"})
		})
	}
}

// A JVM under each strategy, on two CPUs; and a trial whose scheduler the kernel ejects.
func TestJVMUnderTheScheduler(t *testing.T) {
	const both = `"$1" -test.v -test.run ^TestKernelCountersOfAJVM -test.timeout 25m; a=$?; ` +
		`"$2" -test.v -test.run ^TestKernelEjection -test.timeout 25m && exit $a`
	javac := testenv.Javac(t)
	java := filepath.Join(filepath.Dir(javac), "java")
	c := vm.Config{Mode: vm.ModeShared, Dir: "/", Env: []string{"MISSTEP_TEST_JAVA=" + java}}
	exit, output := boot(t, c, "/bin/sh", "-c", both, "sh", binary(t, "bpf"), binary(t, "runner/jvm"))
	passed := relay(t, exit, output)
	assert.Contains(t, strings.Join(passed, "\n"), "TestKernelCountersOfAJVM/chaos")
	assert.Contains(t, passed, "TestKernelEjectionVoidsATrial")
}
