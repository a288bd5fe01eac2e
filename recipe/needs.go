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

// walks reports whether the agent takes traces for a check.
func walks(c Check) bool { return c.Slot != NoSlot && (c.Methods || c.Signals) }

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

// TakesBursts reports whether one of the checks uses Sampling.burst.
func TakesBursts(list []*misstepv1.Check) bool {
	return anyCheck(list, func(c Check) bool { return c.Burst })
}

// NeedsAgent reports whether one of the checks needs the agent: the agent makes it, or notes something for it.
func NeedsAgent(list []*misstepv1.Check) bool {
	return anyCheck(list, func(c Check) bool { return c.Slot != NoSlot || c.Tap || c.Sites || c.Stacks })
}

// NeedsStacks reports whether one of the checks needs the agent's stack traces of all threads.
func NeedsStacks(list []*misstepv1.Check) bool {
	return anyCheck(list, func(c Check) bool { return c.Stacks })
}

// NeedsTap reports whether one of the checks needs the agent's tap.
func NeedsTap(list []*misstepv1.Check) bool {
	return anyCheck(list, func(c Check) bool { return c.Tap })
}

// NeedsSites reports whether one of the checks needs the agent's file of sites.
func NeedsSites(list []*misstepv1.Check) bool {
	return anyCheck(list, func(c Check) bool { return c.Sites })
}

// NeedsRecording reports whether one of the checks is made from a profiler's recording.
func NeedsRecording(list []*misstepv1.Check) bool {
	return anyCheck(list, func(c Check) bool { return len(c.Profilers) > 0 })
}

// HasCheck reports whether the recipe has a check of that name.
func HasCheck(r *misstepv1.Recipe, name string) bool {
	return slices.ContainsFunc(r.GetChecks(), func(c *misstepv1.Check) bool { return c.GetName() == name })
}

// CanPerturb reports whether trials of a recipe can have a perturbation. One by the agent needs checks, because they load the
// agent, and instrumented methods, because it acts at their entries.
func CanPerturb(r *misstepv1.Recipe, p *misstepv1.Perturbation) bool {
	return p.GetMechanism() != misstepv1.MechanismAgent || NeedsAgent(r.GetChecks()) && instruments(r.GetInstrumentation())
}

// instruments reports whether any method may be instrumented; without instrumentation settings all are.
func instruments(i *misstepv1.Instrumentation) bool {
	return i == nil || i.GetRatio() > 0 || len(i.GetOnly()) > 0
}

// Runnable reports whether a recipe's checks and perturbation have what they need; if not, its trials would be void.
func Runnable(r *misstepv1.Recipe) bool {
	var v Violations
	v.needs(SettingsOf(r))
	return len(v) == 0 && CanPerturb(r, r.GetPerturbation())
}

// DropUnused removes a recipe's settings of methods and signals if no check or perturbation uses them, which does not change its
// trials. A profiler stays: it runs even if no check judges its recording.
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

// DefaultSampling returns the sampling of a campaign that leaves out both checks and sampling: about one signal per millisecond.
func DefaultSampling() *misstepv1.Sampling {
	return &misstepv1.Sampling{Interval: durationpb.New(time.Millisecond), Jitter: 0.1}
}

// FittingChecks returns all checks that can do any work under a recipe's instrumentation, sampling and profiler, with their default
// settings.
// Every check runs on every JDK that the agent supports.
func FittingChecks(r *misstepv1.Recipe) (list []*misstepv1.Check) {
	signals := r.GetSampling().GetInterval().AsDuration() > 0
	takesTraces := false
	for _, c := range checks {
		if c.Methods && !instruments(r.GetInstrumentation()) || c.Signals && !signals || c.Traces && !takesTraces ||
			!c.Judges(r.GetProfiler()) {
			continue
		}
		takesTraces = takesTraces || walks(c)
		list = append(list, &misstepv1.Check{Name: c.Name})
	}
	return list
}
