package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"

	"misstep/app/local"
	"misstep/app/station"
	"misstep/app/submission"
	"misstep/internal/testenv"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner"
)

// yard is a coordinator as a process of its own, with a campaign whose trials sleep, and what runners need to run them.
type yard struct {
	t                  *testing.T
	home, addr, dir    string
	scratch, tmp, log  string
	st                 *station.Station
	campaign, workload string
	coordinator        *exec.Cmd
}

// openYard starts a coordinator and submits a campaign. The workload's trials start a process that outlives them in a session of
// its own, and sleep.
func openYard(t *testing.T, workload string, sleep time.Duration, trials int) *yard {
	t.Helper()
	class := strings.ToUpper(workload[:1]) + workload[1:]
	return openYardOf(t, workload, class, fmt.Sprintf(`
public class %s {
  public static void main(String[] args) throws Exception {
    new ProcessBuilder("setsid", "sleep", "1000.%d").inheritIO().start();
    Thread.sleep(%d);
    System.out.println("misstep: %s verified 1 repetitions");
  }
}`, class, os.Getpid(), sleep.Milliseconds(), workload), fmt.Sprintf(`
name: %s
jdks: [jdk17]
workloads: [{name: %s}]
checks: [{name: gst-asgct, share: 1}]
budget: {trials: %d}
`, workload, workload, trials))
}

// openYardOf is openYard with a workload of a given source, and a given campaign.
func openYardOf(t *testing.T, workload, class, source, campaign string) *yard {
	t.Helper()
	y := &yard{t: t, dir: t.TempDir(), addr: freePort(t), workload: workload}
	y.home = ownWorkload(t, workload, class, source)
	y.scratch, y.tmp, y.log = filepath.Join(y.dir, "scratch"), filepath.Join(y.dir, "tmp"), filepath.Join(y.dir, "log")
	require.NoError(t, os.Mkdir(y.tmp, 0o755))
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("log:\n%.20000s", y.said())
		}
	})
	y.coordinator = y.start("coordinator", "--listen", y.addr, "--dir", filepath.Join(y.dir, "station"), "--lease-time", "3s")
	spec := filepath.Join(y.dir, "spec.yaml")
	require.NoError(t, os.WriteFile(spec, []byte(campaign), 0o644))
	request, _, err := submission.Load(t.Context(), local.Installation{Home: y.home, AgentDir: testenv.Agent(t)}, spec)
	require.NoError(t, err)
	y.st, err = station.Dial(y.addr)
	require.NoError(t, err)
	t.Cleanup(y.st.Close)
	require.Eventually(t, func() bool {
		response, err := y.st.SubmitCampaign(t.Context(), request)
		y.campaign = response.GetCampaignId()
		return err == nil
	}, 20*time.Second, 50*time.Millisecond)
	return y
}

// start starts a process that ends with the test at the latest.
func (y *yard) start(args ...string) *exec.Cmd {
	y.t.Setenv("TMPDIR", y.tmp)
	cmd := process(y.t, y.home, y.log, args...)
	y.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

// runner starts a runner with two slots and waits until both are in use.
func (y *yard) runner(args ...string) *exec.Cmd {
	y.t.Helper()
	cmd := y.start(append([]string{"runner", "--coordinator", y.addr, "--slots", "2", "--scratch", y.scratch}, args...)...)
	suffix := fmt.Sprintf("-%d-", cmd.Process.Pid)
	require.Eventually(y.t, func() bool {
		response, err := y.st.ListRunners(y.t.Context(), &misstepv1.ListRunnersRequest{})
		for _, r := range response.GetRunners() {
			if err == nil && strings.Contains(r.GetRunner().GetId(), suffix) && r.GetRunning() == 2 {
				return len(processesWith(y.t, "misstep.name="+y.workload)) == 2
			}
		}
		return false
	}, time.Minute, 50*time.Millisecond, "no two trials run")
	return cmd
}

func (y *yard) said() string {
	text, _ := os.ReadFile(y.log)
	return string(text)
}

func (y *yard) state() *misstepv1.CampaignStatus {
	response, err := y.st.GetCampaign(y.t.Context(), &misstepv1.GetCampaignRequest{CampaignId: y.campaign})
	require.NoError(y.t, err)
	return response.GetCampaign()
}

func (y *yard) done() bool {
	return y.state().GetState() == misstepv1.CampaignState_CAMPAIGN_STATE_DONE
}

// ends waits for the end of a process and returns its exit code.
func ends(t *testing.T, cmd *exec.Cmd) int {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err := <-done:
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			return exit.ExitCode()
		}
		require.NoError(t, err)
		return 0
	case <-time.After(time.Minute):
		t.Fatal("it does not end within a minute")
		return 0
	}
}

// What stops a machine kills its services some seconds after SIGTERM: a runner ends before, unless somebody says otherwise.
func TestDefaultDrainIsShort(t *testing.T) {
	for _, command := range parser(t).Model.Leaves(false) {
		if command.Name != "runner" {
			continue
		}
		i := slices.IndexFunc(command.Flags, func(f *kong.Flag) bool { return f.Name == "drain" })
		drain, err := time.ParseDuration(command.Flags[i].Default)
		require.NoError(t, err)
		require.LessOrEqual(t, drain+runner.Parting, 8*time.Second, "two seconds are left for the end of the JVMs")
		return
	}
	t.Fatal("no command runner")
}

// SIGTERM lets running trials end within the given time, then hands them back; a second signal hands them back at once.
func TestRunnerDrains(t *testing.T) {
	y := openYard(t, "drained", 3*time.Second, 1000)
	r := y.runner("--drain", "1m")
	require.NoError(t, r.Process.Signal(syscall.SIGTERM))
	require.Equal(t, exitOK, ends(t, r))
	require.Contains(t, y.said(), "SIGTERM: draining")
	require.Contains(t, y.said(), "msg=drained")
	s := y.state()
	finished := station.Finished(s)
	require.GreaterOrEqual(t, finished, uint64(2))
	require.Zero(t, s.GetRetries()+s.GetFailed()+s.GetRunning())

	r = y.runner("--drain", "0s")
	require.NoError(t, r.Process.Signal(syscall.SIGTERM))
	require.Equal(t, exitHandedBack, ends(t, r))
	require.Contains(t, y.said(), "stopped: 2 trials handed back, 0 results reported, 0 leases left to expire: "+
		"trials were still running 0s after SIGTERM")

	r = y.runner("--drain", "1h")
	require.NoError(t, r.Process.Signal(syscall.SIGTERM))
	require.Eventually(t, func() bool { return strings.Count(y.said(), "SIGTERM: draining") == 3 }, 10*time.Second,
		10*time.Millisecond)
	require.NoError(t, r.Process.Signal(syscall.SIGTERM))
	require.Equal(t, exitHandedBack, ends(t, r))

	r = y.runner()
	require.NoError(t, r.Process.Signal(syscall.SIGTERM))
	require.Contains(t, []int{exitOK, exitHandedBack}, ends(t, r))
	require.Contains(t, y.said(), "SIGTERM: draining; a second signal hands running trials back at once\" for=3s")

	s = y.state()
	require.Zero(t, s.GetRetries()+s.GetFailed()+s.GetRunning(), "what was handed back has used no attempt")
	require.Empty(t, processesWith(t, "misstep.name=drained"))
}

// A runner is killed while trials run; the next one on the host leaves nothing of them: no JVM, no process that one started, no
// control group, no folder, no temporary file.
func TestKilledRunnerIsReaped(t *testing.T) {
	y := openYard(t, "reaped", time.Hour, 1000)
	r := y.runner()
	orphan := fmt.Sprintf("1000.%d", os.Getpid())
	require.Eventually(t, func() bool { return len(processesWith(t, orphan)) == 2 }, 20*time.Second, 20*time.Millisecond)
	trials, err := filepath.Glob(filepath.Join(y.scratch, "trial-*"))
	require.NoError(t, err)
	require.Len(t, trials, 2)
	require.NoError(t, r.Process.Kill())
	require.Eventually(t, func() bool { return len(processesWith(t, "misstep.name=reaped")) == 0 }, 10*time.Second,
		10*time.Millisecond, "JVMs die with their runner")

	next := y.start("runner", "--coordinator", y.addr, "--slots", "1", "--scratch", y.scratch, "--drain", "0s")
	require.Eventually(t, func() bool {
		for _, trial := range trials {
			if _, err := os.Stat(trial); !errors.Is(err, fs.ErrNotExist) {
				return false
			}
		}
		return true
	}, 20*time.Second, 20*time.Millisecond, "the folders of the killed runner's trials")
	require.NoError(t, next.Process.Signal(syscall.SIGTERM))
	ends(t, next)

	require.Empty(t, processesWith(t, orphan), "processes that trials started")
	for _, dir := range []string{y.scratch, y.tmp} {
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Empty(t, left, dir)
	}
	require.Empty(t, groupsOf(t, trials), "control groups")
}

// groupsOf lists the control groups of trials by their folders.
func groupsOf(t *testing.T, folders []string) (found []string) {
	t.Helper()
	var names []string
	for _, folder := range folders {
		names = append(names, regexp.QuoteMeta(filepath.Base(folder)))
	}
	name := regexp.MustCompile("^(" + strings.Join(names, "|") + ")$")
	require.NoError(t, filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && name.MatchString(d.Name()) {
			found = append(found, path)
		}
		return nil
	}))
	return found
}
