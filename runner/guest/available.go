package guest

import (
	"slices"
	"strings"

	"misstep/deploy/vm"
)

// Available lists the executors whose machines a host can boot, as its doctor's list has it.
func Available(doctor []vm.Check) []string {
	without := func(mode string) bool {
		return !slices.ContainsFunc(doctor, func(c vm.Check) bool {
			other := strings.Contains(c.Name, "mode)") && !strings.Contains(c.Name, mode)
			return !c.OK && !c.Optional && !other
		})
	}
	var out []string
	if without("(" + vm.ModeShared.String()) {
		out = append(out, Shared)
	}
	if without("(" + vm.ModeDeterministic.String()) {
		out = append(out, Deterministic)
	}
	return out
}
