package jvm

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner"
	"misstep/runner/scratch"
	"misstep/triage"
	"misstep/workloads"
)

const (
	clean   = misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN
	crash   = misstepv1.OutcomeKind_OUTCOME_KIND_CRASH
	hang    = misstepv1.OutcomeKind_OUTCOME_KIND_HANG
	failure = misstepv1.OutcomeKind_OUTCOME_KIND_APPLICATION_FAILURE
)

func TestOutcomesOfTheWorkloadItself(t *testing.T) {
	everyJDK(t, func(t *testing.T, s *stand, feature int) {
		for _, c := range []struct {
			arguments []string
			kind      misstepv1.OutcomeKind
			reason    string
			message   string
		}{
			{[]string{"verified"}, clean, "", ""},
			{[]string{"exit", "1"}, failure, "exit-code", "some words before the end"},
			{[]string{"invalid"}, failure, "validation", "1 is not 2"},
			{[]string{"throw"}, failure, "exception", "thrown on purpose"},
			{[]string{"silent"}, failure, "validation", ""},
			{[]string{"eat"}, failure, "memory", "OutOfMemoryError"},
			{[]string{"fork"}, clean, "", ""},
		} {
			t.Run(strings.Join(c.arguments, " "), func(t *testing.T) {
				r := recipeOf(feature, c.arguments...)
				r.FailureFindings = c.arguments[0] != "silent"
				outcome, err := s.run(t, t.Context(), r)
				require.NoError(t, err)
				require.Equal(t, c.kind, outcome.GetKind(), outcome.GetReason())
				isFinding := r.GetFailureFindings() && c.kind == failure && c.reason != "memory"
				require.Equal(t, isFinding, outcome.GetApplicationFailure().GetFinding())
				require.Equal(t, c.reason, outcome.GetApplicationFailure().GetReason())
				require.Contains(t, outcome.GetApplicationFailure().GetMessage(), c.message)
				require.Positive(t, outcome.GetWall().AsDuration())
				require.Positive(t, outcome.GetCpu().AsDuration())
				require.Positive(t, outcome.GetMaxRssBytes())
				require.Contains(t, s.evidence(t, outcome, "command.sh"), "Fixture")
			})
		}
	})
}

func TestEnvironmentIsScrubbed(t *testing.T) {
	s := newStand(t)
	for _, name := range []string{"JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS"} {
		t.Setenv(name, "-Dmisstep.leak=yes")
	}
	t.Setenv("LD_PRELOAD", "")
	t.Setenv("MISSTEP_SECRET", "leak")
	for feature := range jdks() {
		outcome, err := s.run(t, t.Context(), recipeOf(feature, "environment"))
		require.NoError(t, err)
		printed := s.evidence(t, outcome, "stdout.txt")
		for _, word := range []string{"leak", "LD_PRELOAD", "CLASSPATH", "_OPTIONS"} {
			require.NotContains(t, printed, word)
		}
		require.Contains(t, printed, "tmpdir "+s.Scratch)
		require.Contains(t, printed, "cwd "+s.Scratch)
		for _, e := range outcome.GetEvidence() {
			require.NotEqual(t, "stderr.txt", e.GetName(), "the launcher says \"Picked up ...\" when it reads such a variable")
		}
	}
}

func TestLoopIsAHang(t *testing.T) {
	everyJDK(t, func(t *testing.T, s *stand, feature int) {
		recipe := recipeOf(feature, "fork-and-loop")
		recipe.Limits.Wall = durationpb.New(2 * time.Second)
		outcome, err := s.run(t, t.Context(), recipe)
		require.NoError(t, err)
		require.Equal(t, hang, outcome.GetKind(), outcome.GetReason())
		require.Equal(t, "limit", outcome.GetHang().GetCause())
		require.Nil(t, outcome.GetCrash(), "our SIGABRT is no crash")
		var looping *misstepv1.HungThread
		for _, thread := range outcome.GetHang().GetThreads() {
			require.NotEmpty(t, thread.GetState())
			for _, frame := range thread.GetJavaFrames() {
				if strings.HasPrefix(frame, "Fixture.loop(") {
					looping = thread
				}
			}
		}
		require.NotNil(t, looping, "no thread shows Fixture.loop: %v", outcome.GetHang())
		require.Equal(t, "main", looping.GetName())
		require.Contains(t, s.evidence(t, outcome, "thread-dump.txt"), "Full thread dump")
		require.Contains(t, s.evidence(t, outcome, "kernel-threads.txt"), "java")
	})
}

func TestDeadlockIsNamed(t *testing.T) {
	everyJDK(t, func(t *testing.T, s *stand, feature int) {
		recipe := recipeOf(feature, "deadlock")
		recipe.Limits.Wall = durationpb.New(2 * time.Second)
		outcome, err := s.run(t, t.Context(), recipe)
		require.NoError(t, err)
		require.Equal(t, hang, outcome.GetKind(), outcome.GetReason())
		require.Equal(t, "deadlock", outcome.GetHang().GetCause())
		names := map[string]bool{}
		for _, thread := range outcome.GetHang().GetThreads() {
			names[thread.GetName()] = true
			require.LessOrEqual(t, len(thread.GetNativeFrames()), maxFrames)
		}
		require.True(t, names["first"] && names["second"], "%v", names)
		if hasGDB() {
			require.Contains(t, s.evidence(t, outcome, "native-stacks.txt"), "libjvm.so")
			require.True(t, anyNative(outcome.GetHang()), "gdb's stacks are not in the outcome")
		}
	})
}

// Virtual threads without a carrier are in no text dump: the JVM writes them to a file.
func TestVirtualThreadsOfAHang(t *testing.T) {
	everyJDK(t, func(t *testing.T, s *stand, feature int) {
		if feature < firstVirtual {
			t.Skipf("JDK %d has no virtual threads", feature)
		}
		recipe := recipeOf(feature, "virtual")
		recipe.Limits.Wall = durationpb.New(2 * time.Second)
		outcome, err := s.run(t, t.Context(), recipe)
		require.NoError(t, err)
		require.Equal(t, hang, outcome.GetKind(), outcome.GetReason())
		require.Contains(t, s.evidence(t, outcome, fileThreads), "Fixture.waitForNothing")
		var waiting []*misstepv1.HungThread
		for _, thread := range outcome.GetHang().GetThreads() {
			if strings.Contains(strings.Join(thread.GetJavaFrames(), "\n"), "Fixture.waitForNothing(") {
				waiting = append(waiting, thread)
			}
		}
		require.Len(t, waiting, 3)
		require.Equal(t, "main", waiting[0].GetName())
		for _, thread := range waiting[1:] {
			require.True(t, thread.GetVirtual())
			require.Zero(t, thread.GetTid())
			require.NotZero(t, thread.GetId())
		}
		pid, _, _ := strings.Cut(s.evidence(t, outcome, "kernel-threads.txt"), " ") // the first thread has the process's id
		require.NoFileExists(t, "/tmp/.java_pid"+pid, "the JVM's socket")
	})
}

// A JVM that no longer reaches a safepoint cannot say so itself: the thread that runs is seen from outside.
func TestSafepointNotReached(t *testing.T) {
	everyJDK(t, func(t *testing.T, s *stand, feature int) {
		recipe := recipeOf(feature, "no-safepoint")
		recipe.JvmFlags = []string{"-Xmx64m", "-XX:+UseSerialGC", "-XX:-UseCountedLoopSafepoints", "-XX:-BackgroundCompilation"}
		recipe.Limits.Wall = durationpb.New(3 * time.Second)
		outcome, err := s.run(t, t.Context(), recipe)
		require.NoError(t, err)
		require.Equal(t, hang, outcome.GetKind(), outcome.GetReason())
		require.Equal(t, "safepoint", outcome.GetHang().GetCause())
		runs := 0.0
		for _, thread := range outcome.GetHang().GetThreads() {
			runs = max(runs, thread.GetRunning())
		}
		require.Greater(t, runs, 0.05, "nobody was seen to run") // of a busy machine's CPU
	})
}

func anyNative(h *misstepv1.Hang) bool {
	for _, thread := range h.GetThreads() {
		if len(thread.GetNativeFrames()) > 0 {
			return true
		}
	}
	return false
}

func TestCrash(t *testing.T) {
	everyJDK(t, func(t *testing.T, s *stand, feature int) {
		outcome, err := s.run(t, t.Context(), recipeOf(feature, "crash"))
		require.NoError(t, err)
		require.Equal(t, crash, outcome.GetKind(), outcome.GetReason())
		require.Equal(t, "SIGSEGV (0xb)", outcome.GetCrash().GetError())
		require.Contains(t, outcome.GetCrash().GetProblematicFrame(), "libjvm.so")
		require.Contains(t, outcome.GetCrash().GetThread(), `JavaThread "main"`)
		require.Contains(t, strings.Join(outcome.GetCrash().GetJavaFrames(), "\n"), "Fixture.main")
		require.Contains(t, s.evidence(t, outcome, "hs_err.log"), "END.")
		require.False(t, outcome.GetCrash().GetInWalk())
	})
}

func TestSignalsFromOutside(t *testing.T) {
	everyJDK(t, func(t *testing.T, s *stand, feature int) {
		t.Run("ABRT leaves no error file", func(t *testing.T) {
			outcome, err := s.run(t, t.Context(), recipeOf(feature, "kill", "ABRT"))
			require.NoError(t, err)
			require.Equal(t, crash, outcome.GetKind())
			require.Equal(t, "SIGABRT (0x6)", outcome.GetCrash().GetError())
			require.Equal(t, int32(syscall.SIGABRT), outcome.GetSignal())
			require.Equal(t, int32(-1), outcome.GetExitCode())
			// What the JVM could not say its core file does, if the kernel writes one here.
			if pattern, err := os.ReadFile("/proc/sys/kernel/core_pattern"); err == nil && strings.HasPrefix(string(pattern),
				"core") && hasGDB() {
				require.Contains(t, s.evidence(t, outcome, "core-stack.txt"), "SIGABRT")
				// The kernel gives it to the launcher's thread as a rule, which waits there, and else to any.
				require.Regexp(t, `\[libjli\.so\]  JLI_Launch|\[libjvm\.so\]  \w`,
					strings.Join(outcome.GetCrash().GetNativeFrames(), "\n"))
				require.NotEmpty(t, outcome.GetCrash().GetProblematicFrame())
			}
		})
		for _, signal := range []string{"KILL", "TERM"} {
			t.Run(signal+" is not the JVM's doing", func(t *testing.T) {
				outcome, err := s.run(t, t.Context(), recipeOf(feature, "kill", signal))
				require.ErrorContains(t, err, "from outside")
				require.False(t, runner.IsPermanent(err))
				require.Nil(t, outcome)
			})
		}
	})
}

func TestLimits(t *testing.T) {
	everyJDK(t, func(t *testing.T, s *stand, feature int) {
		t.Run("memory", func(t *testing.T) {
			recipe := recipeOf(feature, "eat")
			recipe.JvmFlags[0] = "-Xmx8g"
			recipe.Limits.MemoryMib = 150
			outcome, err := s.run(t, t.Context(), recipe)
			require.NoError(t, err)
			require.Equal(t, failure, outcome.GetKind(), outcome.GetReason())
			require.Equal(t, "memory", outcome.GetApplicationFailure().GetReason())
			require.Contains(t, outcome.GetReason(), "150 MiB")
			require.Greater(t, outcome.GetMaxRssBytes(), uint64(100<<20))
		})
		t.Run("output", func(t *testing.T) {
			recipe := recipeOf(feature, "print")
			recipe.Limits.OutputMib = 1
			outcome, err := s.run(t, t.Context(), recipe)
			require.NoError(t, err)
			require.Equal(t, failure, outcome.GetKind(), outcome.GetReason())
			require.Equal(t, "output", outcome.GetApplicationFailure().GetReason())
			kept := s.evidence(t, outcome, "stdout.txt")
			require.Less(t, len(kept), 2<<20)
			require.Contains(t, kept, "bytes dropped]")
		})
		t.Run("disk", func(t *testing.T) {
			recipe := recipeOf(feature, "fill")
			recipe.Limits.DiskMib = 8
			outcome, err := s.run(t, t.Context(), recipe)
			require.NoError(t, err)
			require.Equal(t, failure, outcome.GetKind(), outcome.GetReason())
			require.Equal(t, "disk", outcome.GetApplicationFailure().GetReason())
		})
	})
}

func TestBadFlagIsAStartFailure(t *testing.T) {
	everyJDK(t, func(t *testing.T, s *stand, feature int) {
		recipe := recipeOf(feature, "verified")
		recipe.JvmFlags = []string{"-XX:+NoSuchFlag"}
		outcome, err := s.run(t, t.Context(), recipe)
		require.NoError(t, err)
		require.Equal(t, failure, outcome.GetKind(), outcome.GetReason())
		require.Equal(t, "start", outcome.GetApplicationFailure().GetReason())
		require.Contains(t, outcome.GetReason(), "NoSuchFlag")
	})
}

func TestBrokenJarIsAStartFailure(t *testing.T) {
	s := newStand(t)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "broken.jar"), []byte("PK\x03\x04 and then nothing that makes sense"),
		0o600))
	for name, manifest := range map[string]workloads.Manifest{
		"jar": {Name: "fixture", Jar: "broken.jar", Repetitions: 1, Harness: workloads.HarnessPlain},
		"classpath": {
			Name: "fixture", Main: "Fixture", Classpath: []string{"broken.jar"}, Repetitions: 1,
			Harness: workloads.HarnessPlain,
		},
	} {
		s.Workload = func(context.Context, *misstepv1.Workload) (string, workloads.Manifest, error) {
			return dir, manifest, nil
		}
		for feature := range jdks() {
			outcome, err := s.run(t, t.Context(), recipeOf(feature, "verified"))
			require.NoError(t, err)
			require.Equal(t, failure, outcome.GetKind(), outcome.GetReason())
			require.Equal(t, "start", outcome.GetApplicationFailure().GetReason(), "%s: %s", name, outcome.GetReason())
		}
	}
}

func TestCancelLeavesNothing(t *testing.T) {
	s := newStand(t)
	for feature := range jdks() {
		ctx, cancel := context.WithCancel(t.Context())
		recipe := recipeOf(feature, "fork-and-loop")
		done := make(chan error, 1)
		go func() {
			_, err := s.Run(ctx, recipe, nil)
			done <- err
		}()
		require.Eventually(
			t,
			func() bool { return len(marked(s.Scratch)) >= 2 },
			30*time.Second,
			10*time.Millisecond,
			"JVM and child run",
		)
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
		require.Empty(t, marked(s.Scratch))
		left, err := os.ReadDir(s.Scratch)
		require.NoError(t, err)
		require.Empty(t, left)
	}
}

func TestProgressIsTold(t *testing.T) {
	s := newStand(t)
	for feature := range jdks() {
		recipe := recipeOf(feature, "loop")
		recipe.Limits.Wall = durationpb.New(1500 * time.Millisecond)
		var phases []string
		_, err := s.Run(t.Context(), recipe, func(p *misstepv1.Progress) {
			if len(phases) == 0 || phases[len(phases)-1] != p.GetPhase() {
				phases = append(phases, p.GetPhase())
			}
		})
		require.NoError(t, err)
		require.Equal(t, []string{"fetch", "start", "run", "collect"}, phases)
	}
}

func TestRefusedRecipes(t *testing.T) {
	s := newStand(t)
	for word, change := range map[string]func(*misstepv1.Recipe){
		"no agent":       func(r *misstepv1.Recipe) { r.Checks = []*misstepv1.Check{{Name: "liveness"}} },
		"is unknown":     func(r *misstepv1.Recipe) { r.Checks = []*misstepv1.Check{{Name: "nonsense"}} },
		"does not begin": func(r *misstepv1.Recipe) { r.JvmFlags = []string{"Main"} },
		"wants the agent": func(r *misstepv1.Recipe) {
			r.AgentDigest = "sha256:" + strings.Repeat("0", 64)
		},
		"has none": func(r *misstepv1.Recipe) { r.Perturbation = &misstepv1.Perturbation{Strategy: "chaos"} },
	} {
		recipe := recipeOf(17, "verified")
		change(recipe)
		_, err := s.run(t, t.Context(), recipe)
		require.ErrorContains(t, err, word)
		require.True(t, runner.IsPermanent(err), word)
	}
}

// TestFullDisk runs on a file system of one MiB: neither a crash of the runner nor an outcome may come of it.
func TestFullDisk(t *testing.T) {
	s := newStand(t)
	small := t.TempDir()
	if err := syscall.Mount("tmpfs", small, "tmpfs", 0, "size=4m"); err != nil {
		t.Skipf("a small file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(small, 0) })
	for feature := range jdks() {
		full := &Executor{JDK: s.JDK, Workload: s.Workload, Corpus: s.Corpus, Scratch: filepath.Join(small, "trials")}
		outcome, err := full.Run(t.Context(), recipeOf(feature, "fill"), nil)
		require.ErrorIs(t, err, scratch.ErrNoSpace, "%v", outcome)
		require.ErrorContains(t, err, small)
		require.ErrorContains(t, err, "--dir")
	}
}

// TestOpenReapsStaleTrials: a runner that died left a folder behind.
func TestOpenReapsStaleTrials(t *testing.T) {
	area := filepath.Join(t.TempDir(), "trials")
	stale := filepath.Join(area, "trial-4194304-1-0123456789abcdef") // above the highest possible pid
	require.NoError(t, os.MkdirAll(filepath.Join(stale, "work"), 0o700))
	e := &Executor{Scratch: area}
	require.NoError(t, e.Open())
	require.NoDirExists(t, stale)
}

func TestShrinkKeepsTheFirst(t *testing.T) {
	outcome := &misstepv1.Outcome{Hang: &misstepv1.Hang{}}
	for i := range 500 {
		outcome.Hang.Threads = append(outcome.Hang.Threads, &misstepv1.HungThread{Tid: int64(i), Name: strings.Repeat("n", 5000)})
		outcome.Mismatches = append(
			outcome.Mismatches,
			&misstepv1.Mismatch{
				Sequence: uint64(i), Kind: string(rune('a'+i/26)) + string(rune('a'+i%26)) + strings.Repeat("k", 5000),
			},
		)
	}
	shrink(outcome, triage.MaxOutcome)
	require.LessOrEqual(t, proto.Size(outcome), triage.MaxOutcome)
	require.Equal(t, int64(0), outcome.GetHang().GetThreads()[0].GetTid())
	require.Equal(t, uint64(0), outcome.GetMismatches()[0].GetSequence())
	require.Greater(t, len(outcome.GetMismatches()), 50)
}

func hasGDB() bool {
	for _, dir := range []string{"/usr/bin", "/bin", "/usr/local/bin"} {
		if _, err := os.Stat(filepath.Join(dir, "gdb")); err == nil {
			return true
		}
	}
	return false
}
