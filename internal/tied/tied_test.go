package tied_test

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"misstep/internal/tied"
)

// fromEndingThread starts sleep on a thread that ends at once, and returns how sleep fared.
func fromEndingThread(t *testing.T, start func(*exec.Cmd) error) *os.ProcessState {
	t.Helper()
	cmd := exec.Command("sleep", "1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
		started <- start(cmd)
	}()
	require.NoError(t, <-started)
	_ = cmd.Wait()
	return cmd.ProcessState
}

// A program lives on when the caller's thread ends, which the command's own Start does not see to.
func TestProgramOutlivesTheCallersThread(t *testing.T) {
	require.True(t, fromEndingThread(t, tied.Start).Success())
	if os.Getpid() != syscall.Gettid() {
		require.False(t, fromEndingThread(t, (*exec.Cmd).Start).Success(), "the fault that this package is for")
	}
}

// A program does not outlive the process that started it.
func TestProgramEndsWithThisProcess(t *testing.T) {
	if os.Getenv("TIED_PARENT") != "" {
		cmd := exec.Command("sleep", "60")
		cmd.Stdout = os.Stdout // held open for as long as sleep runs
		require.NoError(t, tied.Start(cmd))
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	parent := exec.Command(os.Args[0], "-test.run", "^TestProgramEndsWithThisProcess$")
	parent.Env = append(os.Environ(), "TIED_PARENT=1")
	began := time.Now()
	_, err := parent.Output() // ends when nobody holds its standard output
	require.ErrorContains(t, err, "killed")
	require.Less(t, time.Since(began), 30*time.Second)
}

func TestProgramThatIsNotThere(t *testing.T) {
	require.Error(t, tied.Start(exec.Command("/nonexistent")))
}
