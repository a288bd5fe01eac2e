//go:build linux

package chunks_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"misstep/internal/testenv"
	"misstep/recipe"
)

// jdksThatDump are one JDK of each generation of JFR: before event streaming (JEP 349, 14), before and after cooperative sampling
// (JEP 518, 25).
var jdksThatDump = []string{"jdk11", "jdk17", "jdk25", "jdk28"}

// running starts epochs, which runs until the test stops it, and waits until the recorder has written a chunk.
func running(t *testing.T, j testenv.JDK, dir string) (p *exec.Cmd, output *bytes.Buffer) {
	t.Helper()
	output = &bytes.Buffer{}
	p = program(t, j, "epochs", dir, "-Dmisstep.repetitions=1000", "-XX:-CreateCoredumpOnCrash",
		"-XX:ErrorFile=hs_err.log", "-XX:ErrorLogTimeout=10")
	p.Stdout, p.Stderr = output, output
	require.NoError(t, p.Start())
	t.Cleanup(func() { _ = p.Process.Kill() })
	require.Eventually(t, func() bool {
		found, _ := filepath.Glob(filepath.Join(dir, "*", "*.jfr"))
		return len(found) > 2
	}, time.Minute, 100*time.Millisecond, "the recorder begins no chunks")
	return p, output
}

// mainThread returns the kernel's id of the JVM's main thread: the launcher's first thread starts it first and waits for it.
func mainThread(t *testing.T, pid int) int {
	t.Helper()
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	require.NoError(t, err)
	main := 0
	for _, task := range tasks {
		if tid, err := strconv.Atoi(task.Name()); err == nil && tid != pid && (main == 0 || tid < main) {
			main = tid
		}
	}
	require.NotZero(t, main)
	return main
}

// crashed makes the JVM crash, and returns the path of its emergency dump.
func crashed(t *testing.T, p *exec.Cmd, output *bytes.Buffer, dir string) string {
	t.Helper()
	require.NoError(t, unix.Tgkill(p.Process.Pid, mainThread(t, p.Process.Pid), unix.SIGSEGV))
	require.Error(t, p.Wait(), "the JVM is to crash")
	file := filepath.Join(dir, fmt.Sprintf("hs_err_pid%d.jfr", p.Process.Pid))
	_, err := os.Stat(file)
	require.NoError(t, err, "no emergency dump: %s", output)
	return file
}

// Dumps that jcmd orders while the program runs are whole recordings, and so is the emergency dump of the JVM when it crashes: it
// has the chunks before, and the current one, which the dying JVM finishes (HotSpot jfrEmergencyDump.cpp).
func TestDumpsOfARunningAndOfACrashedJVM(t *testing.T) {
	h := helper(t)
	for _, name := range jdksThatDump {
		t.Run(name, func(t *testing.T) {
			j, dir := testenv.Catalogued(t, name), t.TempDir()
			p, output := running(t, j, dir)
			for i := range 2 {
				file := filepath.Join(dir, fmt.Sprintf("dumped-%d.jfr", i))
				said, err := exec.CommandContext(t.Context(), j.Tool("jcmd"), strconv.Itoa(p.Process.Pid),
					"JFR.dump", "name=all", "filename="+file).CombinedOutput()
				require.NoError(t, err, "%s", said)
				r := judgedFiles(t, h, file)
				r.log(t)
				require.Greater(t, r.Count.GetMatch(), uint64(1000))
				require.Empty(t, r.Count.GetVoid())
				require.Zero(t, r.Count.GetTolerated()[recipe.RuleUnfinishedChunk])
				requireFewNew(t, j, r.Verdicts)
			}

			r := judgedFiles(t, h, crashed(t, p, output, dir))
			for try := 0; r.chunks == 0 && try < 2; try++ {
				t.Log("an empty emergency dump: another crash may find the locks of JFR free")
				dir = t.TempDir()
				p, output = running(t, j, dir)
				r = judgedFiles(t, h, crashed(t, p, output, dir))
			}
			r.log(t)
			if r.chunks == 0 { // the dying JVM waited for locks of JFR's until its time was up: seen on 17, 25 and 28
				require.Equal(t, r.Count.GetTotal(), r.Count.GetTolerated()[recipe.RuleUnfinishedChunk])
				return
			}
			require.Greater(t, r.Count.GetMatch(), uint64(1000))
			require.Empty(t, r.Count.GetVoid())
			for _, m := range unlabelled(j, r.Verdicts) {
				// Without a safepoint no threads are written (JfrRecorderService::finalize_current_chunk_on_vm_error of 11).
				f := m.GetRecordingFault()
				require.True(t, j.Feature < 14 && f.GetType() == "java.lang.Thread", "%v", m)
			}
		})
	}
}
