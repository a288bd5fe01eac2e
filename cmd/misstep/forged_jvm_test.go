package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// forger is a program that writes mismatch records in place of its agent.
const forger = `
import java.io.*;
import java.nio.file.*;

public class Forger {
  static void frames(Writer out, int frames, int record, String frame) throws IOException {
    String place = "" + (char) ('a' + record / 26 % 26) + (char) ('a' + record % 26); // without numbers
    out.write("{\"check\":\"gst-asgct\",\"kind\":\"truncated\",\"reference\":{\"frames\":[{\"className\":\"a.A\",\"method\":\"");
    out.write(place + "\"}]},\"suspect\":{\"frames\":[");
    for (int i = 1; i < frames; i++) out.write(frame.replace("#", Integer.toString(record << 14 | i)));
    out.write("{\"className\":\"a.B" + record + "\"}]}}\n");
  }

  public static void main(String[] args) throws Exception {
    try (Writer out = Files.newBufferedWriter(Path.of("../agent/mismatches.jsonl"))) {
      switch (args[0]) {
        case "wide":
          for (int i = 0; i < 2; i++) frames(out, 9_000_000, i, "{},");
          break;
        case "deep":
          for (int i = 0; i < 600; i++) frames(out, 16384, i, "{},");
          break;
        case "other":
          for (int i = 0; i < 600; i++) frames(out, 5500, i, "{\"className\":\"a.A#\",\"bci\":#},");
          break;
      }
    }
    System.out.println("misstep: forger verified 1 repetitions");
  }
}`

// A program that forges the largest and the most mismatch records costs its runner and the coordinator little memory, and its trial
// ends with an outcome that says so. The log has the peaks.
func TestForgedRecordsCostLittle(t *testing.T) {
	y := openYardOf(t, "forger", "Forger", forger, `
name: forger
jdks: [jdk17]
workloads: [{name: forger, arguments: [wide]}, {name: forger, arguments: [deep]}, {name: forger, arguments: [other]}]
checks: [{name: gst-asgct, share: 0.001}]
budget: {trials: 3}
`)
	atRest := peak(t, y.coordinator.Process.Pid)
	runner := y.start("runner", "--coordinator", y.addr, "--slots", "1", "--scratch", y.scratch)
	require.Eventually(t, y.done, 5*time.Minute, 100*time.Millisecond)
	atRunner, atCoordinator := peak(t, runner.Process.Pid), peak(t, y.coordinator.Process.Pid)
	t.Logf("at most %d MiB in the runner, %d MiB in the coordinator, where it was %d before", atRunner, atCoordinator, atRest)
	require.NoError(t, runner.Process.Signal(syscall.SIGTERM))
	ends(t, runner)
	for _, trial := range trialsOf(t, y.st, y.campaign) {
		o := trial.GetOutcome()
		assert.Equal(t, "records", o.GetApplicationFailure().GetReason(), o.GetReason())
		t.Logf("%s: %d mismatches, %s", o.GetReason(), len(o.GetMismatches()), o.GetWall().AsDuration())
	}
	assert.Less(t, atRunner, 400)
	assert.Less(t, atCoordinator, 300)
}

// peak returns the most memory that a process had resident so far, in MiB.
func peak(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(t, err)
	_, after, found := strings.Cut(string(text), "VmHWM:")
	require.True(t, found)
	kib, err := strconv.Atoi(strings.Fields(after)[0])
	require.NoError(t, err)
	return kib >> 10
}
