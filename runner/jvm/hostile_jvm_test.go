package jvm

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"

	"misstep/internal/sandbox"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/workloads"
)

// hostile compiles the program that tries to leave its trial. It makes system calls by java.lang.foreign, so it takes JDK 22.
func hostile(t *testing.T) (dir string, feature int) {
	t.Helper()
	for f := range jdks() {
		feature = max(feature, f)
	}
	javac := filepath.Join(jdks()[feature], "bin", "javac")
	if _, err := os.Stat(javac); err != nil || feature < 22 {
		t.Skip("no JDK of 22 or newer with a compiler in /usr/lib/jvm")
	}
	dir = t.TempDir()
	compile := exec.Command(javac, "-nowarn", "-d", filepath.Join(dir, "classes"), "testdata/hostile/Hostile.java")
	out, err := compile.CombinedOutput()
	require.NoError(t, err, "%s", out)
	manifest := "name: hostile\ndescription: tries to leave\nmain: Hostile\nclasspath: [classes]\nrepetitions: 1\nmin_feature: 22\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, workloads.ManifestFile), []byte(manifest), 0o644))
	return dir, feature
}

// TestHostileProgram: a program tries for some seconds all that it must not do, and each way is refused.
func TestHostileProgram(t *testing.T) {
	s := newStand(t)
	dir, feature := hostile(t)
	strict, err := sandbox.Policy{Mode: sandbox.Strict}.Open()
	if err != nil {
		t.Skipf("this machine cannot confine everything: %v", err)
	}
	s.Sandbox = strict
	s.Workload = func(context.Context, *misstepv1.Workload) (string, workloads.Manifest, error) {
		m, err := workloads.Load(dir)
		return dir, m, err
	}
	// What it is to find, readable for everybody: only the sandbox is in the way.
	other := filepath.Join(filepath.Dir(s.Scratch), "other")
	require.NoError(t, os.Mkdir(other, 0o777))
	key := filepath.Join(t.TempDir(), "runner.key")
	require.NoError(t, os.WriteFile(key, []byte("secret"), 0o644))
	victim := exec.Command("sleep", "1000")
	require.NoError(t, victim.Start())
	died := make(chan error, 1)
	go func() { died <- victim.Wait() }()
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer tcp.Close()
	socket := filepath.Join(t.TempDir(), "s")
	unix, err := net.Listen("unix", socket)
	require.NoError(t, err)
	defer unix.Close()
	own, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	listen := own.Addr().(*net.TCPAddr).Port
	require.NoError(t, own.Close())

	sleep := fmt.Sprintf("1000.%d", os.Getpid()) // of a process that it leaves behind
	r := recipeOf(feature, "4", other, key, strconv.Itoa(victim.Process.Pid), strconv.Itoa(tcp.Addr().(*net.TCPAddr).Port), socket,
		dir, strconv.Itoa(listen), sleep)
	r.JvmFlags = append(r.JvmFlags, "--enable-native-access=ALL-UNNAMED")
	r.Limits.Wall = durationpb.New(2 * time.Minute)
	reached := make(chan bool, 1)
	ctx, stop := context.WithCancel(t.Context())
	go func() { reached <- canConnect(ctx, listen) }()
	outcome, err := s.run(t, t.Context(), r)
	stop()
	require.NoError(t, err)
	assert.False(t, <-reached, "the program's server can be reached from outside")
	require.Equal(t, misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN, outcome.GetKind(), "%v %v", outcome.GetReason(),
		outcome.GetApplicationFailure())
	said := s.evidence(t, outcome, "stdout.txt")
	t.Log("\n" + said)
	refused := 0
	for line := range strings.Lines(said) {
		assert.NotContains(t, line, "SUCCEEDED")
		if _, errno, call := strings.Cut(strings.TrimSpace(line), ": errno "); call {
			assert.Contains(t, []string{"1", "38"}, errno, "not allowed, or not there: %s", line)
		}
		if strings.Contains(line, ": refused: ") {
			refused++
		}
	}
	assert.Equal(t, 38, refused, "each way was tried")
	sleeping, err := exec.Command("pgrep", "-fx", "sleep "+sleep).Output()
	require.Error(t, err, "a process that left its session and its environment is gone: %s", sleeping)
	select {
	case err := <-died:
		t.Errorf("it ended another process: %v", err)
	default:
		require.NoError(t, victim.Process.Kill())
		require.Error(t, <-died)
	}
	entries, err := os.ReadDir(other)
	require.NoError(t, err)
	assert.Empty(t, entries)
}

// canConnect tries to connect to a port of this host until it can, or ctx ends.
func canConnect(ctx context.Context, port int) bool {
	for ctx.Err() == nil {
		if c, err := net.DialTimeout("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), 100*time.Millisecond); err == nil {
			_ = c.Close()
			return true
		}
		time.Sleep(20 * time.Millisecond)
	}
	return false
}
