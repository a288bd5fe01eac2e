package jvm

import (
	"context"
	"errors"
	"fmt"
	"os"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner"
	"misstep/runner/perturb"
)

// perturb begins the perturbation that the recipe asks for.
func (t *trial) perturb(ctx context.Context) error {
	p := perturb.Of(t.recipe)
	if p == nil {
		t.perturbation = perturb.Nothing()
		return nil
	}
	if p.GetMechanism() == misstepv1.MechanismAgent && !t.checked() {
		return runner.Permanent(
			errors.New("perturbation: mechanism agent requires the agent, which a recipe without checks does not load: " +
				"ask for a check"),
		)
	}
	perturber, err := perturb.Find(t.executor.Perturbers, p)
	if err != nil {
		return err
	}
	// Not in the trial's folder, where the JVM's user could replace it.
	if t.schedule, err = os.CreateTemp(t.executor.Scratch, ".schedule-*"); err != nil {
		return fmt.Errorf("make schedule log: %w", err)
	}
	_ = os.Remove(t.schedule.Name()) // it exists until its descriptor is closed
	t.session, err = perturber.Begin(ctx, perturb.Trial{
		Perturbation: p, Command: append([]string{t.java()}, t.args...), AgentOut: t.path(dirAgent), Log: t.schedule,
		Dump: &t.kernelDump,
	})
	if err != nil {
		return errors.Join(fmt.Errorf("perturb by %s: %w", p.GetStrategy(), err), t.schedule.Close())
	}
	return nil
}

// endPerturbation ends it and keeps its report.
func (t *trial) endPerturbation() (err error) {
	if t.session == nil {
		return nil
	}
	t.perturbation, err = t.session.End()
	t.session = nil
	t.exhibit(FileKernelDump, t.kernelDump.Bytes())
	if err != nil {
		return fmt.Errorf("end the perturbation: %w", err)
	}
	return nil
}

// ejection returns the reason of a void outcome if the perturbation ended early, else "".
func (t *trial) ejection() string {
	switch {
	case t.perturbation.GetEjected() != "":
		return "ejected: " + t.perturbation.GetEjected()
	case t.verdict.ejected:
		return "ejected: the perturbation ended before the JVM did"
	}
	return ""
}

// judgePerturbation makes a clean outcome void if the perturbation did nothing.
func (t *trial) judgePerturbation(outcome *misstepv1.Outcome) {
	if idle := perturb.Idle(t.perturbation); idle != "" && outcome.GetKind() == misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN {
		outcome.Kind, outcome.Reason = misstepv1.OutcomeKind_OUTCOME_KIND_VOID, idle
	}
}
