package jvm

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"

	"misstep/corpus/memory"
	"misstep/internal/sandbox"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner"
	"misstep/runner/perturb"
)

// scripted is a Perturber that starts commands as they are and reports what it was told to.
type scripted struct {
	applied map[string]uint64
	ejected string
	seed    uint64 // that it was asked for
}

func (s *scripted) Mechanism() string { return misstepv1.MechanismScheduler }

func (s *scripted) Check(p *misstepv1.Perturbation) error {
	if p.GetStrategy() != "chaos" {
		return errors.New("no strategy " + p.GetStrategy())
	}
	return nil
}

func (s *scripted) Begin(_ context.Context, t perturb.Trial) (perturb.Session, error) {
	s.seed = t.Perturbation.GetSeed()
	if _, err := io.WriteString(t.Log, "schedule of "+filepath.Base(t.Command[0])); err != nil {
		return nil, err
	}
	return &scriptedSession{scripted: s, over: make(chan struct{}), dump: t.Dump}, nil
}

type scriptedSession struct {
	*scripted
	over chan struct{}
	dump io.Writer
}

func (s *scriptedSession) Start(cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	if s.ejected != "" {
		close(s.over)
	}
	return nil
}

func (s *scriptedSession) Over() <-chan struct{} { return s.over }

func (s *scriptedSession) End() (*misstepv1.PerturbationReport, error) {
	if s.ejected != "" {
		if _, err := io.WriteString(s.dump, "kernel's dump"); err != nil {
			return nil, err
		}
	}
	return &misstepv1.PerturbationReport{
		Strategy: "chaos", Seed: s.seed, Mechanism: s.Mechanism(), Applied: s.applied,
		Decisions: 9, Threads: 3, Ejected: s.ejected,
	}, nil
}

func TestPerturbationIsProved(t *testing.T) {
	s := newStand(t)
	for feature := range jdks() {
		for _, c := range []struct {
			name    string
			script  scripted
			program string
			kind    misstepv1.OutcomeKind
			reason  string
		}{
			{"at work", scripted{applied: map[string]uint64{"delay": 3}}, "verified", clean, ""},
			{
				"idle",
				scripted{},
				"verified", misstepv1.OutcomeKind_OUTCOME_KIND_VOID,
				"perturbation chaos did nothing in 9 decisions about 3 threads",
			},
			{"idle, and the workload failed", scripted{}, "silent", failure, "validation"},
			{
				"ejected",
				scripted{applied: map[string]uint64{"delay": 3}, ejected: "watchdog: runnable task stall"},
				"loop",
				misstepv1.OutcomeKind_OUTCOME_KIND_VOID, "ejected: watchdog: runnable task stall",
			},
		} {
			t.Run(c.name, func(t *testing.T) {
				s.Perturbers = []perturb.Perturber{&c.script}
				recipe := recipeOf(feature, c.program)
				recipe.Seed = 7
				recipe.Perturbation = &misstepv1.Perturbation{Strategy: "chaos"}
				outcome, err := s.run(t, t.Context(), recipe)
				require.NoError(t, err)
				assert.Equal(t, c.kind, outcome.GetKind(), outcome.GetReason())
				assert.Contains(t, outcome.GetReason(), c.reason)
				assert.Equal(t, uint64(7), outcome.GetPerturbation().GetSeed(), "the recipe's own")
				assert.Equal(t, c.script.applied, outcome.GetPerturbation().GetApplied())
				assert.Equal(t, "schedule of java", s.evidence(t, outcome, "schedule.log"))
				if c.script.ejected != "" {
					assert.Equal(t, "kernel's dump", s.evidence(t, outcome, FileKernelDump))
				}
			})
		}
	}
}

// A replay departs where its log was cut, so all that the perturbation wrote is kept of a trial that found something.
func TestScheduleOfAFindingIsWhole(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "schedule"))
	require.NoError(t, err)
	defer file.Close()
	require.NoError(t, file.Truncate(perturb.MaxLog))
	for bound, want := range map[int64]uint64{maxExhibit: perturb.MaxLog, maxQuiet: maxQuiet} {
		x, outcome := &trial{executor: &Executor{Corpus: memory.New()}, schedule: file}, &misstepv1.Outcome{}
		require.NoError(t, x.putSchedule(t.Context(), outcome, bound))
		require.Len(t, outcome.GetEvidence(), 1)
		require.Equal(t, want, outcome.GetEvidence()[0].GetSize())
	}
}

func TestWithoutPerturbationThereIsAReport(t *testing.T) {
	s := newStand(t)
	for feature := range jdks() {
		recipe := recipeOf(feature, "verified")
		recipe.Perturbation = &misstepv1.Perturbation{Strategy: "none"}
		outcome, err := s.run(t, t.Context(), recipe)
		require.NoError(t, err)
		require.Equal(t, clean, outcome.GetKind())
		require.Equal(t, "none", outcome.GetPerturbation().GetStrategy())
		require.NotEmpty(t, outcome.GetPerturbation().GetKernel())
	}
}

func TestRefusedPerturbations(t *testing.T) {
	s := newStand(t)
	s.Perturbers = []perturb.Perturber{&scripted{}, perturb.Scheduler{}}
	for word, p := range map[string]*misstepv1.Perturbation{
		`no mechanism "magic"; it has sched_ext`: {Strategy: "chaos", Mechanism: "magic"},
		"no strategy mayhem":                     {Strategy: "mayhem"},
		"belong in a campaign":                   {Strategy: "chaos", Seeds: []uint64{1, 2}},
	} {
		recipe := recipeOf(17, "verified")
		recipe.Perturbation = p
		_, err := s.run(t, t.Context(), recipe)
		require.ErrorContains(t, err, word)
		require.True(t, runner.IsPermanent(err), word)
	}
	require.ErrorContains(t, perturb.Scheduler{}.Check(&misstepv1.Perturbation{
		Strategy:   "delay",
		Parameters: map[string]float64{"max_us": 0},
	}),
		"delay max_us = 0 is not in [1, 2000000] µs")
}

func TestSchedulerNamesTheRemedyWhereThereIsNone(t *testing.T) {
	if _, err := os.Stat("/sys/kernel/sched_ext"); err == nil {
		t.Skip("this kernel has sched_ext")
	}
	s := newStand(t)
	s.Perturbers = []perturb.Perturber{perturb.Scheduler{}}
	recipe := recipeOf(17, "verified")
	recipe.Perturbation = &misstepv1.Perturbation{Strategy: "chaos"}
	_, err := s.run(t, t.Context(), recipe)
	require.ErrorContains(t, err, "executor: vm")
	require.ErrorContains(t, err, "mechanism: agent")
	require.True(t, runner.IsPermanent(err))
}

func TestOrdinaryUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("giving a JVM to another user takes root")
	}
	s := newStand(t)
	area := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(area), 0o711)) // the user passes through
	require.NoError(t, os.Chmod(fixtureDir, 0o755))
	const nobody = 65534
	for feature := range jdks() {
		other := &stand{store: s.store, Executor: &Executor{
			JDK: s.JDK, Workload: s.Workload, Corpus: s.store, Scratch: filepath.Join(area, "trials"),
			Sandbox: sandbox.AsUser(nobody, nobody),
		}}
		require.NoError(t, other.Open())
		recipe := recipeOf(feature, "loop")
		recipe.Limits.Wall = durationpb.New(1500 * time.Millisecond)
		owners := map[uint32]bool{}
		outcome, err := other.Run(t.Context(), recipe, func(*misstepv1.Progress) {
			for _, environ := range marked(other.Scratch) {
				if info, err := os.Stat(strings.TrimSuffix(environ, "/environ")); err == nil {
					owners[info.Sys().(*syscall.Stat_t).Uid] = true
				}
			}
		})
		require.NoError(t, err)
		require.Equal(t, map[uint32]bool{nobody: true}, owners)
		require.Equal(t, misstepv1.OutcomeKind_OUTCOME_KIND_HANG, outcome.GetKind(), outcome.GetReason())
		require.NotEmpty(t, other.evidence(t, outcome, "thread-dump.txt"))
	}
}
