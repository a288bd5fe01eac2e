package vm

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"misstep/internal/testenv"
)

// guestPath is the guest's init, built from these very sources: an embedded one may be older.
var guestPath string

func TestMain(m *testing.M) {
	if command := os.Getenv("MISSTEP_TEST_BOOT"); command != "" {
		os.Exit(bootForTest(command))
	}
	dir, err := os.MkdirTemp("", "misstep-test-vm-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	guestPath = filepath.Join(dir, "init")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", guestPath, "./guest")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building the guest: %v\n%s", err, out)
		os.Exit(2)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// bootForTest is a process of its own that boots a machine, for tests that kill it.
func bootForTest(command string) int {
	c := Config{Mode: ModeDeterministic, Home: os.Getenv("MISSTEP_TEST_HOME"), Guest: os.Getenv("MISSTEP_TEST_GUEST"), Memory: 512}
	exit, err := Run(context.Background(), c, []string{"sh", "-c", command}, os.Stdout, os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 125
	}
	return exit
}

// testHome is where kernels are cached: the folder that make uses.
func testHome() string {
	if dir := os.Getenv("MISSTEP_HOME"); dir != "" {
		return dir
	}
	return filepath.Join(testenv.Root(), "build", "home")
}

// machineConfig returns a configuration for a machine of a test, or skips the test by the name of what is missing.
func machineConfig(t *testing.T, mode Mode) Config {
	t.Helper()
	if testing.Short() {
		t.Skip("booting takes too long for -short")
	}
	if _, err := findQEMU(); err != nil {
		t.Skip(err)
	}
	if mode == ModeShared {
		if _, err := findVirtiofsd(); err != nil {
			t.Skip(err)
		}
	} else if _, _, err := findBusybox(); err != nil {
		t.Skip(err)
	}
	c := Config{
		Mode: mode, Home: testHome(), Guest: guestPath, Memory: 512, Limit: 8 * time.Minute, Log: t.Logf, EvidenceDir: t.TempDir(),
	}
	if _, err := c.kernels().Get(t.Context()); err != nil {
		t.Skipf("no kernel with sched_ext can be had: %v", err)
	}
	return c
}
