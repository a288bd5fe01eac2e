package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"misstep/app/local"
	"misstep/app/station"
	"misstep/app/submission"
	"misstep/internal/testenv"
	misstepv1 "misstep/proto/misstep/v1"
)

// tinyWorkload builds a workload of a few calls in a catalogue of its own and returns that catalogue's folder.
func tinyWorkload(t *testing.T, sleep time.Duration) (home string) {
	t.Helper()
	return ownWorkload(t, "tiny", "Tiny", fmt.Sprintf(`
public class Tiny {
  static int depth(int n) { return n == 0 ? 0 : 1 + depth(n - 1); }
  public static void main(String[] args) throws Exception {
    Thread.sleep(%d);
    if (depth(30) == 30) System.out.println("misstep: tiny verified 1 repetitions");
  }
}`, sleep.Milliseconds()))
}

// ownWorkload compiles a class with a main method into a workload, in a catalogue of its own with the shared one's JDKs, and
// returns that catalogue's folder.
func ownWorkload(t *testing.T, name, class, source string) (home string) {
	t.Helper()
	shared, javac := testenv.Home(t), testenv.Javac(t)
	home = t.TempDir()
	require.NoError(t, copyEntries(filepath.Join(shared, "jdks"), filepath.Join(home, "jdks")))
	dir := filepath.Join(home, name)
	require.NoError(t, os.MkdirAll(dir, 0o755))
	file := filepath.Join(dir, class+".java")
	require.NoError(t, os.WriteFile(file, []byte(source), 0o644))
	out, err := exec.Command(javac, "--release", "17", "-d", filepath.Join(dir, "classes"), file).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "workload.yaml"), fmt.Appendf(nil, `name: %s
description: a test's own
main: %s
classpath: [classes]
repetitions: 1
jvm_flags: [-Xmx64m, -XX:+UseSerialGC, -XX:TieredStopAtLevel=1]
min_feature: 8
harness: plain
`, name, class), 0o644))
	var errs strings.Builder
	require.Zero(t, run(t.Context(), []string{"workload", "add", dir, "--home", home}, &strings.Builder{}, &errs), errs.String())
	return home
}

// process starts this test binary as misstep with its own catalogue.
func process(t *testing.T, home, log string, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := exec.LookPath("misstep") // testscript.Main puts it on the path
	require.NoError(t, err)
	cmd := exec.Command(exe, args...)
	cmd.Env = append(os.Environ(), "MISSTEP_HOME="+home, "MISSTEP_AGENT="+testenv.Agent(t))
	f, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	require.NoError(t, err)
	cmd.Stdout, cmd.Stderr = f, f
	require.NoError(t, cmd.Start())
	require.NoError(t, f.Close())
	return cmd
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

// TestKilledAtRandomMoments kills coordinator and runner with SIGKILL, 20 times each in turn at random moments, while a campaign
// runs on real JVMs. Every trial that was finished once stays finished, none is recorded twice, and the campaign ends complete.
func TestKilledAtRandomMoments(t *testing.T) {
	if testing.Short() {
		t.Skip("takes minutes; run without -short")
	}
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("MISSTEP_TEST_SEED"); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
	}
	t.Logf("MISSTEP_TEST_SEED=%d repeats the moments", seed)
	random := rand.New(rand.NewPCG(seed, 1))

	const kills, trials = 20, 40
	home, dir, addr := tinyWorkload(t, 200*time.Millisecond), t.TempDir(), freePort(t)
	scratch := filepath.Join(dir, "scratch")
	log := filepath.Join(dir, "log")
	t.Cleanup(func() {
		if t.Failed() {
			text, _ := os.ReadFile(log)
			t.Logf("log:\n%.20000s", text)
		}
	})
	startCoordinator := func() *exec.Cmd {
		return process(t, home, log, "coordinator", "--listen", addr, "--dir", filepath.Join(dir, "station"), "--lease-time", "2s")
	}
	startRunner := func() *exec.Cmd {
		return process(t, home, log, "runner", "--coordinator", addr, "--slots", "2", "--scratch", scratch)
	}
	coordinator, runner := startCoordinator(), startRunner()
	t.Cleanup(func() {
		for _, cmd := range []*exec.Cmd{coordinator, runner} {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})

	spec := filepath.Join(dir, "tiny.yaml")
	require.NoError(t, os.WriteFile(spec, fmt.Appendf(nil, `
name: tiny
jdks: [jdk17]
workloads: [{name: tiny}]
checks: [{name: gst-asgct, share: 1}]
budget: {trials: %d}
`, trials), 0o644))
	st, err := station.Dial(addr)
	require.NoError(t, err)
	t.Cleanup(st.Close)
	request, _, err := submission.Load(t.Context(), local.Installation{Home: home, AgentDir: testenv.Agent(t)}, spec)
	require.NoError(t, err)
	var id string
	require.Eventually(t, func() bool {
		response, err := st.SubmitCampaign(t.Context(), request)
		id = response.GetCampaignId()
		return err == nil
	}, 20*time.Second, 100*time.Millisecond)

	state := func() *misstepv1.CampaignStatus {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		response, err := st.GetCampaign(ctx, &misstepv1.GetCampaignRequest{CampaignId: id})
		if err != nil {
			return nil // just killed
		}
		return response.GetCampaign()
	}
	var seen uint64
	for kill := range kills {
		time.Sleep(time.Duration(random.Int64N(int64(1500 * time.Millisecond))))
		if kill%2 == 0 {
			require.NoError(t, coordinator.Process.Kill())
			_ = coordinator.Wait()
			coordinator = startCoordinator()
		} else {
			require.NoError(t, runner.Process.Kill())
			_ = runner.Wait()
			runner = startRunner()
		}
		if s := state(); s != nil {
			require.GreaterOrEqual(t, station.Finished(s), seen, "a finished trial was lost by kill %d", kill)
			seen = station.Finished(s)
		}
	}
	require.Eventually(t, func() bool {
		s := state()
		return s.GetState() == misstepv1.CampaignState_CAMPAIGN_STATE_DONE
	}, 3*time.Minute, 200*time.Millisecond)

	s := state()
	t.Logf("outcomes %v, retries %d, given up %d", s.GetOutcomes(), s.GetRetries(), s.GetFailed())
	require.EqualValues(t, trials, s.GetOutcomes()["clean"], "outcomes %v, given up %d", s.GetOutcomes(), s.GetFailed())
	require.Zero(t, s.GetFailed())
	require.LessOrEqual(t, s.GetRetries(), uint64(2*kills), "at most the trials in flight are repeated: 2 slots a kill")
	digests := map[string]int{}
	for _, trial := range trialsOf(t, st, id) {
		digests[trial.GetOutcome().GetRecipeDigest()]++
	}
	require.Len(t, digests, trials, "each trial has a recipe of its own, recorded once")

	// Nothing is left of killed runners' trials.
	require.NoError(t, runner.Process.Signal(os.Interrupt))
	_ = runner.Wait()
	require.Empty(t, processesWith(t, "misstep.name=tiny"))
	left, _ := filepath.Glob(filepath.Join(scratch, "*"))
	require.LessOrEqual(t, len(left), 1, "trial folders left: %v", left)
}

// processesWith lists the processes whose command line contains text.
func processesWith(t *testing.T, text string) []string {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	var found []string
	for _, path := range dirs {
		line, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(line), text) {
			found = append(found, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}
