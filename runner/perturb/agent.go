package perturb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"misstep/agent"
	"misstep/internal/capped"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/schedule"
)

// Agent perturbs at the agent's instrumentation points: the same strategies, seeds and log on any kernel and without root.
// bpf/README.md lists its limitations.
type Agent struct{}

var _ Perturber = Agent{}

// Mechanism implements Perturber.
func (Agent) Mechanism() string { return misstepv1.MechanismAgent }

// Check implements Perturber.
func (Agent) Check(p *misstepv1.Perturbation) error { return of(p).Validate() }

// Plan returns a perturbation, whose seed is filled in, in the form that the agent reads.
func Plan(p *misstepv1.Perturbation) ([]byte, error) { return of(p).Plan() }

// Begin writes the plan that the agent reads.
func (Agent) Begin(_ context.Context, t Trial) (Session, error) {
	plan, err := Plan(t.Perturbation)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(t.AgentOut, agent.FilePlan), plan, 0o644); err != nil {
		return nil, fmt.Errorf("write the plan of the perturbation: %w", err)
	}
	s := &points{trial: t}
	header := schedule.Header{Perturbation: of(t.Perturbation), Mechanism: misstepv1.MechanismAgent, Command: t.Command}
	s.log, err = schedule.NewLogWriter(capped.New(t.Log, MaxLog), header)
	return s, err
}

type points struct {
	trial Trial
	log   *schedule.LogWriter
}

func (s *points) Start(cmd *exec.Cmd) error { return cmd.Start() }

// Over returns nil, a channel that is never closed: nothing can remove the agent from a JVM.
func (s *points) Over() <-chan struct{} { return nil }

func (s *points) End() (*misstepv1.PerturbationReport, error) {
	p := of(s.trial.Perturbation)
	var report *schedule.Report
	written, err := agent.ReadSchedule(filepath.Join(s.trial.AgentOut, agent.FileSchedule))
	if err == nil {
		report, err = schedule.Taken{Stats: written.Stats, Histograms: written.Histograms, Records: written.Records}.Report(p,
			s.log)
	}
	// The JVM ended before the agent created the file, or overwrote it while crashing, since the file is mapped into its
	// memory. Then nothing is proved, but there is an outcome.
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, agent.ErrStatus) || errors.Is(err, schedule.ErrTaken) {
		return &misstepv1.PerturbationReport{
			Strategy: p.Strategy, Seed: p.Seed, Mechanism: misstepv1.MechanismAgent, Kernel: Kernel(),
		}, s.log.Close(0)
	}
	if err != nil {
		return nil, err
	}
	if err := s.log.Close(report.Lost); err != nil {
		return nil, err
	}
	out := reportOf(report)
	out.Mechanism, out.Parameters = misstepv1.MechanismAgent, s.trial.Perturbation.GetParameters()
	// The agent can only yield the CPU, not take it away.
	delete(out.Applied, "preempt")
	for action, n := range map[string]uint64{"yield": report.Preemptions, "wait": report.Overtaken} {
		if n > 0 {
			out.Applied[action] = n
		}
	}
	return out, nil
}
