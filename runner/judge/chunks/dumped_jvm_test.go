//go:build linux

package chunks_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"misstep/internal/testenv"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/runner/recording"
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

// crashed makes the JVM crash, and returns the path of its emergency dump, "" if it left none.
func crashed(t *testing.T, p *exec.Cmd, dir string) string {
	t.Helper()
	require.NoError(t, unix.Tgkill(p.Process.Pid, mainThread(t, p.Process.Pid), unix.SIGSEGV))
	require.Error(t, p.Wait(), "the JVM is to crash")
	file := filepath.Join(dir, fmt.Sprintf("hs_err_pid%d.jfr", p.Process.Pid))
	if _, err := os.Stat(file); err != nil {
		require.ErrorIs(t, err, fs.ErrNotExist)
		return ""
	}
	return file
}

// Dumps that jcmd orders while the program runs are whole recordings, and so is the emergency dump of the JVM when it crashes.
func TestDumpsOfARunningAndOfACrashedJVM(t *testing.T) {
	h := helper(t)
	for _, name := range jdksThatDump {
		t.Run(name+"/running", func(t *testing.T) { requireWholeDumps(t, h, testenv.Catalogued(t, name)) })
		t.Run(name+"/crashed", func(t *testing.T) { requireEmergencyDump(t, h, testenv.Catalogued(t, name)) })
	}
}

func requireWholeDumps(t *testing.T, h recording.Helper, j testenv.JDK) {
	t.Helper()
	dir := t.TempDir()
	p, _ := running(t, j, dir)
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
}

// ofDumpsUpTo13 reports whether HotSpot's source up to 13 explains a fault of an emergency dump. Without a safepoint no threads are
// written, and stack traces once only, before the events: those that other threads record meanwhile are lost
// (JfrRecorderService::finalize_current_chunk_on_vm_error, pre_safepoint_write), a few in the chunk that lacks its threads. Names
// of files are compared up to their dot, so that the current chunk, T.part, and one that was finished in the second in which it
// began, T.jfr, come in any order (jfrEmergencyDump.cpp: file_sort; RepositoryChunk.java: findFileName). Where an event's thread
// was not written, the rule ended-before-rotation, which needs it, does not apply to its type.
func ofDumpsUpTo13(m *misstepv1.Mismatch, all []*misstepv1.Mismatch) bool {
	const mostMeanwhile = 20
	f := m.GetRecordingFault()
	lacksThread := func(what func(*misstepv1.RecordingFault) bool) bool {
		return slices.ContainsFunc(all, func(other *misstepv1.Mismatch) bool {
			o := other.GetRecordingFault()
			return o.GetType() == "java.lang.Thread" && o.GetField() == "eventThread" && what(o)
		})
	}
	switch {
	case f.GetType() == "java.lang.Thread":
		return true
	case f.GetType() == "jdk.types.StackTrace":
		return m.GetCount() <= mostMeanwhile &&
			lacksThread(func(o *misstepv1.RecordingFault) bool { return o.GetChunk() == f.GetChunk() })
	case f.GetField() == "before":
		return lacksThread(func(o *misstepv1.RecordingFault) bool { return o.GetReferrer() == f.GetType() })
	}
	return f.GetType() == "" && f.GetField() == "ticks before the previous chunk"
}

// mostCrashes bounds the JVMs that are made to crash for one dump with chunks.
const mostCrashes = 5

// requireEmergencyDump makes JVMs crash until one leaves a dump with chunks: those before, and the current one, which the dying JVM
// finishes (HotSpot jfrEmergencyDump.cpp). HotSpot promises no dump: it is made in the error handler, where another fault or the
// time limit ends it, and where locks of JFR's may be held for ever. So a JVM may leave none (seen on 11), an empty one (seen on
// 17, 25 and 28) or a whole one.
func requireEmergencyDump(t *testing.T, h recording.Helper, j testenv.JDK) {
	t.Helper()
	var without []string
	for range mostCrashes {
		dir := t.TempDir()
		p, output := running(t, j, dir)
		file := crashed(t, p, dir)
		if file == "" {
			without = append(without, "no dump: "+output.String())
			continue
		}
		r := judgedFiles(t, h, file)
		r.log(t)
		if r.chunks == 0 {
			require.Equal(t, r.Count.GetTotal(), r.Count.GetTolerated()[recipe.RuleUnfinishedChunk])
			without = append(without, "an empty dump: "+output.String())
			continue
		}
		require.Greater(t, r.Count.GetMatch(), uint64(1000))
		require.Empty(t, r.Count.GetVoid())
		for _, m := range unlabelled(j, r.Verdicts) {
			require.True(t, j.Feature < 14 && ofDumpsUpTo13(m, r.Mismatches), "%v", m)
		}
		return
	}
	t.Skipf("none of %d JVMs that crashed left an emergency dump with chunks, which HotSpot does not promise:\n%s",
		mostCrashes, strings.Join(without, "\n"))
}
