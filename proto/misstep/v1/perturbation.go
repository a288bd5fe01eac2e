package misstepv1

import "strings"

// StrategyNone perturbs nothing: a trial with it runs as without a perturbation.
const StrategyNone = "none"

// Mechanisms of a perturbation.
const (
	// MechanismScheduler is a scheduler in the kernel, the default.
	MechanismScheduler = "sched_ext"
	// MechanismAgent is the agent at its instrumentation points.
	MechanismAgent = "agent"
)

// Disturbs reports whether a strategy, as a recipe or a report names it, perturbs anything.
func Disturbs(strategy string) bool { return strategy != "" && strategy != StrategyNone }

// Parameters that confine a perturbation, whatever its strategy: the first of each thread's decisions that takes effect, the first
// that no longer does (0 means none), and a prefix before the name of a role; with the value 1 the threads of that role are left
// alone. `misstep sched strategies` explains them.
const (
	PerturbFrom  = "from"
	PerturbUntil = "until"
	PerturbSpare = "spare_"
)

// Confines reports whether a parameter of a perturbation suppresses decisions.
func Confines(parameter string) bool {
	return parameter == PerturbFrom || parameter == PerturbUntil || strings.HasPrefix(parameter, PerturbSpare)
}
