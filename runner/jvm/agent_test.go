package jvm

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/types/known/durationpb"

	"misstep/agent"
	"misstep/internal/faults"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner"
	"misstep/workloads"
)

// withAgent is a stand with the agent that `make agent` built, or none.
func withAgent(t *testing.T) *stand {
	t.Helper()
	s := newStand(t)
	found, err := agent.Find(filepath.Join("..", "..", "build", "agent"))
	if err != nil {
		t.Skipf("the agent is not built: %v", err)
	}
	s.Agent = found
	return s
}

// use takes a workload that `make workloads` built.
func (s *stand) use(t *testing.T, name string) {
	t.Helper()
	dir := filepath.Join("..", "..", "build", "workloads", name)
	if _, err := os.Stat(filepath.Join(dir, workloads.ManifestFile)); err != nil {
		t.Skipf("the workload is not built, run `make workloads`: %v", err)
	}
	s.Workload = func(context.Context, *misstepv1.Workload) (string, workloads.Manifest, error) {
		m, err := workloads.Load(dir)
		return dir, m, err
	}
}

func checked(feature int, name string) *misstepv1.Recipe {
	return &misstepv1.Recipe{
		Jdk: &misstepv1.Jdk{Name: recipeOf(feature).GetJdk().GetName()}, Workload: &misstepv1.Workload{
			Name:        name,
			Repetitions: 1,
		}, Seed: 1,
		Instrumentation: &misstepv1.Instrumentation{Ratio: 0.3},
		Sampling:        &misstepv1.Sampling{Interval: durationpb.New(time.Millisecond), Jitter: 0.5},
		Checks:          []*misstepv1.Check{{Name: "gst-asgct"}, {Name: "shadow-gst"}, {Name: "asgct-shadow"}, {Name: "liveness"}},
		Limits:          &misstepv1.Limits{Wall: durationpb.New(2 * time.Minute)},
	}
}

func requireProof(t *testing.T, outcome *misstepv1.Outcome) {
	t.Helper()
	require.Len(t, outcome.GetChecks(), 4)
	for _, c := range outcome.GetChecks() {
		require.Positive(t, compared(c), "%v", c)
		require.Equal(t, c.GetTotal(), compared(c)+sum(c.GetUnwalkable())+sum(c.GetVoid()), "the verdicts of %s add up",
			c.GetCheck())
	}
	require.Positive(t, outcome.GetSignals().GetAnswered())
	require.LessOrEqual(t, outcome.GetSignals().GetAnswered(), outcome.GetSignals().GetDelivered())
}

func TestChecksDoWork(t *testing.T) {
	s := withAgent(t)
	for feature := range jdks() {
		t.Run(recipeOf(feature).GetJdk().GetName(), func(t *testing.T) {
			recipe := checked(feature, "fixture")
			recipe.Workload.Arguments = []string{"work", "3000"}
			outcome, err := s.run(t, t.Context(), recipe)
			require.NoError(t, err)
			t.Logf("%s in %v: %v", outcome.GetReason(), outcome.GetWall().AsDuration(), outcome.GetChecks())
			require.Contains(t, []misstepv1.OutcomeKind{clean, misstepv1.OutcomeKind_OUTCOME_KIND_MISMATCHES},
				outcome.GetKind(), outcome.GetReason())
			requireProof(t, outcome)
			require.NotEmpty(t, s.evidence(t, outcome, "status.json"))
		})
	}
}

// A slow debugger does not make a hang of a JVM that makes progress.
func TestSlowIsNoHang(t *testing.T) {
	s := withAgent(t)
	bin := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(bin, "gdb"), fmt.Appendf(nil, "#!/bin/sh\nexec sleep %d\n",
		1+int(progressAge.Seconds())), 0o755))
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	for feature := range jdks() {
		recipe := checked(feature, "fixture")
		recipe.Workload.Arguments = []string{"work", "3600000"}
		recipe.Limits.Wall = durationpb.New(12 * time.Second)
		outcome, err := s.run(t, t.Context(), recipe)
		require.NoError(t, err)
		require.Nil(t, outcome.GetHang(), outcome.GetReason())
		require.Equal(t, "time", outcome.GetApplicationFailure().GetReason(), outcome.GetReason())
		return // one is enough: nothing of it is the JDK's
	}
}

// TestKnownBugIsFound: JDK-8303444 is deterministic under -Xcomp on every JDK so far.
func TestKnownBugIsFound(t *testing.T) {
	s := withAgent(t)
	s.use(t, "clinit")
	for feature := range jdks() {
		if feature < 17 {
			continue
		}
		t.Run(recipeOf(feature).GetJdk().GetName(), func(t *testing.T) {
			recipe := checked(feature, "clinit")
			recipe.Instrumentation.Ratio = 1
			recipe.Workload.Arguments = []string{"1"} // of its five rounds each has some ten thousand entries with the bug
			recipe.JvmFlags = []string{"-XX:TieredStopAtLevel=1", "-Xcomp"}
			recipe.Checks = []*misstepv1.Check{{Name: "gst-asgct", Share: 0.02}}
			outcome, err := s.run(t, t.Context(), recipe)
			require.NoError(t, err)
			require.Equal(t, misstepv1.OutcomeKind_OUTCOME_KIND_MISMATCHES, outcome.GetKind(), outcome.GetReason())
			var kinds []string
			for _, m := range outcome.GetMismatches() {
				kinds = append(kinds, m.GetKind())
				require.Positive(t, m.GetCount())
			}
			require.Contains(t, kinds, "truncated")
			require.NotEmpty(t, s.evidence(t, outcome, "mismatches.jsonl"))
			require.Contains(t, s.evidence(t, outcome, agent.FileMethods),
				"misstep/workloads/clinit/Main.main([Ljava/lang/String;)V\n")
		})
	}
}

func TestAgentThatRefusesIsOurFailure(t *testing.T) {
	s := withAgent(t)
	for feature := range jdks() {
		recipe := checked(feature, "fixture")
		recipe.Workload.Arguments = []string{"verified"}
		recipe.Sampling.Signal = "SIGNONSENSE"
		_, err := s.run(t, t.Context(), recipe)
		require.ErrorContains(t, err, "SIGNONSENSE")
		require.True(t, runner.IsPermanent(err))
	}
}

// TestWalkThatDoesNotEnd writes into the flight record of a running JVM what a hung walk would leave there.
func TestWalkThatDoesNotEnd(t *testing.T) {
	s := withAgent(t)
	for feature := range jdks() {
		recipe := checked(feature, "fixture")
		recipe.Workload.Arguments = []string{"loop"}
		recipe.JvmFlags = []string{"-Xmx64m"}
		recipe.Checks = recipe.Checks[3:]
		planted := make(chan struct{})
		stop := make(chan struct{})
		go func() {
			defer close(planted)
			for {
				select {
				case <-stop:
					return
				case <-time.After(50 * time.Millisecond):
				}
				records, _ := filepath.Glob(filepath.Join(s.Scratch, "trial-*", dirAgent, fileStatus))
				for _, record := range records {
					if status, err := agent.ReadStatus(record); err == nil && status.Started && plantWalk(record,
						status.PID) == nil {
						return
					}
				}
			}
		}()
		outcome, err := s.run(t, t.Context(), recipe)
		close(stop)
		<-planted
		require.NoError(t, err)
		require.Equal(t, hang, outcome.GetKind(), outcome.GetReason())
		require.Equal(t, "in-walk", outcome.GetHang().GetCause())
		first := outcome.GetHang().GetThreads()[0]
		require.Contains(t, outcome.GetReason(), strconv.FormatInt(first.GetTid(), 10), "the culprit comes first")
		require.Less(t, outcome.GetWall().AsDuration(), time.Minute, "found before the wall limit")
	}
}

// TestWalksThatDoNotComeBack lets the fault injector hang and crash walks of a real JVM.
func TestWalksThatDoNotComeBack(t *testing.T) {
	library, err := filepath.Abs(filepath.Join("..", "..", "build", "agent-injector", faults.LibraryName))
	require.NoError(t, err)
	if _, err := os.Stat(library); err != nil {
		t.Skipf("no injector, run `make agent`: %v", err)
	}
	for _, c := range []struct{ class, where, phase, only string }{
		{faults.Crash, "signal", "walk", ""},
		{faults.Crash, "entry", "own-walk", ""},
		{faults.Hang, "signal", "in-walk", ""},
		{faults.Hang, "entry", "in-walk", ""},
		{faults.Hang, "signal", "in-walk", "asgct-gst-bracket"},
	} {
		t.Run(strings.TrimSuffix(c.class+"/"+c.where+"/"+c.only, "/"), func(t *testing.T) {
			t.Parallel()
			s, dir := withAgent(t), t.TempDir()
			plain := s.JDK
			s.JDK = func(ctx context.Context, jdk *misstepv1.Jdk) (string, int, error) {
				home, feature, err := plain(ctx, jdk)
				require.NoError(t, err)
				return dir, feature, faults.Wrap(dir, home, library, faults.Plan{
					Classes: []string{c.class}, Rate: 0.001, Seed: 1, Where: c.where,
				})
			}
			s.Sandbox, err = faults.Unconfined()
			require.NoError(t, err)
			recipe := checked(oldest(), "fixture")
			recipe.Instrumentation.Ratio = 1
			recipe.Workload.Arguments = []string{"work", "30000"}
			if c.class == faults.Hang { // of what is not instrumented only compiled code is named: early, there is little of it
				recipe.JvmFlags = append(recipe.JvmFlags, "-Xcomp")
			}
			if c.only != "" { // nothing is instrumented
				recipe.Checks = []*misstepv1.Check{{Name: c.only}}
			}
			outcome, err := s.run(t, t.Context(), recipe)
			require.NoError(t, err)
			log, err := faults.Read(filepath.Join(dir, faults.LogName))
			require.NoError(t, err)
			require.NotEmpty(t, log.Faults, outcome.GetReason())
			if c.class == faults.Crash {
				require.Equal(t, misstepv1.OutcomeKind_OUTCOME_KIND_CRASH, outcome.GetKind(), outcome.GetReason())
				require.True(t, outcome.GetCrash().GetInWalk())
				require.Equal(t, c.phase, outcome.GetCrash().GetPhase())
				require.Contains(t, outcome.GetCrash().GetProblematicFrame(), faults.LibraryName)
				require.Equal(t, log.Faults[0].Number(), outcome.GetCrash().GetSample())
				require.NotZero(t, outcome.GetCrash().GetWalkPc())
				return
			}
			require.Equal(t, hang, outcome.GetKind(), outcome.GetReason())
			require.Equal(t, c.phase, outcome.GetHang().GetCause())
			culprit := outcome.GetHang().GetThreads()[0]
			var hanging []int64 // several threads may hang before anybody looks
			for _, fault := range log.Faults {
				hanging = append(hanging, int64(fault.TID))
			}
			require.Contains(t, hanging, culprit.GetTid())
			if hasGDB() {
				require.Contains(t, culprit.GetNativeFrames(), "AsyncGetCallTrace")
			}
			// A handler that hangs in Java code keeps the JVM from its own dump: the frames are the agent's then.
			require.NotEmpty(t, culprit.GetJavaFrames())
			t.Log(culprit.GetJavaFrames()[0])
		})
	}
}

// oldest of the JDKs of this machine from 17 on.
func oldest() int {
	found := 0
	for feature := range jdks() {
		if feature >= 17 && (found == 0 || feature < found) {
			found = feature
		}
	}
	return found
}

// plantWalk puts a walk that began long ago into the record's last thread slot, for the JVM's first thread.
func plantWalk(path string, pid uint32) error {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	slot := binary.LittleEndian.AppendUint32(nil, pid)
	slot = binary.LittleEndian.AppendUint32(slot, uint32(agent.PhaseWalk))
	slot = binary.LittleEndian.AppendUint64(
		slot,
		uint64(now.Nano())-uint64(10*time.Minute),
	) // wraps when the machine is younger: older still
	_, err = f.WriteAt(slot, info.Size()-64)
	return err
}
