package jvm

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A process that spins is not starved, even on a busy machine; one that the kernel gives a thousandth of a CPU is.
func TestWatchThreads(t *testing.T) {
	cmd := exec.Command("sh", "-c", "while :; do :; done")
	require.NoError(t, cmd.Start())
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	require.Eventually(t, func() bool {
		threads, starved := watchThreads(t.Context(), cmd.Process.Pid)
		return len(threads) == 1 && threads[0].GetRunning() > 0.1 && !starved
	}, 20*time.Second, time.Millisecond)

	throttle(t, cmd.Process.Pid)
	require.Eventually(t, func() bool { // the first period may be one from before
		_, starved := watchThreads(t.Context(), cmd.Process.Pid)
		return starved
	}, 20*time.Second, time.Millisecond)

	asleep := exec.Command("sleep", "60")
	require.NoError(t, asleep.Start())
	defer func() { _ = asleep.Process.Kill(); _ = asleep.Wait() }()
	_, starved := watchThreads(t.Context(), asleep.Process.Pid)
	assert.False(t, starved, "who sleeps lacks nothing")
}

// throttle puts a process into a cgroup that may run for 1 ms of each second.
func throttle(t *testing.T, pid int) {
	group := filepath.Join("/sys/fs/cgroup/cpu", "misstep-test-"+strconv.Itoa(os.Getpid()))
	if err := os.Mkdir(group, 0o755); err != nil {
		t.Skipf("no cgroup of version 1 for CPU time can be made here: %v", err)
	}
	t.Cleanup(func() {
		data, _ := os.ReadFile(filepath.Join(group, "cgroup.procs"))
		_ = os.WriteFile("/sys/fs/cgroup/cpu/cgroup.procs", data, 0)
		_ = os.Remove(group)
	})
	for file, value := range map[string]string{
		"cpu.cfs_period_us": "1000000", "cpu.cfs_quota_us": "1000",
		"cgroup.procs": strconv.Itoa(pid),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(group, file), []byte(value), 0))
	}
}
