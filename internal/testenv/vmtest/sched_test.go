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
	"misstep/internal/testenv"
)

// build compiles something of this checkout without cgo, so that it runs in any guest.
func build(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = testenv.Root()
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "go %v: %s", args, out)
}

// boot runs a command in a machine, or skips the test with the reason why there is none.
func boot(t *testing.T, c vm.Config, command ...string) (exit int, output string) {
	t.Helper()
	if testing.Short() {
		t.Skip("booting takes too long for -short")
	}
	c.Home = os.Getenv("MISSTEP_HOME")
	if c.Home == "" {
		c.Home = filepath.Join(testenv.Root(), "build", "home")
	}
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

// relay makes each test of the guest one here, with its verdict, and returns the names of those that passed.
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

// binary compiles a package's tests.
func binary(t *testing.T, folder string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o755))
	path := filepath.Join(dir, filepath.Base(folder)+".test")
	build(t, "test", "-c", "-o", path, "./"+folder)
	return path
}

// Everything but the JVM, in virtual time on one CPU: a busy host cannot make it fail.
func TestSchedulerInVirtualTime(t *testing.T) {
	path := binary(t, "bpf")
	c := vm.Config{Mode: vm.ModeDeterministic, Memory: 1024, Trees: []vm.Tree{{Host: path, Guest: "/bpf.test"}}}
	exit, output := boot(t, c, "/bpf.test", "-test.v", "-test.run", "^TestKernel", "-test.skip", "JVM", "-test.timeout", "60m")
	passed := relay(t, exit, output)
	assert.Contains(t, strings.Join(passed, "\n"), "TestKernelEachStrategyDoesItsWork/chaos", "a machine in which everything is skipped proves nothing")
}

// A JVM under each strategy, on two CPUs; and a trial whose scheduler the kernel takes out.
func TestJVMUnderTheScheduler(t *testing.T) {
	const both = `"$1" -test.v -test.run ^TestKernelCountersOfAJVM -test.timeout 25m; a=$?; "$2" -test.v -test.run ^TestKernelEjection -test.timeout 25m && exit $a`
	javac := testenv.Javac(t)
	java := filepath.Join(filepath.Dir(javac), "java")
	c := vm.Config{Mode: vm.ModeShared, Dir: "/", Env: []string{"MISSTEP_TEST_JAVA=" + java}}
	exit, output := boot(t, c, "/bin/sh", "-c", both, "sh", binary(t, "bpf"), binary(t, "runner/jvm"))
	passed := relay(t, exit, output)
	assert.Contains(t, strings.Join(passed, "\n"), "TestKernelCountersOfAJVM/chaos")
	assert.Contains(t, passed, "TestKernelEjectionVoidsATrial")
}
