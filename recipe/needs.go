package recipe

import (
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	misstepv1 "misstep/proto/misstep/v1"
)

// anyCheck reports whether one of the checks is known and has a property.
func anyCheck(list []*misstepv1.Check, has func(Check) bool) bool {
	return slices.ContainsFunc(list, func(c *misstepv1.Check) bool {
		known, ok := FindCheck(c.GetName())
		return ok && has(known)
	})
}

// walks reports whether a check takes traces of its own.
func walks(c Check) bool { return c.Methods || c.Signals }

// NeedsMethods reports whether checks, or perturbations by the agent, need instrumented methods.
func NeedsMethods(list []*misstepv1.Check, perturb ...*misstepv1.Perturbation) bool {
	return anyCheck(list, func(c Check) bool { return c.Methods }) ||
		slices.ContainsFunc(perturb, func(p *misstepv1.Perturbation) bool {
			return p.GetMechanism() == misstepv1.MechanismAgent && misstepv1.Disturbs(p.GetStrategy())
		})
}

// NeedsSignals reports whether checks need signals.
func NeedsSignals(list []*misstepv1.Check) bool {
	return anyCheck(list, func(c Check) bool { return c.Signals })
}

// TakesBursts reports whether a check makes use of Sampling.burst.
func TakesBursts(list []*misstepv1.Check) bool {
	return anyCheck(list, func(c Check) bool { return c.Burst })
}

// NeedsAgent reports whether one of the checks is the agent's.
func NeedsAgent(list []*misstepv1.Check) bool {
	return anyCheck(list, func(c Check) bool { return c.Slot != NoSlot })
}

// HasCheck reports whether the recipe has a check of that name.
func HasCheck(r *misstepv1.Recipe, name string) bool {
	return slices.ContainsFunc(r.GetChecks(), func(c *misstepv1.Check) bool { return c.GetName() == name })
}

// CanPerturb reports whether trials of a recipe can have a perturbation: one by the agent takes checks, which load it, and methods
// to perturb at.
func CanPerturb(r *misstepv1.Recipe, p *misstepv1.Perturbation) bool {
	return p.GetMechanism() != misstepv1.MechanismAgent || NeedsAgent(r.GetChecks()) && instruments(r.GetInstrumentation())
}

// instruments reports whether any method may be instrumented: all are when nothing is said of them.
func instruments(i *misstepv1.Instrumentation) bool {
	return i == nil || i.GetRatio() > 0 || len(i.GetOnly()) > 0
}

// Runnable reports whether a recipe's checks and perturbation have what they need; trials of another one would be void.
func Runnable(r *misstepv1.Recipe) bool {
	var v Violations
	v.needs(SettingsOf(r))
	return len(v) == 0 && CanPerturb(r, r.GetPerturbation())
}

// DropUnused removes from a recipe what it says of methods and signals where no check or perturbation uses them; its trials stay
// the same.
func DropUnused(r *misstepv1.Recipe) {
	if !NeedsMethods(r.GetChecks(), r.GetPerturbation()) {
		r.Instrumentation = nil
	}
	if !NeedsSignals(r.GetChecks()) {
		r.Sampling = nil
	} else if r.Sampling != nil && !TakesBursts(r.GetChecks()) {
		r.Sampling.Burst = 0
	}
}

// DefaultSampling is the sampling of trials whose author leaves both checks and sampling to Misstep: a signal about every
// millisecond.
func DefaultSampling() *misstepv1.Sampling {
	return &misstepv1.Sampling{Interval: durationpb.New(time.Millisecond), Jitter: 0.1}
}

// FittingChecks are all checks that can do some work under a recipe's instrumentation and sampling, with their default settings.
// Every check runs on every JDK that the agent supports.
func FittingChecks(r *misstepv1.Recipe) (list []*misstepv1.Check) {
	signals := r.GetSampling().GetInterval().AsDuration() > 0
	takesTraces := false
	for _, c := range checks {
		if c.Methods && !instruments(r.GetInstrumentation()) || c.Signals && !signals || c.Traces && !takesTraces {
			continue
		}
		takesTraces = takesTraces || walks(c)
		list = append(list, &misstepv1.Check{Name: c.Name})
	}
	return list
}
