package process

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"misstep/internal/sandbox"
)

func TestMain(m *testing.M) {
	if os.Getenv("MISSTEP_TEST_PARENT") != "" {
		parent()
		return
	}
	goleak.VerifyTestMain(m)
}

// shell starts a script and gives its process, its streams' files being in a fresh folder that is the mark too.
func shell(t *testing.T, script string, group *Cgroup) *Process {
	t.Helper()
	dir := t.TempDir()
	p, err := Start(spec(t, dir, script, group))
	require.NoError(t, err)
	t.Cleanup(func() { p.Kill(); <-p.Done() })
	return p
}

func spec(t *testing.T, dir, script string, group *Cgroup) Spec {
	t.Helper()
	stdout, err := NewStream(filepath.Join(dir, "stdout"), 1<<20, 4<<20, nil)
	require.NoError(t, err)
	stderr, err := NewStream(filepath.Join(dir, "stderr"), 1<<20, 4<<20, nil)
	require.NoError(t, err)
	return Spec{
		Path: "/bin/sh", Args: []string{"-c", script}, Env: []string{"PATH=/usr/bin:/bin"},
		Dir: dir, Mark: dir, Stdout: stdout, Stderr: stderr, Cgroup: group,
	}
}

func await(t *testing.T, p *Process) Result {
	t.Helper()
	select {
	case <-p.Done():
		return p.Result()
	case <-time.After(30 * time.Second):
		t.Fatal("the program does not end")
		panic("unreachable")
	}
}

// family of a mark that is alive now.
func alive(mark string) []int {
	f := family{leader: -1, mark: mark, known: map[int]uint64{}}
	var pids []int
	for _, s := range f.members(true) {
		pids = append(pids, s.pid)
	}
	return pids
}

func TestResultOfAProgram(t *testing.T) {
	p := shell(t, "echo out; echo err >&2; exit 7", nil)
	r := await(t, p)
	require.NoError(t, r.Err)
	require.Equal(t, 7, r.ExitCode)
	require.Equal(t, "out\n", string(p.spec.Stdout.Tail()))
	require.Equal(t, "err\n", string(p.spec.Stderr.Tail()))
	require.Positive(t, r.Wall)
	require.Positive(t, r.MaxRSS)
}

func TestEnvironmentIsOnlyWhatIsGiven(t *testing.T) {
	t.Setenv("JAVA_TOOL_OPTIONS", "-Xint")
	p := shell(t, "/usr/bin/env", nil)
	await(t, p)
	require.NotContains(t, string(p.spec.Stdout.Tail()), "JAVA_TOOL_OPTIONS")
	require.Contains(t, string(p.spec.Stdout.Tail()), Mark+"=")
}

func TestSignalIsTold(t *testing.T) {
	r := await(t, shell(t, "kill -SEGV $$", nil))
	require.Equal(t, syscall.SIGSEGV, r.Signal)
	require.Equal(t, -1, r.ExitCode)
}

func TestNoDescendantSurvives(t *testing.T) {
	for name, script := range map[string]string{
		"background child":        "sleep 1000 & exit 0",
		"own session":             "setsid sleep 1000 & exit 0",
		"own session, reparented": "(setsid sh -c 'sleep 1000 & sleep 1000' &) ; exit 0",
		"ignores signals":         "(trap '' TERM HUP INT; sleep 1000) & exit 0",
		"scrubbed environment":    "env -i sleep 1000 & exit 0",
		"killed":                  "sleep 1000 & kill -KILL $$",
	} {
		for _, cgroups := range []Cgroups{{}, DetectCgroups()} {
			t.Run(name+", "+cgroups.String(), func(t *testing.T) {
				group, err := cgroups.New(fmt.Sprintf("misstep-test-%d", os.Getpid()), 0)
				require.NoError(t, err)
				p := shell(t, script, group)
				r := await(t, p)
				require.NoError(t, r.Err)
				require.Empty(t, alive(p.spec.Mark))
				require.Less(t, r.Wall, 5*time.Second)
				for _, s := range all() {
					require.NotEqual(t, p.pid, s.session, "a process of the session lives")
				}
				require.NoError(t, group.Remove())
			})
		}
	}
}

func TestKillEndsEverything(t *testing.T) {
	p := shell(t, "sleep 1000 & sleep 1000", nil)
	require.Eventually(t, func() bool { return p.Usage().Processes == 3 }, 10*time.Second, time.Millisecond)
	p.Kill()
	require.Equal(t, syscall.SIGKILL, await(t, p).Signal)
	require.Empty(t, alive(p.spec.Mark))
	require.Zero(t, p.Usage())
	p.Signal(syscall.SIGTERM) // harmless now
}

func TestStreamIsBoundedAndCounts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	hard := 0
	s, err := NewStream(path, 1000, 1<<20, func() { hard++ })
	require.NoError(t, err)
	var sent bytes.Buffer
	for i := range 100_000 {
		fmt.Fprintf(&sent, "line %d of the text\n", i)
	}
	s.copy(bytes.NewReader(sent.Bytes()))
	require.Equal(t, 1, hard, "told once")
	require.Equal(t, int64(sent.Len()), s.Total())
	require.Equal(t, sent.Bytes()[sent.Len()-tailSize:], s.Tail())
	require.NoError(t, s.Close())
	kept, err := os.ReadFile(path)
	require.NoError(t, err)
	require.True(t, bytes.HasPrefix(kept, sent.Bytes()[:1000]))
	require.True(t, bytes.HasSuffix(kept, s.Tail()))
	require.Contains(t, string(kept), fmt.Sprintf("[misstep: %d bytes dropped]", sent.Len()-1000-tailSize))
}

func TestStreamKeepsAllOfAShortText(t *testing.T) {
	for _, n := range []int{0, 1, 999, 1000, 1001, 5000, tailSize, tailSize + 999} {
		path := filepath.Join(t.TempDir(), "s")
		s, err := NewStream(path, 1000, 1<<30, nil)
		require.NoError(t, err)
		text := bytes.Repeat([]byte("0123456789"), n/10+1)[:n]
		s.copy(bytes.NewReader(text))
		require.NoError(t, s.Close())
		kept, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, string(text), string(kept), n)
	}
}

func TestTapSeesWhatComesLater(t *testing.T) {
	s, err := NewStream(filepath.Join(t.TempDir(), "s"), 2, 1<<20, nil)
	require.NoError(t, err)
	s.take([]byte("before"))
	read := s.Tap(4)
	s.take([]byte("ab"))
	s.take([]byte("cdef"))
	require.Equal(t, "abcd", string(read()))
	require.NoError(t, s.Close())
}

func TestFullDiskIsAnErrorOfOurs(t *testing.T) {
	s := &Stream{keep: 1 << 20, hard: 1 << 30, tail: make([]byte, tailSize)}
	file, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("this machine has no /dev/full: %v", err)
	}
	s.file = file
	s.copy(strings.NewReader("some text")) // continues: the program must not block
	require.Equal(t, "some text", string(s.Tail()))
	require.ErrorIs(t, s.Close(), syscall.ENOSPC)
}

// parent is a runner that is about to be killed: it starts a program and waits for ever.
func parent() {
	dir := os.Getenv("MISSTEP_TEST_PARENT")
	stdout, err1 := NewStream(filepath.Join(dir, "stdout"), 1<<20, 4<<20, nil)
	stderr, err2 := NewStream(filepath.Join(dir, "stderr"), 1<<20, 4<<20, nil)
	p, err3 := Start(Spec{
		Path: "/bin/sh", Args: []string{"-c", "sleep 1000 & exec sleep 1000"}, Env: []string{"PATH=/usr/bin:/bin"},
		Dir: dir, Mark: dir, Stdout: stdout, Stderr: stderr,
	})
	fmt.Println(err1, err2, err3)
	<-p.Done()
}

// TestProgramDiesWithItsRunner: a runner killed by SIGKILL cannot clean up, the kernel and the next runner must.
func TestProgramDiesWithItsRunner(t *testing.T) {
	dir := t.TempDir()
	runner := exec.Command(os.Args[0])
	runner.Env = []string{"MISSTEP_TEST_PARENT=" + dir}
	require.NoError(t, runner.Start())
	require.Eventually(t, func() bool { return len(alive(dir)) == 2 }, 20*time.Second, 5*time.Millisecond)
	require.NoError(t, runner.Process.Kill())
	_ = runner.Wait()
	require.Eventually(
		t,
		func() bool { return len(alive(dir)) <= 1 },
		10*time.Second,
		5*time.Millisecond,
		"the program itself dies at once",
	)
	require.NoError(t, KillMarked(dir, 0))
	require.Empty(t, alive(dir))
}

func TestMemoryLimitOfTheGroup(t *testing.T) {
	cgroups := DetectCgroups()
	if cgroups.memory == "" {
		t.Skip("no memory controller that this process may use: " + cgroups.String())
	}
	group, err := cgroups.New(fmt.Sprintf("misstep-test-memory-%d", os.Getpid()), 32<<20)
	require.NoError(t, err)
	p := shell(t, "sleep 0.2; head -c 200000000 /dev/zero | tail -c 199999999 >/dev/null", group)
	r := await(t, p)
	require.True(t, group.OutOfMemory(), "exit %d signal %v stderr %s", r.ExitCode, r.Signal, p.spec.Stderr.Tail())
	require.NoError(t, group.Remove())
}

// Children that a program had before it was put into its group are in the group, too.
func TestEarlyChildrenJoinTheGroup(t *testing.T) {
	cgroups := DetectCgroups()
	if cgroups.memory == "" {
		t.Skip("no memory controller that this process may use: " + cgroups.String())
	}
	group, err := cgroups.New(fmt.Sprintf("misstep-test-early-%d", os.Getpid()), 0)
	require.NoError(t, err)
	dir := t.TempDir()
	s := spec(t, dir, "setsid sleep 1000 & setsid sh -c 'sleep 1000 & touch ready; wait' & wait", group)
	s.Start = func(cmd *exec.Cmd) error {
		err := cmd.Start()
		for deadline := time.Now().Add(time.Minute); err == nil && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
			if _, missing := os.Stat(filepath.Join(dir, "ready")); missing == nil {
				break
			}
		}
		return err
	}
	p, err := Start(s)
	require.NoError(t, err)
	list, err := os.ReadFile(filepath.Join(cgroups.memory, filepath.Base(group.folders[0]), "cgroup.procs"))
	require.NoError(t, err)
	require.Len(t, strings.Fields(string(list)), 4, "two shells, two sleepers")
	p.Kill()
	require.NoError(t, await(t, p).Err)
	require.NoError(t, group.Remove())
}

func TestParseStatTakesAnyName(t *testing.T) {
	text := "17 (a) b (c) S 3 17 16 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 4711 1000 25 1844674407\n"
	s, ok := parseStat([]byte(text))
	require.True(t, ok)
	require.Equal(t, stat{pid: 17, ppid: 3, session: 16, state: 'S', threads: 1, start: 4711, rss: 25 * pageSize}, s)
	for _, bad := range []string{"", "17", "17 (a", "x (a) S", ") (", strings.Replace(text, "4711", "x", 1)} {
		_, ok := parseStat([]byte(bad))
		require.False(t, ok, bad)
	}
}

func TestLocateCgroups(t *testing.T) {
	require.Equal(t, Cgroups{"/sys/fs/cgroup/unified", "/sys/fs/cgroup/memory/a/b", "/sys/fs/cgroup/pids"}, locate(
		"8:pids:/\n4:memory:/a/b\n0::/\n",
		"31 30 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n32 30 0:28 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n"+
			"35 30 0:31 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
	))
	require.Equal(t, Cgroups{unified: "/sys/fs/cgroup/x"},
		locate("0::/user.slice/x\n", "35 30 0:31 /user.slice /sys/fs/cgroup rw shared:1 - cgroup2 cgroup2 rw\n"))
	require.Zero(t, locate("garbage", "more garbage - "))
}

// The kernel refuses a trial more processes and threads than its group may have, and the end of a program that makes new ones all
// the time does not wait for them.
func TestTasksAreBounded(t *testing.T) {
	cgroups := DetectCgroups()
	if cgroups.pids == "" && !exists(filepath.Join(cgroups.unified, "pids.max")) {
		t.Skip("no pids controller that this process may use: " + cgroups.String())
	}
	group, err := cgroups.New(fmt.Sprintf("misstep-test-tasks-%d", os.Getpid()), 0)
	require.NoError(t, err)
	group.set("pids.max", 8)                     // thousands of processes would slow the machine down
	begin := filepath.Join(t.TempDir(), "begin") // made once the program is in the group: what it had before is not refused
	p := shell(t, "until [ -e "+begin+" ]; do sleep 0.01; done; "+
		"for i in 1 2 3 4 5 6 7 8 9 10 11 12; do (trap '' TERM; while :; do sleep 1000 & done) & done; wait", group)
	require.NoError(t, os.WriteFile(begin, nil, 0o600))
	require.Eventually(t, group.OutOfTasks, time.Minute, 10*time.Millisecond)
	require.LessOrEqual(t, p.Usage().Threads, 8)
	p.Kill()
	require.NoError(t, await(t, p).Err)
	require.NoError(t, group.Remove())
}

// A program of another user is limited, too, by a root without CAP_SYS_RESOURCE.
func TestCoreLimitOfAnotherUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("giving a program to another user takes root")
	}
	free, err := sandbox.Policy{}.Open()
	require.NoError(t, err)
	dir := t.TempDir()
	s := spec(t, dir, "sleep 1000", nil)
	s.Core, s.Box = 1<<20, free.Box(sandbox.Needs{Write: []string{dir}})
	p, err := Start(s)
	require.NoError(t, err)
	defer func() { p.Kill(); <-p.Done() }()
	var limit unix.Rlimit
	require.NoError(t, s.Box.As(func() error { return unix.Prlimit(p.PID(), unix.RLIMIT_CORE, nil, &limit) }))
	require.Equal(t, unix.Rlimit{Cur: 1 << 20, Max: 1 << 20}, limit)
	require.NoError(t, s.Box.As(func() error { return unix.Prlimit(p.PID(), unix.RLIMIT_NPROC, nil, &limit) }))
	require.Equal(t, unix.Rlimit{Cur: MaxTasks, Max: MaxTasks}, limit)
	user, _, ok := sandbox.UserOf(p.PID())
	require.True(t, ok)
	require.Equal(t, s.Box.UID(), int(user))
}

// A process that has left the session and has no mark is found by its user, also when it has made itself undumpable.
func TestProcessesOfTheUserAreEnded(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("giving a program to another user takes root")
	}
	free, err := sandbox.Policy{}.Open()
	require.NoError(t, err)
	dir := t.TempDir()
	s := spec(t, dir, "env -i setsid sh -c 'sleep 1000 & sleep 1000 & wait' & sleep 0.3", nil)
	s.Box = free.Box(sandbox.Needs{Write: []string{dir}})
	p, err := Start(s)
	require.NoError(t, err)
	require.NoError(t, await(t, p).Err)
	for pid := range all() {
		if user, _, ok := sandbox.UserOf(pid); ok {
			require.NotEqual(t, s.Box.UID(), int(user), "a process of the program's user is left")
		}
	}
}
