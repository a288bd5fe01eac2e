package reproducetest

import (
	"fmt"
	"math"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

// saturating returns the chance that at least one of n repetitions hits, each with probability q.
func saturating(q float64, n uint32) float64 { return 1 - math.Pow(1-q, float64(max(1, n))) }

// Models returns bugs of the shapes seen so far: deterministic ones, faults injected at rates of 0.5, 0.1 and 0.02, and races.
func Models() (out []Model) {
	add := func(m Model) {
		if m.Recipe == nil {
			m.Recipe = Recipe()
		}
		if m.Methods == nil {
			m.Methods = MethodNames(12)
		}
		out = append(out, m)
	}
	method := MethodNames(12)
	add(Model{Name: "class initialiser: deterministic, two flags", Rate: func(r *misstepv1.Recipe) float64 {
		return 0.99 * If(Has(r, "-Xcomp"), 0) * If(Has(r, "-XX:TieredStopAtLevel=1"), 0) * If(Instruments(r, method[0]), 0)
	}})
	for _, p := range []float64{0.5, 0.1, 0.02} {
		add(Model{Name: fmt.Sprintf("fault %g: one flag", p), Rate: func(r *misstepv1.Recipe) float64 {
			return p * If(Has(r, "-XX:ReservedCodeCacheSize=32m"), 0.02) * If(Instruments(r, method[3]), 0)
		}})
		add(Model{Name: fmt.Sprintf("fault %g: two flags, sampling, two methods", p), Rate: func(r *misstepv1.Recipe) float64 {
			return p * If(Has(r, "-Xcomp"), 0.05) * If(Has(r, "-Xmx256m"), 0.3) * If(r.GetSampling() != nil, 0.1) *
				If(Instruments(r, method[1], method[7]), 0)
		}})
		add(Model{Name: fmt.Sprintf("fault %g: perturbation with one parameter", p), Rate: func(r *misstepv1.Recipe) float64 {
			delay := r.GetPerturbation().GetParameters()["delay_ms"]
			return p * If(r.GetPerturbation() != nil, 0.01) * If(delay >= 2.5, 0.2) * If(Instruments(r, method[0]), 0)
		}})
	}
	add(Model{Name: "rare, and a tenfold flag beside it", Rate: func(r *misstepv1.Recipe) float64 {
		return 0.02 * If(!Has(r, "-XX:-Inline"), 10) * If(Has(r, "-Xss512k"), 0.1) * If(Instruments(r, method[0]), 0)
	}})
	add(Model{Name: "rare, share and method set raise it", Rate: func(r *misstepv1.Recipe) float64 {
		share := r.GetChecks()[0].GetShare()
		return min(0.9, 0.02*share/0.01*0.2) * If(share >= 1, 5) * If(Has(r, "-Xcomp"), 0.02) * If(Instruments(r, method[2]), 0)
	}})
	add(Model{
		Name: "race: repetitions, a better perturbation", Void: 0.1,
		Perturbations: []*misstepv1.Perturbation{{Strategy: "starve"}, {Strategy: "pct"}},
		Rate: func(r *misstepv1.Recipe) float64 {
			q := 0.002
			if r.GetPerturbation().GetStrategy() == "starve" {
				q = 0.02
			}
			return saturating(q, r.GetWorkload().GetRepetitions()) * If(r.GetPerturbation() != nil, 0.02) *
				If(Instruments(r, method[0]), 0)
		},
	})
	// A perturbation by the scheduler, of which ten decisions about the program's threads matter.
	add(Model{Name: "race: a few decisions matter", Rate: func(r *misstepv1.Recipe) float64 {
		p := r.GetPerturbation()
		set := p.GetParameters()
		return 0.7 * If(p != nil, 0) * If(set["until"] == 0 || set["until"] >= 40, 0.05) * If(set["from"] <= 30, 0.1) *
			If(set["spare_mutator"] == 0, 0) * If(Instruments(r, method[0]), 0)
	}})
	add(Model{Name: "race: seen with 0.1, two flags help by half each", Rate: func(r *misstepv1.Recipe) float64 {
		return 0.1 * If(Has(r, "-XX:+UseParallelGC"), 0.4) * If(Has(r, "-Xss512k"), 0.4) * If(Instruments(r, method[5]), 0)
	}})
	// Many things that help a little, as on real JVMs, where flags and checks shift moments: left out one by one each loss is
	// small, together they are most of the rate.
	losses := func(name string, p float64, each ...float64) {
		conditions := []func(*misstepv1.Recipe) bool{
			func(r *misstepv1.Recipe) bool { return Has(r, "-Xmx256m") },
			func(r *misstepv1.Recipe) bool { return r.GetWorkload().GetRepetitions() > 1 },
			func(r *misstepv1.Recipe) bool { return Checks(r, recipe.ShadowGst) },
			func(r *misstepv1.Recipe) bool { return Has(r, "-Xss512k") },
			func(r *misstepv1.Recipe) bool { return r.GetSampling() != nil },
			func(r *misstepv1.Recipe) bool { return r.GetPerturbation() != nil },
		}
		add(Model{Name: fmt.Sprintf("%s: losses of %g", name, each), Rate: func(r *misstepv1.Recipe) float64 {
			rate := p * If(Has(r, "-Xcomp"), 0) * If(Instruments(r, method[0]), 0)
			for i, factor := range each {
				rate *= If(conditions[i](r), factor)
			}
			return rate
		}})
	}
	losses("frequent", 0.9, 0.9, 0.9, 0.9, 0.9, 0.9)
	losses("frequent", 0.9, 0.7, 0.85, 0.95)
	losses("half", 0.5, 0.8, 0.8, 0.8)
	losses("half", 0.5, 0.75, 0.6)
	// A recipe of a dozen elements of which one is needed: plain ddmin halves it as fast as this package does.
	for _, p := range []float64{0.8, 0.4, 0.1} {
		add(Model{Name: fmt.Sprintf("a dozen elements %g: one flag", p), Recipe: Small(), Rate: func(r *misstepv1.Recipe) float64 {
			return p * If(Has(r, "-Xss512k"), 0)
		}})
		add(Model{
			Name: fmt.Sprintf("a dozen elements %g: one flag, losses of 0.9 and 0.95", p), Recipe: Small(),
			Rate: func(r *misstepv1.Recipe) float64 {
				return p * If(Has(r, "-Xss512k"), 0) * If(Has(r, "-Xmx256m"), 0.9) * If(r.GetSampling() != nil, 0.95)
			},
		})
	}
	losses("0.1", 0.1, 0.85, 0.85, 0.85, 0.85)
	losses("0.1", 0.1, 0.7, 0.7)
	add(Model{
		Name: "methods chosen by the seed",
		Recipe: func() *misstepv1.Recipe {
			r := Recipe()
			r.Instrumentation.Ratio = 0.3
			return r
		}(),
		Rate: func(r *misstepv1.Recipe) float64 {
			chosen := r.GetSeed() == 42 && len(r.GetInstrumentation().GetOnly()) == 0 || Instruments(r, method[4])
			return 0.4 * If(chosen, 0) * If(Has(r, "-Xcomp"), 0)
		},
	})
	// Interchangeable methods: any three of them give the agent's perturbation enough points.
	add(Model{Name: "race: any three of a dozen methods", Rate: func(r *misstepv1.Recipe) float64 {
		n := len(r.GetInstrumentation().GetOnly())
		if n == 0 {
			n = 3
		}
		return 0.55 * If(r.GetPerturbation() != nil, 0) * min(1, float64(n)/3)
	}})
	return out
}
