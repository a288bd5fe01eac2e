package reproduce

import (
	"fmt"
	"maps"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

// confinePerturbation narrows a perturbation that the bug needs to the few decisions that matter: it exempts the JVM's own threads,
// then each thread's decisions from a certain number on, then those before another. Each change takes a sharp test, so this is not
// done where hits are rare. It returns false while results are missing.
func (r *reducer) confinePerturbation() bool {
	if !misstepv1.Disturbs(r.current.GetPerturbation().GetStrategy()) || r.rateToKeep() < frequentRate {
		return true
	}
	return r.spareOwnThreads() && r.lowerUntil() && r.raiseFrom()
}

// tryParameters sets parameters that confine the perturbation, if the rate is kept.
func (r *reducer) tryParameters(name string, values map[string]float64) answer {
	return r.tryChange(recipe.Element{Kind: "perturbation", Name: name, Drop: func(r *misstepv1.Recipe) {
		if r.Perturbation.Parameters == nil {
			r.Perturbation.Parameters = map[string]float64{}
		}
		maps.Copy(r.Perturbation.Parameters, values)
	}}, "leaves alone "+name)
}

// spareOwnThreads exempts the JVM's own threads. The agent's mechanism makes no decisions for them anyway.
func (r *reducer) spareOwnThreads() bool {
	if r.current.GetPerturbation().GetMechanism() == misstepv1.MechanismAgent {
		return true
	}
	all := map[string]float64{}
	roles := []string{"sampler", "compiler", "gc", "vm"}
	for _, role := range roles {
		all[misstepv1.PerturbSpare+role] = 1
	}
	switch r.tryParameters("all threads but the program's", all) {
	case wait:
		return false
	case yes:
		return true
	case no:
	}
	for _, role := range roles {
		if r.tryParameters("threads of role "+role, map[string]float64{misstepv1.PerturbSpare + role: 1}) == wait {
			return false
		}
	}
	return true
}

// lowerUntil finds the smallest power of four after which no decision of a thread need be perturbed.
func (r *reducer) lowerUntil() bool {
	const powers = 9 // 4^8 is the largest that is tried
	for low, high := 0, powers; low < high; {
		mid := (low + high) / 2
		value := uint64(1) << (2 * mid)
		if old := r.current.GetPerturbation().GetParameters()[misstepv1.PerturbUntil]; old != 0 && float64(value) >= old {
			high = mid // the recipe already has a lower bound
			continue
		}
		switch r.tryParameters(fmt.Sprintf("threads from their own decision %d on", value),
			map[string]float64{misstepv1.PerturbUntil: float64(value)}) {
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

// raiseFrom exempts the decisions before some number, found to an eighth of the upper bound, where there is an upper bound.
func (r *reducer) raiseFrom() bool {
	parameters := r.current.GetPerturbation().GetParameters()
	low, high := uint64(parameters[misstepv1.PerturbFrom]), uint64(parameters[misstepv1.PerturbUntil])
	for end := high; low+max(1, end/8) < high; {
		mid := (low + high) / 2
		switch r.tryParameters(fmt.Sprintf("threads before their own decision %d", mid),
			map[string]float64{misstepv1.PerturbFrom: float64(mid)}) {
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
