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

// guestPath is the guest's init, built from the current sources: an embedded one may be older.
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

// bootForTest boots a machine in a separate process, for tests that kill it.
func bootForTest(command string) int {
	c := Config{Mode: ModeDeterministic, Home: os.Getenv("MISSTEP_TEST_HOME"), Guest: os.Getenv("MISSTEP_TEST_GUEST"), Memory: 512}
	exit, err := Run(context.Background(), c, []string{"sh", "-c", command}, os.Stdout, os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 125
	}
	return exit
}

// testHome returns the folder in which kernels are cached: the one that make uses.
func testHome() string {
	if dir := os.Getenv("MISSTEP_HOME"); dir != "" {
		return dir
	}
	return filepath.Join(testenv.Root(), "build", "home")
}

// machineConfig returns the configuration of a machine for a test, or skips the test with a message that names what is missing.
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
		t.Skipf("no kernel with sched_ext is available: %v", err)
	}
	return c
}
