package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"misstep/app/station"
)

// greedy is a program that takes as much as it can of what its first argument names, and keeps it.
const greedy = `
import java.io.*;
import java.nio.ByteBuffer;
import java.nio.file.*;
import java.util.*;

public class Greedy {
  static final List<Object> kept = new ArrayList<>();

  /** A chain of folders that is as deep as a path can be long. */
  static Path chain(Path root) throws IOException {
    StringBuilder path = new StringBuilder(root.toString());
    while (path.length() < 3900) path.append("/d");
    return Files.createDirectories(Path.of(path.toString()));
  }

  public static void main(String[] args) throws Exception {
    byte[] block = new byte[1 << 20];
    switch (args[0]) {
      case "honest":
        System.out.println("misstep: greedy verified 1 repetitions");
        return;
      case "nest": // 20,000 deep: each chain is moved to the bottom of the next
        chain(Path.of("n0"));
        for (int i = 1; i <= 10; i++) Files.move(Path.of("n" + (i - 1)), chain(Path.of("n" + i)).resolve("m"));
        break;
      case "files":
        for (int i = 0; i < 150_000; i++) new File("f" + i).createNewFile();
        break;
      case "disk":
        for (OutputStream out = new FileOutputStream("big");;) out.write(block);
      case "output":
        for (PrintStream out = System.out;;) out.write(block);
      case "processes":
        for (int i = 0; i < 4000; i++) kept.add(new ProcessBuilder("setsid", "sleep", "1000.OWN").start());
        break;
      case "threads":
        for (int i = 0; i < 100_000; i++) {
          Thread t = new Thread(() -> { try { Thread.sleep(1_000_000); } catch (InterruptedException e) { } });
          t.start();
        }
        break;
      case "memory":
        for (;;) {
          ByteBuffer b = ByteBuffer.allocateDirect(1 << 26);
          for (int i = 0; i < b.capacity(); i += 4096) b.put(i, (byte) 1);
          kept.add(b);
        }
      case "end": // it does not want to
        Runtime.getRuntime().addShutdownHook(new Thread(() -> { while (true) Thread.onSpinWait(); }));
        System.exit(0);
    }
    while (true) Thread.onSpinWait();
  }
}`

// greedyEnds are the reasons by which a greedy program's trial fails, and no other reason.
var greedyEnds = []string{"disk", "output", "processes", "memory", "time"}

// A runner survives programs that take everything, one after the other: it runs honest ones in between, ends when it is told to
// while such a program runs, starts again, and leaves nothing. MISSTEP_GREEDY_ROUNDS says how often each program runs; by 13 there
// are more than a hundred greedy trials.
func TestRunnerSurvivesGreedyPrograms(t *testing.T) {
	rounds := 1
	if text := os.Getenv("MISSTEP_GREEDY_ROUNDS"); text != "" {
		var err error
		rounds, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	var entries []string
	for kind := range strings.FieldsSeq("nest files disk output processes threads memory end") {
		entries = append(entries, fmt.Sprintf("{name: greedy, arguments: [%s]}, {name: greedy, arguments: [honest]}", kind))
	}
	honest := rounds * len(entries)
	orphan := fmt.Sprintf("1000.%d", os.Getpid())
	y := openYardOf(t, "greedy", "Greedy", strings.ReplaceAll(greedy, "1000.OWN", orphan), fmt.Sprintf(`
name: greedy
jdks: [jdk17]
workloads: [%s]
flag_sets: [{name: direct, flags: ["-XX:MaxDirectMemorySize=8g"]}]
checks: [{name: gst-asgct, share: 1}]
limits: {wall: 8s, disk_mib: 16, output_mib: 4, memory_mib: 512}
budget: {trials: %d}
`, strings.Join(entries, ", "), 2*honest))

	var ending, starting time.Duration // the longest
	for done, stops := false, 0; !done; stops++ {
		begun := time.Now()
		runner := y.start("runner", "--coordinator", y.addr, "--slots", "2", "--scratch", y.scratch, "--drain", "0s")
		require.Eventually(t, func() bool { return len(processesWith(t, "misstep.name=greedy")) > 0 || y.done() }, time.Minute,
			20*time.Millisecond, "the runner takes no trial")
		starting = max(starting, time.Since(begun))

		before := station.Finished(y.state())
		require.Eventually(t, func() bool {
			done = y.done()
			return done || station.Finished(y.state()) >= before+12 && len(processesWith(t, orphan)) > 100
		}, time.Duration(rounds)*5*time.Minute, 100*time.Millisecond)
		told := time.Now()
		require.NoError(t, runner.Process.Signal(syscall.SIGTERM))
		ends(t, runner)
		ending = max(ending, time.Since(told))
		require.Empty(t, processesWith(t, orphan), "processes that trials started")
		t.Logf("stop %d: %d trials have ended", stops, station.Finished(y.state()))
	}
	t.Logf("at most %v from SIGTERM to the end, %v from the start to the first trial", ending, starting)

	s := y.state()
	require.EqualValues(t, honest, s.GetOutcomes()["clean"], "outcomes %v", s.GetOutcomes())
	require.EqualValues(t, honest, s.GetOutcomes()["application-failure"], "outcomes %v", s.GetOutcomes())
	require.Zero(t, s.GetRetries()+s.GetFailed())
	for _, trial := range trialsOf(t, y.st, y.campaign) {
		if f := trial.GetOutcome().GetApplicationFailure(); f != nil {
			require.Contains(t, greedyEnds, f.GetReason(), f.GetMessage())
		}
	}
	require.Empty(t, processesWith(t, "misstep.name=greedy"))
	for _, dir := range []string{y.scratch, y.tmp} {
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Empty(t, left, dir)
	}
}
