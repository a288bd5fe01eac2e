package misstepv1

import "strings"

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
