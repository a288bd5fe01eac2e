package misstepv1

import "strings"

// StrategyNone perturbs nothing: a trial of it runs as if there were no perturbation at all.
const StrategyNone = "none"

// Mechanisms of a perturbation.
const (
	// MechanismScheduler is a scheduler in the kernel, the one that is meant when none is named.
	MechanismScheduler = "sched_ext"
	// MechanismAgent is the agent at its instrumentation points.
	MechanismAgent = "agent"
)

// Disturbs says whether a strategy, as a recipe or a report names it, is one that perturbs.
func Disturbs(strategy string) bool { return strategy != "" && strategy != StrategyNone }

// Parameters that confine a perturbation of any strategy: the first own decision of a thread that counts, the first that counts no more (0 is
// none), and before the name of a role, with 1, that its threads are left alone. `misstep sched strategies` explains them.
const (
	PerturbFrom  = "from"
	PerturbUntil = "until"
	PerturbSpare = "spare_"
)

// Confines says whether a parameter of a perturbation leaves decisions out.
func Confines(parameter string) bool {
	return parameter == PerturbFrom || parameter == PerturbUntil || strings.HasPrefix(parameter, PerturbSpare)
}
