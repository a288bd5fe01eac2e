package jvm

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/runner/scratch"
)

// A workload may have put a link where the runner, perhaps as root, makes a file.
func TestAttachFollowsNoLink(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	victim := filepath.Join(t.TempDir(), "victim")
	require.NoError(t, os.WriteFile(victim, []byte("precious"), 0o600))
	require.NoError(t, os.Symlink(victim, fmt.Sprintf(".attach_pid%d", os.Getpid())))
	quit := func() { t.Error("nothing may be asked to listen") }
	_, err := attach(t.Context(), os.Getpid(), func(context.Context) (net.Conn, error) { return nil, os.ErrNotExist }, quit)
	require.ErrorIs(t, err, os.ErrExist)
	text, err := os.ReadFile(victim)
	require.NoError(t, err)
	assert.Equal(t, "precious", string(text))
}

// A JVM that puts a link in place of its socket does not make the runner speak to another program of the host.
func TestAttachSpeaksToTheJvmOnly(t *testing.T) {
	host := filepath.Join(t.TempDir(), "host")
	listener, err := net.Listen("unix", host)
	require.NoError(t, err)
	heard := make(chan string, 10)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				close(heard)
				return
			}
			text := make([]byte, 100)
			n, _ := conn.Read(text)
			heard <- string(text[:n])
			_, _ = conn.Write([]byte("0\n"))
			_ = conn.Close()
		}
	}()
	pid, socket := os.Getpid(), scratch.Socket(os.Getpid())
	t.Chdir(t.TempDir())
	t.Cleanup(func() { _ = os.Remove(socket) })
	require.NoError(t, os.Symlink(host, socket))
	quits := 0
	_, err = ask(t.Context(), pid, func() { quits++ }, "jcmd", "Thread.print")
	require.Error(t, err)
	assert.Equal(t, 1, quits)

	require.NoError(t, os.Remove(socket))
	require.NoError(t, os.Link(host, socket)) // as if the JVM listened there
	_, err = ask(t.Context(), pid, func() { t.Error("it listens already") }, "jcmd", "Thread.print")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	assert.Equal(t, "1\x00jcmd\x00Thread.print\x00\x00\x00", <-heard)
	assert.Empty(t, <-heard, "nothing more was said")
}
