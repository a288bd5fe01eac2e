package guest

import "misstep/deploy/vm"

// Available returns the executors whose machines a host can boot, according to its doctor's checks.
func Available(doctor []vm.Check) (out []string) {
	for _, executor := range []string{Shared, Deterministic} {
		if len(Lacks(executor, doctor)) == 0 {
			out = append(out, executor)
		}
	}
	return out
}

// Lacks returns the host's failed checks that an executor's machines require.
func Lacks(executor string, doctor []vm.Check) (out []vm.Check) {
	mode := vm.ModeShared
	if executor == Deterministic {
		mode = vm.ModeDeterministic
	}
	for _, c := range doctor {
		other := c.Mode != vm.ModeUnspecified && c.Mode != mode
		if !c.OK && !c.Optional && !other {
			out = append(out, c)
		}
	}
	return out
}
