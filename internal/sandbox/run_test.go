package sandbox

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// What a program leaves ends with it, also what holds its pipes and has left its session.
func TestNothingIsLeftOfAProgram(t *testing.T) {
	asRoot(t)
	s := open(t, Policy{})
	if !s.own {
		t.Skip("this machine gives programs no users of their own")
	}
	for name, script := range map[string]string{
		"in the background": `sleep 1000 &`,
		"in a session":      `mkfifo "$0"; setsid sh -c 'echo >"$0"; exec sleep 1000' "$0" & read x <"$0"`,
		"deaf":              `mkfifo "$0"; setsid sh -c 'trap "" HUP TERM; echo >"$0"; while :; do sleep 9; done' "$0" & read x <"$0"`,
	} {
		mine, _, _ := folders(t)
		b := s.Box(Needs{Write: []string{mine}})
		require.NoError(t, b.Own(mine))
		cmd := exec.Command("/bin/sh", "-c", script, mine+"/pipe")
		cmd.Env = []string{"PATH=/usr/bin:/bin"}
		var out strings.Builder // by a pipe, which what is left has, too
		cmd.Stdout, cmd.Stderr = &out, &out
		require.NoError(t, b.Run(cmd), "%s: %s", name, &out)
		require.Empty(t, out.String(), name)
		entries, err := os.ReadDir("/proc")
		require.NoError(t, err)
		for _, e := range entries {
			pid, _ := strconv.Atoi(e.Name())
			if uid, alive, ok := UserOf(pid); ok && alive && int(uid) == b.UID() {
				assert.Fail(t, "it still runs", "%s: %d", name, pid)
				_ = unix.Kill(pid, unix.SIGKILL)
			}
		}
	}
}

// Without a user of its own, at least its process group ends.
func TestTheProcessGroupEnds(t *testing.T) {
	file := t.TempDir() + "/pid"
	cmd := exec.Command("/bin/sh", "-c", `sleep 1000 & echo $! >"$0"`, file)
	require.NoError(t, (*Box)(nil).Run(cmd))
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		_, alive, ok := UserOf(pid)
		return !ok || !alive
	}, time.Minute, time.Millisecond)
}
