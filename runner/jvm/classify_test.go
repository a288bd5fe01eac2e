package jvm

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/encoding/protojson"

	"misstep/agent"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner"
	"misstep/runner/process"
	"misstep/runner/scratch"
	"misstep/triage"
)

func record(t *testing.T, check string, caller string, extra int, count uint64) string {
	t.Helper()
	frames := []*misstepv1.Frame{
		{ClassName: "a.Callee", Method: "m"},
		{ClassName: caller, Method: "m"},
		{ClassName: "a.Main", Method: "main"},
	}
	for i := range extra { // on top, where equal bugs differ
		frames = append([]*misstepv1.Frame{{ClassName: "a.Top", Method: fmt.Sprint("m", i)}}, frames...)
	}
	text, err := protojson.Marshal(&misstepv1.Mismatch{
		Check: check, Kind: "truncated", Divergence: 2, Count: count, Sequence: uint64(extra), // small
		Reference: &misstepv1.Trace{Frames: frames}, Suspect: &misstepv1.Trace{Frames: frames[len(frames)-2:]},
	})
	require.NoError(t, err)
	return string(text) + "\n"
}

func read(t *testing.T, text string) ([]*misstepv1.Mismatch, int) {
	t.Helper()
	path := filepath.Join(t.TempDir(), fileRecords)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	records, err := readRecords(t.Context(), path)
	require.NoError(t, err)
	return records.Mismatches, records.Damaged
}

func TestEqualRecordsAreCountedTogether(t *testing.T) {
	mismatches, damaged := read(t, record(t, "gst-asgct", "a.A", 7, 0)+record(t, "gst-asgct", "a.A", 2, 4)+record(t,
		"gst-asgct", "a.B", 0, 1)+
		record(t, "shadow-gst", "a.A", 0, 1))
	require.Zero(t, damaged)
	require.Len(t, mismatches, 3)
	require.Equal(t, uint64(5), mismatches[0].GetCount())
	require.Equal(t, uint64(2), mismatches[0].GetSequence(), "the shorter one is the example")
}

func TestDamagedRecords(t *testing.T) {
	good := record(t, "gst-asgct", "a.A", 0, 1)
	mismatches, damaged := read(t, "{\"check\":\n"+good+"[]\n"+good+"{}\n\n{\"check\":\"gst-asgct\"}\n"+good+`{"check":"gst-as`)
	require.Equal(t, 4, damaged, "the torn last line is counted apart")
	require.Equal(t, uint64(3), mismatches[0].GetCount())
	require.Equal(t, 1, readAll(t, strings.NewReader(good+`{"check":"gst-as`)).Torn)
	require.Zero(t, readAll(t, strings.NewReader(good+strings.TrimSpace(good))).Torn, "a whole record without a line's end")
	long := readAll(t, strings.NewReader(good+`{"check":"`+strings.Repeat("x", maxRecordBytes)+"\"}\n"+good))
	require.Equal(t, 1, long.TooLarge)
	require.Len(t, long.Mismatches, 1)
	require.Equal(t, uint64(2), long.Mismatches[0].GetCount(), "what comes after it is read")
	require.NotEmpty(t, long.excess())
	mismatches, _ = read(t, strings.Replace(good, "{", `{"field_of_a_newer_agent":1,`, 1))
	require.Len(t, mismatches, 1)
	absent, err := readRecords(t.Context(), filepath.Join(t.TempDir(), "absent"))
	require.NoError(t, err)
	require.Zero(t, absent)
}

func TestARecordOfTheDeepestStacksIsRead(t *testing.T) {
	deep := &misstepv1.Trace{}
	for range 1 << 14 { // the most that limits.stack_depth takes
		deep.Frames = append(deep.Frames, &misstepv1.Frame{
			ClassName: strings.Repeat("c", 80), Method: strings.Repeat("m", 40),
			Descriptor_: strings.Repeat("d", 120),
		})
	}
	text, err := protojson.Marshal(&misstepv1.Mismatch{Check: "gst-asgct", Kind: "missing", Reference: deep, Suspect: deep})
	require.NoError(t, err)
	mismatches, damaged := read(t, string(text)+"\n")
	require.Zero(t, damaged)
	require.Len(t, mismatches, 1)
}

func TestAtMostSoManyMismatches(t *testing.T) {
	var text strings.Builder
	for i := range 3 * maxRecords {
		text.WriteString(record(t, "gst-asgct", fmt.Sprint("a.A", i), 0, 1))
	}
	mismatches, _ := read(t, text.String())
	require.Len(t, mismatches, maxRecords)
	outcome := &misstepv1.Outcome{Mismatches: mismatches}
	shrink(outcome, triage.MaxOutcome)
	require.LessOrEqual(t, len(outcome.GetMismatches()), triage.MaxMismatches)
	require.EqualValues(t, maxRecords-len(outcome.GetMismatches()), outcome.GetMismatchesLeftOut())
}

// Triage sees what was on top when a walk went wrong, so one boundary has several records; where there is no room for all, each
// boundary has one.
func TestMomentsOfABoundaryAreApart(t *testing.T) {
	var text strings.Builder
	for _, caller := range []string{"a.Often", "a.Rare"} {
		for i := range 3 {
			var m misstepv1.Mismatch
			require.NoError(t, protojson.Unmarshal([]byte(record(t, "asgct-shadow", caller, 0, uint64(3-i))), &m))
			m.Code, m.TopState = []byte{byte(i)}, "compiled"
			if caller == "a.Often" {
				m.Count *= 100
			}
			line, err := protojson.Marshal(&m)
			require.NoError(t, err)
			text.WriteString(string(line) + "\n" + string(line) + "\n")
		}
	}
	mismatches, damaged := read(t, text.String())
	require.Zero(t, damaged)
	var counts []uint64
	for _, m := range mismatches {
		counts = append(counts, m.GetCount())
	}
	require.Equal(t, []uint64{600, 6, 400, 4, 200, 2}, counts)
}

func TestVerdictsAddUpToTotals(t *testing.T) {
	c := countOf("asgct-shadow", agent.CheckCount{
		Total: 100, Match: 50, Mismatch: 1, Tolerated: map[string]uint64{"a": 9}, Unwalkable: map[int32]uint64{-5: 10},
		Void: map[string]uint64{"overrun": 5},
	})
	require.Equal(t, uint64(25), c.GetVoid()["unjudged"], "the JVM died before they were judged")
	require.Equal(t, c.GetTotal(), compared(c)+sum(c.GetUnwalkable())+sum(c.GetVoid()))
	c = countOf("x", agent.CheckCount{Total: 3, Match: 4})
	require.Equal(t, uint64(4), c.GetTotal())

	const all = math.MaxUint64 // as a workload may write it
	c = countOf("x", agent.CheckCount{
		Total: all, Match: all, Mismatch: all, Tolerated: map[string]uint64{"a": all}, Unwalkable: map[int32]uint64{-5: all},
		Void: map[string]uint64{"b": all},
	})
	require.Equal(t, uint64(5*mostCounted), c.GetTotal())
	require.Equal(t, c.GetTotal(), compared(c)+sum(c.GetUnwalkable())+sum(c.GetVoid()))
}

func TestIdleChecksAreNamed(t *testing.T) {
	worked := &misstepv1.CheckCount{Check: "gst-asgct", Total: 1, Tolerated: map[string]uint64{"rule": 1}}
	idle := &misstepv1.CheckCount{
		Check: "asgct-shadow", Total: 9, Unwalkable: map[int32]uint64{-5: 8},
		Void: map[string]uint64{"overrun": 1},
	}
	unseen := &misstepv1.CheckCount{Check: "shadow-gst"}
	require.Empty(t, (&trial{}).idle(nil), "nothing was asked for")
	started := &trial{status: agent.Status{Started: true}, recorded: true}
	require.Empty(t, started.idle([]*misstepv1.CheckCount{worked}))
	require.Contains(t, started.idle([]*misstepv1.CheckCount{worked, idle}),
		"asgct-shadow compared nothing: of 9 samples 8 were unwalkable and 1 void")
	require.Contains(t, started.idle([]*misstepv1.CheckCount{worked, unseen}),
		"shadow-gst compared nothing: it took no sample")
	few := &misstepv1.CheckCount{
		Check: "asgct-shadow", Total: 100, Match: 4, Unwalkable: map[int32]uint64{-5: 90}, Void: map[string]uint64{"overrun": 6},
	}
	require.Equal(t, "check asgct-shadow compared too little: 4 of 100 samples, less than 5%; 90 were unwalkable and 6 void",
		started.idle([]*misstepv1.CheckCount{worked, few}))
	few.Match, few.Tolerated = 3, map[string]uint64{"rule": 2}
	require.Empty(t, started.idle([]*misstepv1.CheckCount{worked, few}), "enough")
	require.Empty(t, started.idle([]*misstepv1.CheckCount{{Check: "liveness", Total: 100, Match: 1}}), "it declares no share")
}

// A JVM that ends before the checks begin has done what its user asked for: the agent did not fail.
func TestHowAJVMEndedBeforeItsChecksBegan(t *testing.T) {
	worked := []*misstepv1.CheckCount{{Check: "gst-asgct", Total: 1, Match: 1}}
	for want, early := range map[string]*trial{
		"the JVM ended with exit code 1 before it loaded the agent; what it printed says why": {
			ended: process.Result{ExitCode: 1},
		},
		"the JVM ended in order before the agent's checks began": {recorded: true},
		"SIGKILL ended the JVM before it loaded the agent": {
			ended: process.Result{ExitCode: -1, Signal: unix.SIGKILL},
		},
		"the JVM did not get as far as the agent's checks": {recorded: true, ended: process.Result{ExitCode: -1}},
	} {
		require.Equal(t, want, early.idle(worked))
	}
}

func TestLivenessCountsLooksFromOutside(t *testing.T) {
	trial := &trial{
		recipe: &misstepv1.Recipe{Checks: []*misstepv1.Check{{Name: "liveness"}}}, looks: 7,
		status: agent.Status{Checks: []agent.CheckCount{{Name: "liveness", Total: 3, Match: 3}}},
	}
	require.Equal(t, uint64(10), trial.counts()[0].GetMatch())
	trial.verdict.hang = &misstepv1.Hang{}
	require.Equal(t, uint64(11), trial.counts()[0].GetTotal())
	require.Equal(t, uint64(1), trial.counts()[0].GetMismatch())
}

// A record of another version than the runner's says nothing about the checks.
func TestARecordThatCannotBeReadIsNoVoidTrial(t *testing.T) {
	trial := &trial{
		recipe: &misstepv1.Recipe{Checks: []*misstepv1.Check{{Name: "liveness"}}},
		folder: &scratch.Folder{Path: t.TempDir()},
	}
	trial.readStatus()
	require.NoError(t, trial.unread, "the JVM may not have got so far")
	require.NoError(t, os.Mkdir(trial.path(dirAgent), 0o700))
	require.NoError(t, os.WriteFile(trial.path(dirAgent, fileStatus), []byte("MISSTEP0"), 0o600))
	trial.readStatus()
	require.ErrorIs(t, trial.unread, agent.ErrStatus)
	require.False(t, trial.recorded)
}

func TestCrashIsLocatedByTheFlightRecord(t *testing.T) {
	trial := &trial{status: agent.Status{Threads: []agent.ThreadSlot{
		{TID: 1}, {TID: 2, Phase: agent.PhaseCheck, Sequence: 9, PC: 9}, {
			TID: 3, Phase: agent.PhaseWalk, Sequence: 7,
			PC: 0x1234,
		}, {TID: 5, Phase: agent.PhaseGuess, Sequence: 8, PC: 8},
	}}}
	for tid, want := range map[int64]struct {
		inWalk bool
		phase  string
	}{1: {false, ""}, 2: {false, "check"}, 3: {true, "walk"}, 4: {false, ""}, 5: {true, "guess"}, 0: {true, "walk"}} {
		crash := &misstepv1.Crash{}
		trial.locate(crash, tid)
		require.Equal(t, want.inWalk, crash.GetInWalk(), tid)
		require.Equal(t, want.phase, crash.GetPhase(), tid)
		require.Equal(t, map[string]uint64{"walk": 7, "guess": 8}[want.phase], crash.GetSample(), tid)
		require.Equal(t, map[string]uint64{"walk": 0x1234, "guess": 8}[want.phase], crash.GetWalkPc(), tid)
	}
}

// TestStuck: only a walk that is old at two looks in a row counts.
func TestStuck(t *testing.T) {
	var now unix.Timespec
	require.NoError(t, unix.ClockGettime(unix.CLOCK_MONOTONIC, &now))
	old := uint64(now.Nano()) - uint64(inWalkAge) - 1e9 // the machine runs longer than that
	in := func(phase agent.Phase, enter uint64) agent.Status {
		return agent.Status{Threads: []agent.ThreadSlot{{TID: 5, Phase: phase, EnterNanos: enter}}}
	}
	var s stuckness
	for i, step := range []struct {
		status agent.Status
		stuck  bool
	}{
		{in(agent.PhaseWalk, old), false},
		{in(agent.PhaseNone, old), false},
		{in(agent.PhaseWalk, old), false},
		{in(agent.PhaseWalk, old+1), false},              // another walk
		{in(agent.PhaseWalk, uint64(now.Nano())), false}, // positive
		{in(agent.PhaseCheck, old), false},
		{in(agent.PhaseCheck, old), false}, // may wait for a safepoint
		{in(agent.PhaseNone, old), false},
		{in(agent.PhaseWalk, old), false},
		{in(agent.PhaseWalk, old), true},
	} {
		slot, age := s.look(step.status, true)
		require.Equal(t, step.stuck, slot != nil, i)
		require.True(t, slot == nil || age > inWalkAge)
	}
	hung := &agent.ThreadSlot{TID: 5, Phase: agent.PhaseWalk, EnterNanos: old}
	require.True(t, isIn(in(agent.PhaseWalk, old), hung))
	require.True(t, isIn(in(agent.PhaseHandler, old), hung))
	require.False(t, isIn(in(agent.PhaseNone, old), hung), "it came back")
	require.False(t, isIn(in(agent.PhaseWalk, old+1), hung), "and walks again")
	require.False(t, isIn(agent.Status{}, hung))
	slot, _ := s.look(in(agent.PhaseWalk, old), false)
	require.Nil(t, slot, "there is no record")

	// A scheduler that holds a thread in a walk, as it was asked to, hangs nothing.
	may, ran := true, uint64(5e9)
	held := stuckness{held: func(uint32) (bool, uint64) { return may, ran }}
	looks := func(enter uint64) *agent.ThreadSlot {
		slot, _ := held.look(in(agent.PhaseWalk, enter), true)
		return slot
	}
	for range 3 {
		require.Nil(t, looks(old))
		ran += uint64(maxWalkCPU) / 4 // between what it is held for
	}
	require.Nil(t, looks(old))
	ran += uint64(maxWalkCPU) / 4
	require.NotNil(t, looks(old), "it runs for longer than a walk takes")
	require.Nil(t, looks(old+1), "another walk has not run yet")
	require.Nil(t, looks(old+1))
	may = false
	require.Nil(t, looks(old+1), "at the last look it may have been held")
	require.NotNil(t, looks(old+1), "it sleeps")
	may = true
	ran += uint64(maxWalkCPU)
	guesses, _ := held.look(in(agent.PhaseGuess, old+1), true)
	require.Nil(t, guesses, "many walks may run for longer")
	long := uint64(now.Nano()) - uint64(heldAge) - 1e9
	require.Nil(t, looks(long))
	require.NotNil(t, looks(long), "nobody is held for so long")
}

// What decides whether a thread may be held, of real ones: one that sleeps, and one that runs.
func TestThreadsThatSleepOrRun(t *testing.T) {
	tids, end := make(chan int, 2), make(chan struct{})
	var ended sync.WaitGroup
	t.Cleanup(func() { close(end); ended.Wait() })
	for _, sleeps := range []bool{true, false} {
		ended.Go(func() {
			runtime.LockOSThread()
			tids <- unix.Gettid()
			for {
				select {
				case <-end:
					return
				default:
					if sleeps {
						_ = unix.Nanosleep(&unix.Timespec{Nsec: 1e8}, nil)
					}
				}
			}
		})
		tid := int64(<-tids)
		require.Eventually(t, func() bool {
			may, ran := mayBeHeld(os.Getpid(), tid)
			return may != sleeps && (sleeps || ran > uint64(maxWalkCPU))
		}, 10*time.Second, time.Millisecond)
	}
	require.Equal(t, "?", threadState(os.Getpid(), 1<<40))
}

func TestAnAgentOnAFullDiskIsTriedAgain(t *testing.T) {
	err := refused("/scratch", "misstep: cannot reserve /scratch/x/agent/status.bin: No space left on device")
	require.ErrorIs(t, err, scratch.ErrNoSpace)
	require.False(t, runner.IsPermanent(err))
	require.True(t, runner.IsPermanent(refused("/scratch", "misstep: unknown option foo")))
}

func TestAgentRefusal(t *testing.T) {
	require.Equal(
		t,
		"misstep: unknown option foo",
		agentRefusal(
			[]byte(
				"misstep: unknown option foo\nError occurred during initialization of VM\nagent library failed to init: misstep\n",
			),
			nil,
		),
	)
	require.Contains(
		t,
		agentRefusal(
			nil,
			[]byte("Could not find agent library /x/libmisstep.so in absolute path, with error: no such file\n"),
		),
		"Could not find",
	)
	require.Empty(t, agentRefusal([]byte("Exception in thread \"main\" java.lang.Error\n"), []byte("secret agent man\n")))
}

func TestScriptCanBeRun(t *testing.T) {
	require.Equal(t, "# The command needs these folders, which were removed after the trial:\n# mkdir -p '/a b/work' /agent\n"+
		"exec /jdk/bin/java \\\n  -Xmx64m \\\n  '-Dx=a b' \\\n  'it'\\''s' \\\n  ''\n",
		string(script("/jdk/bin/java", []string{"-Xmx64m", "-Dx=a b", "it's", ""}, nil, "/a b/work", "/agent")))

	// A schedule log knows threads by who created them: who runs the script must become the program, not its parent.
	file := filepath.Join(t.TempDir(), "command.sh")
	require.NoError(t, os.WriteFile(file, script("/bin/sh", []string{"-c", "echo $$ $PPID"}, nil), 0o644))
	cmd := exec.Command("bash", file)
	out, err := cmd.Output()
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf("%d %d\n", cmd.Process.Pid, os.Getpid()), string(out))
}

func TestLimitsOf(t *testing.T) {
	l := limitsOf(nil)
	require.Equal(t, limits{2 * time.Minute, 4 << 30, 16 << 20, 512 << 20}, l)
	l = limitsOf(&misstepv1.Limits{MemoryMib: 1, OutputMib: 2, DiskMib: 3, StackDepth: 4, Mismatches: 5})
	require.Equal(t, limits{2 * time.Minute, 1 << 20, 2 << 20, 3 << 20}, l)
	o := agent.OptionsOf(&misstepv1.Recipe{Limits: &misstepv1.Limits{StackDepth: 64, Mismatches: 5}, Evidence: "every"}, "/out")
	require.Contains(t, o.String(), ",depth=64,evidence=every,max-mismatches=5")
}
