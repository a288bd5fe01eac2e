package sandbox

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// ordinary tells a copy of this program to be the test of an ordinary user, in the folder that it names.
const ordinary = "MISSTEP_TEST_SANDBOX"

// shell runs a script in a box and returns what it printed.
func shell(t *testing.T, b *Box, script string) string {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.Env = []string{"PATH=/usr/bin:/bin:/usr/sbin:/sbin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := b.Run(cmd); err != nil {
		fmt.Fprintln(&out, err)
	}
	return strings.TrimSpace(out.String())
}

func open(t *testing.T, p Policy) *Sandbox {
	t.Helper()
	s, err := p.Open()
	require.NoError(t, err)
	return s
}

func asRoot(t *testing.T) {
	t.Helper()
	if !isRoot() {
		t.Skip("namespaces and other users take root")
	}
}

// folders makes three folders, each with a file, below one of mode 0700.
func folders(t *testing.T) (mine, shared, secret string) {
	t.Helper()
	dir := t.TempDir()
	mine, shared, secret = filepath.Join(dir, "mine"), filepath.Join(dir, "shared"), filepath.Join(dir, "secret")
	for _, d := range []string{mine, shared, secret} {
		require.NoError(t, os.Mkdir(d, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(d, "file"), []byte("content of "+d), 0o644))
	}
	return mine, shared, secret
}

func TestOwnUserInItsOwnRoot(t *testing.T) {
	asRoot(t)
	s, err := Policy{Mode: Strict}.Open()
	if err != nil {
		t.Skipf("this machine cannot confine everything: %v", err)
	}
	mine, shared, secret := folders(t)
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(shared, link))
	b := s.Box(Needs{Write: []string{mine}, Read: []string{link, filepath.Join(mine, "missing")}})
	require.NoError(t, b.Own(mine))
	require.True(t, IsOwn(uint32(b.UID())))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	for script, want := range map[string]string{
		"id -un":                      "misstep",
		"cat " + shared + "/file":     "content of " + shared,
		"cat " + link + "/file":       "content of " + shared,
		"ls -A " + filepath.Dir(mine): "mine\nshared",
		"echo new > " + mine + "/new && cat " + mine + "/new": "new",
		"grep NoNewPrivs /proc/self/status | tr -d '\\t'":     "NoNewPrivs:1",
		"grep CapEff /proc/self/status | tr -d '\\t'":         "CapEff:0000000000000000",
		"sed 1,2d /proc/net/dev | cut -d: -f1 | tr -d ' '":    "lo",
		"set -- /proc/[0-9]*; echo $#":                        "1", // the shell: nothing else
		"cat " + secret + "/file 2>/dev/null || echo no":      "no",
		"echo x 2>/dev/null > " + shared + "/file || echo no": "no",
		"echo x 2>/dev/null > /file || echo no":               "no",
		"echo x 2>/dev/null > /etc/file || echo no":           "no",
		"unshare -U true 2>/dev/null || echo no":              "no",
		"getent hosts $(hostname) | cut -d' ' -f1":            "127.0.0.1",
	} {
		assert.Equal(t, want, shell(t, b, script), script)
	}
	info, err := os.Stat(filepath.Join(mine, "new"))
	require.NoError(t, err, "it is the folder itself")
	assert.Equal(t, b.UID(), int(info.Sys().(*syscall.Stat_t).Uid))

	hosts := s.Box(Needs{Network: true})
	assert.NotEqual(t, shell(t, b, "readlink /proc/self/ns/net"), shell(t, hosts, "readlink /proc/self/ns/net"))
	assert.NotEqual(t, s.Box(Needs{}).UID(), b.UID(), "each has a user of its own")
}

// This process itself is not confined by what it starts.
func TestTheProcessKeepsItsOwnRoot(t *testing.T) {
	before, err := os.ReadFile("/proc/self/mountinfo")
	require.NoError(t, err)
	b := open(t, Policy{}).Box(Needs{})
	for range 20 {
		require.Empty(t, shell(t, b, "true"))
	}
	after, err := os.ReadFile("/proc/self/mountinfo")
	require.NoError(t, err)
	assert.Equal(t, string(before), string(after))
	_, err = os.ReadDir(".")
	require.NoError(t, err)
}

// Data that this process may read, a confined reader may, too.
func TestOverrideReadsWhatItIsGiven(t *testing.T) {
	asRoot(t)
	s := open(t, Policy{})
	mine, _, secret := folders(t)
	file := filepath.Join(mine, "file")
	require.NoError(t, os.Chmod(file, 0o600))
	assert.Equal(t, "content of "+mine, shell(t, s.Box(Needs{Read: []string{file}, Override: true}), "cat "+file))
	assert.Equal(t, "no", shell(t, s.Box(Needs{Read: []string{file}, Override: true}),
		"cat "+secret+"/file 2>/dev/null || echo no"))
	for _, other := range []string{"/etc/shadow", "/etc/ssl", "/sys/kernel"} {
		assert.Equal(t, "no", shell(t, s.Box(Needs{Read: []string{file}, Override: true}),
			"ls "+other+" >/dev/null 2>&1 && echo yes || echo no"), "%s is not what it was asked to read", other)
	}
	assert.Equal(t, "misstep", shell(t, s.Box(Needs{Override: true}), "id -un"))
	refusal := shell(t, s.Box(Needs{Read: []string{file}}), "cat "+file)
	assert.Contains(t, refusal, "chmod -R o+rX "+file)
	assert.Contains(t, refusal, "--jvm-user")
}

func TestPolicies(t *testing.T) {
	for name, p := range map[string]Policy{
		`sandbox "tight": expected auto, none or strict`: {Mode: "tight"},
	} {
		_, err := p.Open()
		require.EqualError(t, err, name)
	}
	none := open(t, Policy{Mode: None})
	assert.Contains(t, none.String(), "files: not confined")
	if !isRoot() {
		_, err := Policy{User: "nobody"}.Open()
		require.ErrorContains(t, err, "only root can start JVMs as another user")
		return
	}
	for problem, p := range map[string]Policy{
		"contradict each other":          {User: "nobody", AsRoot: true},
		"--jvm-user no-such: no such":    {User: "no-such"},
		"allow it with --jvm-as-root":    {User: "root"},
		"--jvm-user 4294967295: no such": {User: "4294967295"},
	} {
		_, err := p.Open()
		require.ErrorContains(t, err, problem)
	}
	assert.Equal(t, nobody, open(t, Policy{User: "nobody"}).Box(Needs{}).UID())
	assert.Equal(t, 4242, open(t, Policy{User: "4242"}).Box(Needs{}).UID())
	assert.Equal(t, "65534", shell(t, open(t, Policy{Mode: None, User: "nobody"}).Box(Needs{}), "id -u"))
	assert.Equal(t, "0", shell(t, open(t, Policy{AsRoot: true}).Box(Needs{}), "id -u"))
	_, err := Policy{Mode: Strict, User: "nobody"}.Open()
	require.ErrorContains(t, err, "processes: programs of one user can signal each other")
}

// What a machine lacks is said, and how to get it.
func TestWhatIsMissingIsSaid(t *testing.T) {
	var nothing, landlocked Sandbox
	nothing.choose(abilities{spaces: unix.EPERM, filter: unix.ENOSYS})
	for _, p := range nothing.Parts() {
		assert.Empty(t, p.By, p.Name)
		assert.NotEmpty(t, p.Missing, p.Name)
	}
	landlocked.choose(abilities{spaces: unix.EPERM, landlock: landlockSignals})
	assert.Equal(t, "files: Landlock 6; network: not confined; processes: Landlock 6; system calls: seccomp", landlocked.String())
}

// TestOrdinaryUser runs the tests of an ordinary user as one.
func TestOrdinaryUser(t *testing.T) {
	if dir := os.Getenv(ordinary); dir != "" {
		t.Setenv("TMPDIR", dir)
		testLandlock(t)
		return
	}
	if !isRoot() {
		testLandlock(t)
		return
	}
	dir, err := os.MkdirTemp("/var/tmp", "misstep-sandbox-") //nolint:usetesting // HotSpot needs to remove sockets below /tmp
	require.NoError(t, err)
	defer os.RemoveAll(dir)
	require.NoError(t, os.Chmod(dir, 0o777))
	program, err := os.ReadFile("/proc/self/exe")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "test"), program, 0o755))
	cmd := exec.Command(filepath.Join(dir, "test"), "-test.run=^TestOrdinaryUser$", "-test.v")
	cmd.Env = []string{ordinary + "=" + dir, "PATH=/usr/bin:/bin"}
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	if strings.Contains(string(out), "--- SKIP") {
		t.Skipf("%s", out)
	}
}

func testLandlock(t *testing.T) {
	t.Helper()
	if landlockVersion() < landlockSignals {
		t.Skip("no Landlock of version 6: Linux 6.12 or newer, with lsm=…,landlock")
	}
	s := open(t, Policy{})
	require.Equal(t, fmt.Sprintf("user: this process's own, %d; files: Landlock %d; network: not confined; "+
		"processes: Landlock %d; system calls: seccomp", os.Geteuid(), landlockVersion(), landlockVersion()), s.String())
	_, err := Policy{Mode: Strict}.Open()
	require.ErrorContains(t, err, "network: no namespaces")
	require.ErrorContains(t, err, "--sandbox auto")
	mine, shared, secret := folders(t)
	victim := exec.Command("sleep", "1000")
	require.NoError(t, victim.Start())
	defer func() { _ = victim.Wait() }()
	defer func() { _ = victim.Process.Kill() }()
	b := s.Box(Needs{Write: []string{mine}, Read: []string{shared}})
	for script, want := range map[string]string{
		"cat " + shared + "/file":                                                      "content of " + shared,
		"echo new > " + mine + "/new && cat " + mine + "/new":                          "new",
		"cat " + secret + "/file 2>/dev/null || echo no":                               "no",
		"echo x 2>/dev/null > " + shared + "/file || echo no":                          "no",
		"echo x 2>/dev/null > /tmp/misstep-file || echo no":                            "no",
		"rm -f " + shared + "/file 2>/dev/null || echo no":                             "no",
		fmt.Sprintf("kill -0 %d 2>/dev/null || echo no", victim.Process.Pid):           "no",
		fmt.Sprintf("cat /proc/%d/environ 2>/dev/null || echo no", victim.Process.Pid): "no",
		"sleep 1000 & kill $! && echo yes":                                             "yes",
		"unshare -U true 2>/dev/null || echo no":                                       "no",
	} {
		assert.Equal(t, want, shell(t, b, script), script)
	}
}
