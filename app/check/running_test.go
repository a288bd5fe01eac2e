package check

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestProcessesThatCannotBeAttachedTo(t *testing.T) {
	_, err := running(os.Getpid())
	require.ErrorContains(t, err, "has no libjvm.so")
	done := exec.Command("true")
	require.NoError(t, done.Run())
	_, err = running(done.Process.Pid)
	require.ErrorContains(t, err, "there is no process")
	left := exec.Command("true") // a zombie until it is waited for
	require.NoError(t, left.Start())
	var info unix.Siginfo
	require.NoError(t, unix.Waitid(unix.P_PID, left.Process.Pid, &info, unix.WEXITED|unix.WNOWAIT, nil))
	_, err = running(left.Process.Pid)
	require.ErrorContains(t, err, "has ended: nothing was checked")
	require.NoError(t, left.Wait())
	if os.Geteuid() != 0 {
		_, err = running(1)
		require.ErrorContains(t, err, "belongs to user 0")
		return
	}
	theirs := sleeping(t, &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}})
	_, err = running(theirs)
	require.ErrorContains(t, err, "sudo -u '#65534'")
	_, err = running(sleeping(t, &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}))
	require.ErrorContains(t, err, "is in a container")
}

// sleeping starts a process that sleeps until the test ends.
func sleeping(t *testing.T, how *syscall.SysProcAttr) int {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	cmd.SysProcAttr = how
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd.Process.Pid
}

func TestOptionsOfAProcess(t *testing.T) {
	dir := t.TempDir()
	of := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.WriteFile(of("cmdline"), []byte("java\x00-Xmx1g\x00-cp\x00a\x00Main\x00-XX:+Mine\x00"), 0o600))
	require.NoError(t, os.WriteFile(of("environ"), []byte("A=b\x00JAVA_TOOL_OPTIONS=-XX:+DisableAttachMechanism -Xrs\x00"), 0o600))
	flags, err := optionsOf(of)
	require.NoError(t, err)
	assert.Equal(t, []string{"-Xmx1g", "-cp=a", "-XX:+DisableAttachMechanism", "-Xrs"}, flags)
}

func TestSignalsThatAProcessHandles(t *testing.T) {
	assert.True(t, catches("SigIgn:\t0\nSigCgt:\t2000000181005ccf\nx", syscall.SIGQUIT))
	assert.False(t, catches("SigCgt:\t"+strconv.FormatUint(1<<(syscall.SIGTERM-1), 16), syscall.SIGQUIT))
	assert.False(t, catches("", syscall.SIGQUIT))
}
