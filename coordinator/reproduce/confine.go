package reproduce

import (
	"fmt"
	"maps"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

// confine narrows a perturbation that the bug needs to the few decisions that matter: threads of the JVM's own are left alone, then all threads
// from one of their own decisions on, then before another. Each by the sharp test, so it is not done where hits are rare. It is false while it waits.
func (r *reducer) confine() bool {
	if !misstepv1.Disturbs(r.recipe.GetPerturbation().GetStrategy()) || r.rate() < frequent {
		return true
	}
	return r.spare() && r.until() && r.from()
}

// leavesAlone sets parameters that confine the perturbation.
func (r *reducer) leavesAlone(name string, values map[string]float64) answer {
	return r.attempt(recipe.Element{Kind: "perturbation", Name: name, Drop: func(r *misstepv1.Recipe) {
		if r.Perturbation.Parameters == nil {
			r.Perturbation.Parameters = map[string]float64{}
		}
		maps.Copy(r.Perturbation.Parameters, values)
	}}, "leaves alone "+name)
}

// spare leaves the JVM's own threads alone, which come to no decisions of the agent's.
func (r *reducer) spare() bool {
	if r.recipe.GetPerturbation().GetMechanism() == misstepv1.MechanismAgent {
		return true
	}
	all := map[string]float64{}
	roles := []string{"sampler", "compiler", "gc", "vm"}
	for _, role := range roles {
		all[misstepv1.PerturbSpare+role] = 1
	}
	switch r.leavesAlone("all threads but the program's", all) {
	case wait:
		return false
	case yes:
		return true
	case no:
	}
	for _, role := range roles {
		if r.leavesAlone("threads of role "+role, map[string]float64{misstepv1.PerturbSpare + role: 1}) == wait {
			return false
		}
	}
	return true
}

// until leaves all threads alone from a power of four of own decisions on, the least that will do.
func (r *reducer) until() bool {
	const powers = 9 // 4^8 is the last that is tried
	for low, high := 0, powers; low < high; {
		mid := (low + high) / 2
		value := uint64(1) << (2 * mid)
		if old := r.recipe.GetPerturbation().GetParameters()[misstepv1.PerturbUntil]; old != 0 && float64(value) >= old {
			high = mid // it has a lower one
			continue
		}
		switch r.leavesAlone(fmt.Sprintf("threads from their own decision %d on", value), map[string]float64{misstepv1.PerturbUntil: float64(value)}) {
		case wait:
			return false
		case yes:
			high = mid
		case no:
			low = mid + 1
		}
	}
	return true
}

// from leaves the decisions before the last eighth, or more of them, alone where there is an end.
func (r *reducer) from() bool {
	low, high := uint64(r.recipe.GetPerturbation().GetParameters()[misstepv1.PerturbFrom]), uint64(r.recipe.GetPerturbation().GetParameters()[misstepv1.PerturbUntil])
	for end := high; low+max(1, end/8) < high; {
		mid := (low + high) / 2
		switch r.leavesAlone(fmt.Sprintf("threads before their own decision %d", mid), map[string]float64{misstepv1.PerturbFrom: float64(mid)}) {
		case wait:
			return false
		case yes:
			low = mid
		case no:
			high = mid
		}
	}
	return true
}
