package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/encoding/protojson"

	"misstep/coordinator"
	"misstep/internal/testenv"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner"
	"misstep/runner/sim"
)

// allTrials reads every finished trial of a campaign.
func allTrials(t *testing.T, st *station, id string) []*misstepv1.Trial {
	t.Helper()
	var all []*misstepv1.Trial
	request := &misstepv1.ListTrialsRequest{CampaignId: id}
	for {
		response, err := st.ListTrials(t.Context(), request)
		require.NoError(t, err)
		all = append(all, response.GetTrials()...)
		if request.PageToken = response.GetNextPageToken(); request.PageToken == "" {
			return all
		}
	}
}

// hunt runs a campaign in a process of its own and returns its result.
func hunt(t *testing.T, home, dir, spec string, options ...string) *misstepv1.CampaignStatus {
	t.Helper()
	file := filepath.Join(t.TempDir(), "campaign.yaml")
	require.NoError(t, os.WriteFile(file, []byte(spec), 0o644))
	exe, err := exec.LookPath("misstep")
	require.NoError(t, err)
	cmd := exec.Command(exe, append([]string{"hunt", file, "--dir", dir, "--json"}, options...)...)
	cmd.Env = append(os.Environ(), "MISSTEP_HOME="+home, "MISSTEP_AGENT="+testenv.Agent(t))
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	require.NoError(t, cmd.Run(), "%s", stderr.String())
	var result struct {
		Campaign json.RawMessage `json:"campaign"`
	}
	require.NoError(t, json.Unmarshal(stdout.Bytes(), &result))
	var status misstepv1.CampaignStatus
	require.NoError(t, protojson.Unmarshal(result.Campaign, &status))
	return &status
}

// TestHundredTrialsLeaveNothing runs 100 trials on two slots: every one is accounted for, no process and no temporary folder is left.
func TestHundredTrialsLeaveNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("takes minutes; run without -short")
	}
	home, dir := tinyWorkload(t, 0), filepath.Join(t.TempDir(), "hunt")
	temp := t.TempDir() // the hunt's own, so that what other tests leave is not taken for its
	t.Setenv("TMPDIR", temp)
	status := hunt(t, home, dir, `
name: hundred
jdks: [jdk17, jdk25]
workloads: [{name: tiny}]
checks: [{name: gst-asgct, share: 1}, {name: shadow-gst, share: 1}]
budget: {trials: 100}
`, "--slots", "2")
	require.Equal(t, misstepv1.CampaignState_CAMPAIGN_STATE_DONE, status.GetState())
	require.Equal(t, map[string]uint64{"clean": 100}, status.GetOutcomes())
	require.Zero(t, status.GetFailed())
	require.Zero(t, status.GetRetries())
	require.Zero(t, status.GetRunning())
	require.Zero(t, status.GetQueued())

	st, err := embed(dir, coordinator.Config{})
	require.NoError(t, err)
	defer st.close()
	trials := allTrials(t, st, status.GetId())
	require.Len(t, trials, 100)
	seen := map[uint64]bool{}
	for _, trial := range trials {
		require.False(t, seen[trial.GetId()], "trial %d twice", trial.GetId())
		seen[trial.GetId()] = true
		for _, c := range trial.GetOutcome().GetChecks() {
			require.NotZero(t, c.GetTotal(), "%s of trial %d", c.GetCheck(), trial.GetId())
		}
	}

	require.Empty(t, processesWith(t, "misstep.name=tiny"))
	left, err := filepath.Glob(filepath.Join(dir, "trials", "*"))
	require.NoError(t, err)
	require.Empty(t, left)
	left, err = filepath.Glob(filepath.Join(temp, "*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// TestInterruptedHuntContinues interrupts a hunt in the middle; the same command on the same folder ends it, nothing done twice.
func TestInterruptedHuntContinues(t *testing.T) {
	home, dir := tinyWorkload(t, 100*time.Millisecond), filepath.Join(t.TempDir(), "hunt")
	const spec = `
name: interrupted
jdks: [jdk17]
workloads: [{name: tiny}]
checks: [{name: gst-asgct, share: 1}]
budget: {trials: 8}
`
	file := filepath.Join(t.TempDir(), "campaign.yaml")
	require.NoError(t, os.WriteFile(file, []byte(spec), 0o644))
	log := filepath.Join(t.TempDir(), "log")
	t.Cleanup(func() {
		if text, err := os.ReadFile(log); err == nil && t.Failed() {
			t.Logf("log:\n%s", text)
		}
	})
	cmd := process(t, home, log, "hunt", file, "--dir", dir, "--slots", "1")
	require.Eventually(t, func() bool { // until the first trial is done
		st, err := embed(dir, coordinator.Config{})
		if err != nil {
			return false
		}
		defer st.close()
		list, err := st.ListCampaigns(t.Context(), &misstepv1.ListCampaignsRequest{})
		return err == nil && len(list.GetCampaigns()) == 1 && finished(list.GetCampaigns()[0]) >= 1
	}, 3*time.Minute, 200*time.Millisecond)
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	err := cmd.Wait()
	text, readErr := os.ReadFile(log)
	require.NoError(t, readErr)
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, "%s", text)
	require.Equal(t, exitCannot, exit.ExitCode(), "%s", text)
	require.Contains(t, string(text), "nothing finished is lost")

	status := hunt(t, home, dir, spec)
	require.Equal(t, misstepv1.CampaignState_CAMPAIGN_STATE_DONE, status.GetState())
	require.Equal(t, map[string]uint64{"clean": 8}, status.GetOutcomes())
}

// meanwhile runs trials of the station's on a machine of the test's until work is done.
func meanwhile(t *testing.T, st *station, agent string, machine runner.Executor, work func()) {
	t.Helper()
	r, err := runner.New(runner.Config{
		Client: st.leases, Executor: machine, Slots: 4, Host: "sim", AgentDigest: agent,
		Backoff: func() backoff.BackOff { return backoff.NewConstantBackOff(20 * time.Millisecond) },
	})
	require.NoError(t, err)
	working, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(working) }()
	work()
	stop()
	require.ErrorIs(t, <-done, context.Canceled)
}

// TestHuntGoesOnReproducing: the same command in a folder whose findings were being reproduced goes on with them instead of hunting on.
func TestHuntGoesOnReproducing(t *testing.T) {
	st, err := embed(t.TempDir(), huntTiming(slog.New(slog.DiscardHandler)))
	require.NoError(t, err)
	defer st.close()
	request := func() *misstepv1.SubmitCampaignRequest { // resume gives it another seed
		digest := "sha256:" + strings.Repeat("b", 64)
		return &misstepv1.SubmitCampaignRequest{
			Campaign: &misstepv1.Campaign{
				Name: "sim", Seed: 3, Jdks: []string{"jdk21"}, Workloads: []*misstepv1.CampaignWorkload{{Name: "w", Repetitions: 1}},
				Checks: []*misstepv1.Check{{Name: "gst-asgct"}}, Budget: &misstepv1.Budget{Trials: 1},
				FlagSets: []*misstepv1.FlagSet{{Name: "some", Flags: []string{"-Xcomp", "-XX:-Inline"}}},
			},
			Jdks: []*misstepv1.Jdk{{Name: "jdk21", Digest: digest}}, Workloads: []*misstepv1.Workload{{Name: "w", Digest: digest}},
		}
	}
	var log bytes.Buffer
	e := &env{stderr: &log}
	resumed := func(reproduce bool) string {
		id, err := resume(t.Context(), st, request(), reproduce, 10, e)
		require.NoError(t, err)
		return id
	}
	first := resumed(true)
	assert.Equal(t, first, resumed(true), "it runs")
	machine, err := sim.New(sim.Script{Events: []sim.Event{{Rate: 1, Outcome: sim.Mismatch("Bug")}}}, runner.SystemClock{})
	require.NoError(t, err)
	meanwhile(t, st, "", machine, func() { require.NoError(t, watch(t.Context(), io.Discard, st, first)) })
	found, err := st.ListFindings(t.Context(), &misstepv1.ListFindingsRequest{CampaignId: first})
	require.NoError(t, err)
	require.Len(t, found.GetFindings(), 1)
	started, err := st.StartReproduction(t.Context(), &misstepv1.StartReproductionRequest{FindingId: found.GetFindings()[0].GetId()})
	require.NoError(t, err)

	assert.Equal(t, first, resumed(true))
	assert.Contains(t, log.String(), "going on with the reproduction")
	meanwhile(t, st, "", machine, func() {
		status, err := watchReproduction(t.Context(), io.Discard, st, started.GetReproductionId())
		require.NoError(t, err)
		require.Equal(t, misstepv1.ReproductionState_REPRODUCTION_STATE_DONE, status.GetState(), status.GetFailure())
	})
	assert.Equal(t, first, resumed(true), "it was not tried from a clean folder")
	_, err = st.RecordClean(t.Context(), &misstepv1.RecordCleanRequest{ReproductionId: started.GetReproductionId(), Clean: &misstepv1.Reliability{Tries: 10}})
	require.NoError(t, err)
	assert.NotEqual(t, first, resumed(true), "nothing is left to reproduce")
}

// TestFullDisk runs a hunt in a folder on a full disk: a clear error that names the folder.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("misstep-test", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("cannot mount a small tmpfs: %v; run as root", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	home := tinyWorkload(t, 0)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "ballast"), make([]byte, 900<<10), 0o644))
	file := filepath.Join(t.TempDir(), "campaign.yaml")
	require.NoError(t, os.WriteFile(file, []byte(`
name: full
jdks: [jdk17]
workloads: [{name: tiny}]
checks: [{name: gst-asgct, share: 1}]
budget: {trials: 2}
`), 0o644))
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), []string{
		"hunt", file, "--dir", filepath.Join(dir, "hunt"), "--home", home, "--agent", testenv.Agent(t),
	}, &stdout, &stderr)
	output := fmt.Sprintf("%s\n%s", stdout.String(), stderr.String())
	require.Equal(t, exitCannot, code, output)
	require.Regexp(t, `(?i)no space|disk.*full|full.*disk`, output)
	require.Contains(t, output, dir)
}
