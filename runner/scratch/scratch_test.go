package scratch

import (
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"misstep/runner/process"
)

func TestFolderIsPrivateAndGoes(t *testing.T) {
	area, err := Open(filepath.Join(t.TempDir(), "trials"), process.Cgroups{}, nil)
	require.NoError(t, err)
	folder, err := area.New()
	require.NoError(t, err)
	info, err := os.Stat(folder.Path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	deep := filepath.Join(folder.Path, "a", "b")
	require.NoError(t, os.MkdirAll(deep, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(deep, "f"), make([]byte, 100_000), 0o600))
	size, err := folder.Size(1 << 30)
	require.NoError(t, err)
	require.GreaterOrEqual(t, size, uint64(100_000))
	require.NoError(t, os.Chmod(deep, 0))
	require.NoError(t, os.Chmod(filepath.Dir(deep), 0))
	require.NoError(t, folder.Remove())
	require.NoDirExists(t, folder.Path)
}

// TestReapOfADeadRunner: the process that owns the name is gone, its child still runs in its name.
func TestReapOfADeadRunner(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	owner := exec.Command("true")
	require.NoError(t, owner.Run())
	stale := filepath.Join(dir, fmt.Sprintf("trial-%d-1-0123456789abcdef", owner.Process.Pid))
	require.NoError(t, os.MkdirAll(stale, 0o700))
	orphan := exec.Command("sleep", "1000")
	orphan.Env = []string{process.Mark + "=" + stale}
	require.NoError(t, orphan.Start())
	died := make(chan error, 1)
	go func() { died <- orphan.Wait() }()
	other := filepath.Join(dir, "mine")
	require.NoError(t, os.Mkdir(other, 0o700))

	start, ok := process.StartTime(os.Getpid())
	require.True(t, ok)
	living := filepath.Join(dir, fmt.Sprintf("trial-%d-%d-0123456789abcdef", os.Getpid(), start))
	require.NoError(t, os.Mkdir(living, 0o700))

	_, err = Open(dir, process.DetectCgroups(), nil)
	require.NoError(t, err)
	require.NoDirExists(t, stale)
	require.DirExists(t, living, "its runner lives")
	require.DirExists(t, other, "not a trial's")
	select {
	case err := <-died:
		require.Error(t, err, "it was killed")
	case <-time.After(10 * time.Second):
		_ = orphan.Process.Kill()
		t.Fatal("the orphan lives")
	}
}

// A runner that was started elsewhere made its control groups in another folder, which the trial's folder names.
func TestReapOfForeignGroups(t *testing.T) {
	here := process.DetectCgroups()
	if !here.Any() {
		t.Skip("no control groups can be made here; run as root or delegate one")
	}
	parent := filepath.Join(here.Parents()[0], fmt.Sprintf("misstep-test-%d", os.Getpid()))
	require.NoError(t, os.Mkdir(parent, 0o755))
	t.Cleanup(func() { _ = os.Remove(parent) })
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	const name = "trial-4194304-1-0123456789abcdef" // the pid is above the highest possible one
	require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, name, groupsFile), []byte(parent+"\n"+t.TempDir()+"\n"), 0o600))
	group, other := filepath.Join(parent, name), filepath.Join(parent, "other")
	require.NoError(t, os.Mkdir(group, 0o755))
	require.NoError(t, os.Mkdir(other, 0o755))
	defer os.Remove(other)
	orphan := exec.Command("sleep", "1000") // without a mark
	require.NoError(t, orphan.Start())
	died := make(chan error, 1)
	go func() { died <- orphan.Wait() }()
	require.NoError(t, os.WriteFile(filepath.Join(group, "cgroup.procs"), fmt.Append(nil, orphan.Process.Pid), 0o600))

	require.NoError(t, Reap(dir, process.Cgroups{}, nil))
	select {
	case err := <-died:
		require.Error(t, err, "it was killed")
	case <-time.After(10 * time.Second):
		_ = orphan.Process.Kill()
		t.Fatal("the orphan lives")
	}
	require.NoDirExists(t, group)
	require.DirExists(t, other)
	require.NoDirExists(t, filepath.Join(dir, name))
	require.NoError(t, Reap(filepath.Join(dir, "gone"), here, nil))
}

// A group without a folder, and a runner that is dead but not awaited by its parent.
func TestReapOfAGroupAndOfAZombiesTrial(t *testing.T) {
	groups := process.DetectCgroups()
	zombie := exec.Command("true")
	require.NoError(t, zombie.Start())
	defer func() { _ = zombie.Wait() }()
	var start uint64
	require.Eventually(t, func() bool {
		at, alive := process.StartTime(zombie.Process.Pid)
		start = max(start, at)
		return !alive
	}, 10*time.Second, time.Millisecond)
	name := fmt.Sprintf("trial-%d-%d-0123456789abcdef", zombie.Process.Pid, start)
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o700))
	for _, parent := range groups.Parents() {
		require.NoError(t, os.Mkdir(filepath.Join(parent, name), 0o755))
		require.NoError(t, os.Mkdir(filepath.Join(parent, "misstep-probe-1"), 0o755))
	}
	require.NoError(t, Reap(dir, groups, nil))
	require.NoDirExists(t, filepath.Join(dir, name))
	for _, parent := range groups.Parents() {
		require.NoDirExists(t, filepath.Join(parent, name))
		require.NoDirExists(t, filepath.Join(parent, "misstep-probe-1"))
	}
}

// The socket of a JVM that was attached to is removed, and nothing else that the note may name.
func TestReapOfASocket(t *testing.T) {
	dead := exec.Command("true")
	require.NoError(t, dead.Run())
	socket := Socket(dead.Process.Pid)
	listener, err := net.Listen("unix", socket)
	require.NoError(t, err)
	listener.(*net.UnixListener).SetUnlinkOnClose(false)
	require.NoError(t, listener.Close())
	dir := t.TempDir()
	for i, note := range []string{fmt.Sprint(dead.Process.Pid), "../etc/passwd", "-1"} {
		trial := filepath.Join(dir, fmt.Sprintf("trial-4194304-1-%016x", i))
		require.NoError(t, os.Mkdir(trial, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(trial, attachedFile), []byte(note), 0o600))
	}
	require.FileExists(t, socket)
	require.NoError(t, Reap(dir, process.Cgroups{}, nil))
	require.NoFileExists(t, socket)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestExplainNamesTheRemedy(t *testing.T) {
	err := Explain("/some/folder", fmt.Errorf("write: %w", syscall.ENOSPC))
	require.ErrorIs(t, err, ErrNoSpace)
	require.ErrorContains(t, err, "/some/folder")
	require.ErrorContains(t, err, "--dir")
	require.NotErrorIs(t, Explain("x", os.ErrExist), ErrNoSpace)
}

// A note follows no link that the trial's user made, and waits for no pipe.
func TestNotesFollowNoLinks(t *testing.T) {
	dir, other := t.TempDir(), filepath.Join(t.TempDir(), "other")
	require.NoError(t, os.WriteFile(other, []byte("kept"), 0o600))
	note := filepath.Join(dir, attachedFile)
	require.NoError(t, os.Symlink(other, note))
	require.Empty(t, readNote(dir, attachedFile))
	f := &Folder{Path: dir}
	require.NoError(t, f.Attaching(42))
	require.Equal(t, "42", readNote(dir, attachedFile))
	text, err := os.ReadFile(other)
	require.NoError(t, err)
	require.Equal(t, "kept", string(text))
	require.NoError(t, os.Remove(note))
	require.NoError(t, syscall.Mkfifo(note, 0o600))
	require.Empty(t, readNote(dir, attachedFile))
	require.NoError(t, f.Attaching(43))
	require.Equal(t, "43", readNote(dir, attachedFile))
}

// What a workload left is opened up for its removal, and nothing that its links lead to.
func TestRemovalFollowsNoLinks(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	require.NoError(t, os.Mkdir(outside, 0o500))
	folder := filepath.Join(t.TempDir(), "trial")
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "a", "b"), 0o700))
	require.NoError(t, os.Symlink(outside, filepath.Join(folder, "link")))
	require.NoError(t, os.Symlink(outside, filepath.Join(folder, "a", "b", "link")))
	require.NoError(t, os.Chmod(filepath.Join(folder, "a", "b"), 0))
	parent, err := os.Open(filepath.Join(folder, "a"))
	require.NoError(t, err)
	defer parent.Close()
	allow(parent, "b")
	info, err := os.Stat(filepath.Join(folder, "a", "b"))
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o700), info.Mode().Perm())
	top, err := os.Open(folder)
	require.NoError(t, err)
	defer top.Close()
	allow(top, "link")
	info, err = os.Stat(outside)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o500), info.Mode().Perm())
	require.NoError(t, RemoveAll(folder))
	require.NoDirExists(t, folder)
	require.DirExists(t, outside)
}
