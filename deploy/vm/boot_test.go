package vm

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// lines returns the values of a program that prints `name value` lines.
func lines(out string) map[string]string {
	values := map[string]string{}
	for line := range strings.Lines(out) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		values[name] = value
	}
	return values
}

func TestSharedMachine(t *testing.T) {
	t.Parallel()
	c := machineConfig(t, ModeShared)
	shared := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(shared), 0o755), "the user nobody needs access")
	require.NoError(t, os.WriteFile(filepath.Join(shared, "given"), []byte("from the host"), 0o644))
	require.NoError(t, os.Chmod(shared, 0o777)) // writable by all, and still not by the guest
	c.Dir = shared
	c.Env = []string{"GIVEN=a value"}
	c.Evidence = []string{"made", "/tmp/absent"}
	var stdout, stderr bytes.Buffer
	result, err := Boot(t.Context(), c, []string{"sh", "-c", `
		echo state $(cat /sys/kernel/sched_ext/state)
		echo user $(id -u)
		echo dir $(pwd)
		echo given $(cat given)
		echo env $GIVEN
		echo network $(ls /sys/class/net)
		echo reachable $(ping -c 1 -w 5 127.0.0.1 >/dev/null 2>&1 && echo loopback)
		echo written > made && echo evidence > $MISSTEP_EVIDENCE/sub && echo wrote yes
		rm given && echo removed yes
		touch /etc/forbidden 2>/dev/null || echo etc closed
		sleep 1000 & # left behind: must not keep the machine running
		echo complaint >&2
		exit 7`}, &stdout, &stderr)
	require.NoError(t, err)
	t.Logf("boot %s, run %s, accelerator %v", result.Boot, result.Run, result.Accel)
	assert.Equal(t, 7, result.Exit)
	got := lines(stdout.String())
	assert.Equal(t, "disabled", got["state"])
	if os.Getuid() == 0 {
		assert.Equal(t, "65534", got["user"])
	} else {
		assert.Equal(t, strconv.Itoa(os.Getuid()), got["user"])
	}
	assert.Equal(t, shared, got["dir"])
	assert.Equal(t, "from the host", got["given"])
	assert.Equal(t, "a value", got["env"])
	assert.Equal(t, "lo", got["network"], "a guest has no network")
	assert.Equal(t, "yes", got["wrote"])
	assert.Equal(t, "yes", got["removed"])
	assert.Equal(t, "closed", got["etc"])
	assert.Equal(t, "complaint\n", stderr.String())

	for name, want := range map[string]string{"sub": "evidence\n", strings.TrimPrefix(shared, "/") + "/made": "written\n"} {
		data, err := os.ReadFile(filepath.Join(c.EvidenceDir, name))
		require.NoError(t, err)
		assert.Equal(t, want, string(data))
	}
	assert.Equal(t, []string{"no evidence at /tmp/absent"}, result.Notes)
	console, err := os.ReadFile(filepath.Join(c.EvidenceDir, consoleName))
	require.NoError(t, err)
	assert.NotEmpty(t, console, "the console is kept")
	entries, err := os.ReadDir(shared)
	require.NoError(t, err)
	require.Len(t, entries, 1, "the host's files are unchanged")
	assert.Equal(t, "given", entries[0].Name())
}

// racers prints what depends on time, order and randomness: four processes that append to one file, the clock, random bytes.
const racers = `
	for i in 1 2 3 4; do (
		j=0
		while [ $j -lt 40 ]; do
			j=$((j + 1))
			echo "$i $j $(cut -d' ' -f1 /proc/uptime)" >>/tmp/o
			[ $((j % 10)) -ne $i ] || usleep $((i * 700))
		done
	) & done
	wait
	cat /tmp/o
	head -c 16 /dev/urandom | md5sum
	cat /proc/interrupts
	head -1 /proc/stat
	cp /tmp/o $MISSTEP_EVIDENCE/order
	exit 3`

func TestDeterministicMachineRepeatsItself(t *testing.T) {
	t.Parallel()
	run := func(seed uint64) string {
		c := machineConfig(t, ModeDeterministic)
		c.Seed = seed
		var stdout, stderr bytes.Buffer
		result, err := Boot(t.Context(), c, []string{"sh", "-c", racers}, &stdout, &stderr)
		require.NoError(t, err)
		assert.Equal(t, 3, result.Exit)
		assert.Empty(t, stderr.String())
		order, err := os.ReadFile(filepath.Join(c.EvidenceDir, "order"))
		require.NoError(t, err)
		assert.True(t, strings.HasPrefix(stdout.String(), string(order)))
		return stdout.String()
	}
	first := run(1)
	assert.Equal(t, first, run(1), "the same seed")
	assert.NotEqual(t, first, run(2), "another seed")
	last, changes := "", 0
	for line := range strings.Lines(first) {
		if who, _, _ := strings.Cut(line, " "); who != last {
			last = who
			changes++
		}
	}
	assert.Greater(t, changes, 20, "the processes must alternate, or the test proves little")
}

// race is a Java program with a data race: what it prints differs from run to run on a real machine.
const race = `
import java.util.ArrayList;
import java.util.List;

public class Race {
  static int count;

  public static void main(String[] arguments) throws Exception {
    for (int round = 0; round < 3; round++) {
      count = 0;
      List<Thread> threads = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        Thread thread = new Thread(() -> { for (int j = 0; j < 200_000; j++) count++; });
        threads.add(thread);
        thread.start();
      }
      for (Thread thread : threads) thread.join();
      System.out.println(count + " " + System.nanoTime());
    }
    System.out.println(System.identityHashCode(new Object()) + " " + new java.util.Random().nextLong());
  }
}
`

func TestRecordedJavaRaceIsReplayedByteForByte(t *testing.T) {
	t.Parallel()
	c := machineConfig(t, ModeDeterministic)
	javac := testenvJavac(t)
	javaHome := filepath.Dir(filepath.Dir(javac))
	classes := t.TempDir()
	source := filepath.Join(classes, "Race.java")
	require.NoError(t, os.WriteFile(source, []byte(race), 0o644))
	out, err := exec.Command(javac, "-d", classes, source).CombinedOutput()
	require.NoError(t, err, "%s", out)
	jre, err := JRE(t.Context(), c.Home, javaHome, nil)
	require.NoError(t, err)

	c.Trees = []Tree{jre, {Host: classes, Guest: "/classes"}}
	c.Record = filepath.Join(t.TempDir(), "recording")
	c.Memory = 768
	var recorded, stderr bytes.Buffer
	started := time.Now()
	result, err := Boot(t.Context(), c, []string{
		filepath.Join(javaHome, "bin", "java"), "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", "/classes", "Race",
	}, &recorded, &stderr)
	require.NoError(t, err, "%s", &stderr)
	require.Zero(t, result.Exit, "%s%s", &recorded, &stderr)
	assert.Len(t, strings.Split(strings.TrimSpace(recorded.String()), "\n"), 4)
	log, err := os.Stat(filepath.Join(c.Record, replayFileName))
	require.NoError(t, err)
	t.Logf("recorded in %s (guest: boot %s, run %s), log of %d bytes:\n%s", time.Since(started), result.Boot, result.Run,
		log.Size(), &recorded)

	var replayed bytes.Buffer
	started = time.Now()
	again, err := Replay(t.Context(), c.Record, ReplayConfig{Log: t.Logf}, &replayed, nil)
	require.NoError(t, err)
	t.Logf("replayed in %s", time.Since(started))
	assert.Equal(t, recorded.String(), replayed.String())
	assert.Equal(t, result.Run, again.Run, "to the nanosecond of the guest's clock")

	t.Run("a damaged recording is refused", func(t *testing.T) {
		path := filepath.Join(c.Record, replayFileName)
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		data[len(data)/2] ^= 1
		require.NoError(t, os.WriteFile(path, data, 0o644))
		_, err = Replay(t.Context(), c.Record, ReplayConfig{}, io.Discard, nil)
		require.ErrorContains(t, err, "replay.bin is damaged")
	})
}

func TestTheGuestsClockLimitsACommand(t *testing.T) {
	t.Parallel()
	c := machineConfig(t, ModeDeterministic)
	c.GuestLimit = 10 * time.Minute // sleeping costs almost nothing in virtual time
	var stdout bytes.Buffer
	result, err := Boot(t.Context(), c, []string{"sh", "-c", "echo begun; sleep 1000000"}, &stdout, nil)
	require.NoError(t, err)
	assert.True(t, result.TimedOut)
	assert.Equal(t, 137, result.Exit)
	assert.Equal(t, "begun\n", stdout.String())
	assert.GreaterOrEqual(t, result.Run, c.GuestLimit)
}
