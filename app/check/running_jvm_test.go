package check

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/agent"
	"misstep/app/local"
	"misstep/internal/testenv"
	"misstep/recipe"
	"misstep/runner/jvm"
)

// started starts the test's program, which works until the test ends, and returns it once it works, with what it prints afterwards.
func started(t *testing.T, jdk string, flags ...string) (pid int, printed func() string) {
	t.Helper()
	args := append(flags, "-Xmx256m", "-cp", compiled(t), "Program", "600000", "works")
	cmd := exec.Command(testenv.Catalogued(t, jdk).Tool("java"), args...)
	cmd.Dir = t.TempDir()
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = cmd.Stdout
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { // again, where the test ended early
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != "works" {
	}
	require.Equal(t, "works", lines.Text())
	return cmd.Process.Pid, func() string {
		_ = cmd.Process.Kill()
		var all []string
		for lines.Scan() {
			all = append(all, lines.Text())
		}
		return strings.Join(all, "\n")
	}
}

// A JVM that runs already is checked twice, in threads that ran before. Then it continues without samples, and has printed nothing.
func TestRunningJVM(t *testing.T) {
	for _, name := range []string{"jdk8", "jdk17", "jdk25", "jdk28"} {
		t.Run(name, func(t *testing.T) {
			pid, printed := started(t, name)
			for range 2 {
				o, _, _ := options(t)
				o.Interval, o.For, o.Out = 5*time.Millisecond, 3*time.Second, filepath.Join(t.TempDir(), "out")
				r, err := RunIn(t.Context(), o, pid)
				require.NoError(t, err)
				assert.True(t, r.Proved(), "%+v", r)
				assert.False(t, r.New(), "%+v", r.Bugs)
				assert.Equal(t, pid, r.PID)
				assert.Equal(t, "Program", r.Command[0])
				assert.Contains(t, r.JDK.Version, "64-Bit Server VM")
				require.Equal(t, recipe.AsgctGstBracket, r.Checks[0].Check)
				assert.Greater(t, r.Checks[0].Match, uint64(10))
				assert.Empty(t, r.Notes)
				assert.True(t, silent(t, o.Out), "it samples after its end")
			}
			text := printed()
			for line := range strings.Lines(text) { // from 21 on the JVM warns of each agent (JEP 451)
				assert.True(t, strings.HasPrefix(line, "WARNING: "), text)
			}
		})
	}
}

// silent reports whether the agent has ended: its counters stand still.
func silent(t *testing.T, out string) bool {
	t.Helper()
	sent := func() uint64 {
		status, err := agent.ReadStatus(filepath.Join(out, jvm.AgentDir, jvm.StatusFile))
		require.NoError(t, err)
		assert.True(t, status.Ended)
		return status.Sent
	}
	before := sent()
	time.Sleep(300 * time.Millisecond) // sixty intervals
	return sent() == before
}

// TestMain checks the JVM of a process, without an end, when this program is called for that.
func TestMain(m *testing.M) {
	if pid, err := strconv.Atoi(os.Getenv("CHECK_PID")); err == nil {
		o := Options{
			Installation: local.Installation{Home: os.Getenv("CHECK_HOME"), AgentDir: os.Getenv("CHECK_AGENT")},
			Selection:    Selection{Seed: 1}, Out: os.Getenv("CHECK_OUT"),
		}
		_, err := RunIn(context.Background(), o, pid)
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// A misstep that is killed leaves no agent at work: it ends by itself, and the JVM can be checked again.
func TestAgentEndsWithItsOwner(t *testing.T) {
	pid, _ := started(t, "jdk25")
	o, _, _ := options(t)
	out := filepath.Join(t.TempDir(), "out")
	owner := exec.Command(os.Args[0])
	owner.Env = append(os.Environ(), "CHECK_PID="+strconv.Itoa(pid), "CHECK_HOME="+o.Installation.Home,
		"CHECK_AGENT="+o.Installation.AgentDir, "CHECK_OUT="+out)
	owner.Stderr = os.Stderr
	require.NoError(t, owner.Start())
	status := func() agent.Status {
		s, _ := agent.ReadStatus(filepath.Join(out, jvm.AgentDir, jvm.StatusFile)) // none until it has begun
		return s
	}
	require.Eventually(t, func() bool { return status().Answered > 0 }, time.Minute, 10*time.Millisecond)
	require.False(t, status().Ended)
	require.NoError(t, owner.Process.Kill())
	_ = owner.Wait()
	require.Eventually(t, func() bool { return status().Ended }, time.Minute, 10*time.Millisecond)
	assert.True(t, silent(t, out), "it samples after its end")
	o.For, o.Interval = time.Second, 5*time.Millisecond
	r, err := RunIn(t.Context(), o, pid)
	require.NoError(t, err)
	assert.True(t, r.Proved(), "%+v", r)
	left, err := Left(t.Context(), o.Installation, out, nil)
	require.NoError(t, err)
	assert.True(t, left.Proved(), "%+v", left)
}

// Ctrl-C ends the check and not the program; a JVM that ends itself is reported, with what was found until then.
func TestEndOfARunningJVMsCheck(t *testing.T) {
	pid, printed := started(t, "jdk17")
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	o, _, _ := options(t)
	r, err := RunIn(ctx, o, pid)
	require.NoError(t, err)
	assert.True(t, r.Proved(), "%+v", r)
	time.AfterFunc(4*time.Second, func() { printed() })
	o, _, _ = options(t)
	r, err = RunIn(t.Context(), o, pid)
	require.NoError(t, err)
	assert.Contains(t, strings.Join(r.Notes, "\n"), "ended as it was checked")
}

func TestRunningJVMsThatCannotBeChecked(t *testing.T) {
	o, _, _ := options(t)
	o.For = time.Second
	pid, printed := started(t, "jdk17", "-XX:+DisableAttachMechanism")
	_, err := RunIn(t.Context(), o, pid)
	require.ErrorContains(t, err, "-XX:+DisableAttachMechanism")
	assert.Empty(t, printed(), "it was not even asked")

	pid, printed = started(t, "jdk17", "-Xrs")
	_, err = RunIn(t.Context(), o, pid)
	require.ErrorContains(t, err, "-Xrs")
	assert.Empty(t, printed())

	pid, _ = started(t, "jdk17", "-agentpath:"+filepath.Join(testenv.Agent(t), agent.LibraryName)+"=out="+t.TempDir()+
		",gst-asgct=0,shadow-gst=0,asgct-shadow=0,asgct-gst-bracket=1,signal=SIGURG")
	_, err = RunIn(t.Context(), o, pid)
	require.ErrorContains(t, err, "was started with Misstep's agent")

	pid, _ = started(t, "jdk17")
	first := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seen := filepath.Join(t.TempDir(), "seen")
	go func() {
		one := o
		one.For, one.Out = 0, seen
		_, err := RunIn(ctx, one, pid)
		first <- err
	}()
	require.Eventually(t, func() bool {
		s, err := agent.ReadStatus(filepath.Join(seen, jvm.AgentDir, jvm.StatusFile))
		return err == nil && s.Started
	}, time.Minute, 10*time.Millisecond)
	_, err = RunIn(t.Context(), o, pid)
	require.ErrorContains(t, err, "already has a handler", "of the first check, which continues")
	cancel()
	require.NoError(t, <-first)
}
