package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/encoding/protojson"

	"misstep/app/station"
	"misstep/coordinator"
	"misstep/internal/testenv"
	misstepv1 "misstep/proto/misstep/v1"
)

// runHunt runs a campaign in a process of its own and returns its result.
func runHunt(t *testing.T, home, dir, spec string, options ...string) *misstepv1.CampaignStatus {
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

// TestHundredTrialsLeaveNothing runs 100 trials on two slots: every one is accounted for, no process and no temporary folder is
// left.
func TestHundredTrialsLeaveNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("takes minutes; run without -short")
	}
	home, dir := tinyWorkload(t, 0), filepath.Join(t.TempDir(), "hunt")
	temp := t.TempDir() // the hunt's own, so that what other tests leave is not taken for its
	t.Setenv("TMPDIR", temp)
	status := runHunt(t, home, dir, `
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

	st, err := station.Embed(dir, coordinator.Config{})
	require.NoError(t, err)
	defer st.Close()
	trials := trialsOf(t, st, status.GetId())
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
		st, err := station.Embed(dir, coordinator.Config{})
		if err != nil {
			return false
		}
		defer st.Close()
		list, err := st.ListCampaigns(t.Context(), &misstepv1.ListCampaignsRequest{})
		return err == nil && len(list.GetCampaigns()) == 1 && station.Finished(list.GetCampaigns()[0]) >= 1
	}, 3*time.Minute, 200*time.Millisecond)
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	err := cmd.Wait()
	text, readErr := os.ReadFile(log)
	require.NoError(t, readErr)
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, "%s", text)
	require.Equal(t, exitFailed, exit.ExitCode(), "%s", text)
	require.Contains(t, string(text), "progress is saved")

	status := runHunt(t, home, dir, spec)
	require.Equal(t, misstepv1.CampaignState_CAMPAIGN_STATE_DONE, status.GetState())
	require.Equal(t, map[string]uint64{"clean": 8}, status.GetOutcomes())
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
	require.Equal(t, exitFailed, code, output)
	require.Regexp(t, `(?i)no space|disk.*full|full.*disk`, output)
	require.Contains(t, output, dir)
}

// trialsOf reads every finished trial of a campaign.
func trialsOf(t *testing.T, st *station.Station, id string) []*misstepv1.Trial {
	t.Helper()
	all, err := station.Trials(t.Context(), st, id)
	require.NoError(t, err)
	return all
}
