package vm

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/internal/testenv"
)

func testenvJavac(t *testing.T) string {
	t.Helper()
	javac, err := filepath.EvalSymlinks(testenv.Javac(t))
	require.NoError(t, err)
	return javac
}

// machines returns the processes that have dir in their command line.
func machines(t *testing.T, dir string) (pids []string) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	for _, path := range all {
		if line, err := os.ReadFile(path); err == nil && strings.Contains(string(line), dir) {
			pids = append(pids, filepath.Base(filepath.Dir(path)))
		}
	}
	return pids
}

func TestTheLimitEndsAMachine(t *testing.T) {
	c := machineConfig(t, ModeDeterministic)
	t.Setenv("TMPDIR", t.TempDir())
	c.Limit = 2 * time.Second // less than a boot
	_, err := Run(t.Context(), c, []string{"true"}, nil, nil)
	require.ErrorIs(t, err, ErrLimit)
	assert.Empty(t, machines(t, os.Getenv("TMPDIR")), "no process is left running")
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	require.NoError(t, err)
	assert.Empty(t, left, "nothing is left")
}

func TestCancellingEndsAMachineAndItsDaemon(t *testing.T) {
	c := machineConfig(t, ModeShared)
	c.Accel = AccelTCG
	t.Setenv("TMPDIR", t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := Run(ctx, c, []string{"true"}, nil, nil)
		done <- err
	}()
	require.Eventually(t, func() bool { return len(machines(t, os.Getenv("TMPDIR"))) > 0 }, time.Minute, 10*time.Millisecond)
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	assert.Empty(t, machines(t, os.Getenv("TMPDIR")))
}

func TestAKilledProcessTakesItsMachineAlong(t *testing.T) {
	t.Parallel()
	c := machineConfig(t, ModeDeterministic)
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "MISSTEP_TEST_BOOT=true", "MISSTEP_TEST_HOME="+c.Home, "MISSTEP_TEST_GUEST="+c.Guest,
		"TMPDIR="+dir)
	require.NoError(t, cmd.Start())
	require.Eventually(t, func() bool { return len(machines(t, dir)) > 0 }, time.Minute, time.Millisecond)
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	require.Eventually(t, func() bool { return len(machines(t, dir)) == 0 }, 10*time.Second, 10*time.Millisecond,
		"qemu outlives the process that started it")

	left, err := filepath.Glob(filepath.Join(dir, scratchPrefix+"[0-9]*"))
	require.NoError(t, err)
	require.NotEmpty(t, left)
	sweep(dir)
	left, err = filepath.Glob(filepath.Join(dir, scratchPrefix+"[0-9]*"))
	require.NoError(t, err)
	assert.Empty(t, left, "the next machine removes them")
}

func TestADeadGuestIsReportedWithItsConsole(t *testing.T) {
	t.Parallel()
	c := machineConfig(t, ModeDeterministic)
	broken := filepath.Join(t.TempDir(), "init")
	require.NoError(t, os.WriteFile(broken, []byte("#!/nonexistent\n"), 0o755))
	c.Guest = broken
	_, err := Run(t.Context(), c, []string{"true"}, nil, nil)
	require.ErrorIs(t, err, ErrDied)
	assert.Contains(t, err.Error(), "Kernel panic", "the console's end says why")
}
