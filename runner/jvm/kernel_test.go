package jvm

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"

	"misstep/bpf"
	"misstep/corpus/memory"
	"misstep/internal/sandbox"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner/perturb"
	"misstep/schedule"
	"misstep/workloads"
)

// ejecting is the kernel's scheduler, which an administrator takes out once the JVM has started.
type ejecting struct{ perturb.Scheduler }

func (e ejecting) Begin(ctx context.Context, t perturb.Trial) (perturb.Session, error) {
	s, err := e.Scheduler.Begin(ctx, t)
	return ejectingSession{s}, err
}

type ejectingSession struct{ perturb.Session }

func (s ejectingSession) Start(cmd *exec.Cmd) error {
	if err := s.Session.Start(cmd); err != nil {
		return err
	}
	return os.WriteFile("/proc/sysrq-trigger", []byte("S"), 0)
}

// TestKernelEjectionVoidsATrial needs root and sched_ext: internal/testenv/vmtest runs it in a machine.
func TestKernelEjectionVoidsATrial(t *testing.T) {
	java := os.Getenv("MISSTEP_TEST_JAVA")
	if java == "" {
		t.Skip("MISSTEP_TEST_JAVA names no java")
	}
	if err := bpf.Supported(); err != nil {
		t.Skip(err)
	}
	java, err := filepath.EvalSymlinks(java)
	require.NoError(t, err)
	folder := t.TempDir()
	for _, f := range []string{filepath.Dir(folder), folder} { // the JVM's user passes through
		require.NoError(t, os.Chmod(f, 0o755))
	}
	require.NoError(t, os.WriteFile(filepath.Join(folder, "empty.jar"), nil, 0o644))
	e := &Executor{
		JDK: func(context.Context, *misstepv1.Jdk) (string, int, error) {
			return filepath.Dir(filepath.Dir(java)), 17, nil
		},
		Workload: func(context.Context, *misstepv1.Workload) (string, workloads.Manifest, error) {
			return folder, workloads.Manifest{
				Name: "none", Main: "None", Classpath: []string{"empty.jar"}, Repetitions: 1,
				Harness: workloads.HarnessPlain,
			}, nil
		},
		Corpus: memory.New(), Scratch: filepath.Join(folder, "trials"), PatchCache: filepath.Join(folder, "patch"),
		Perturbers: []perturb.Perturber{ejecting{}}, Sandbox: sandbox.AsUser(65534, 65534),
	}
	recipe := &misstepv1.Recipe{
		Seed: 3, Perturbation: &misstepv1.Perturbation{Strategy: "chaos"},
		Limits: &misstepv1.Limits{Wall: durationpb.New(5 * time.Minute), MemoryMib: 256},
	}
	outcome, err := e.Run(t.Context(), recipe, nil)
	require.NoError(t, err)
	assert.Equal(t, misstepv1.OutcomeKind_OUTCOME_KIND_VOID, outcome.GetKind())
	assert.Contains(t, outcome.GetReason(), "ejected: sysrq")
	assert.Contains(t, outcome.GetPerturbation().GetEjected(), "sysrq")

	// The machine continues: nothing is left of the JVM, and the next scheduler loads.
	assert.Empty(t, marked(e.Scratch))
	s, err := bpf.Attach(bpf.Options{Perturbation: schedule.Perturbation{Strategy: "chaos"}})
	require.NoError(t, err)
	report, err := s.Detach()
	require.NoError(t, err)
	assert.Nil(t, report.Ejection)
}
