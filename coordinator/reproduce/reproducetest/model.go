// Package reproducetest has what tests and benchmarks of reproducing share: bugs whose rate is a known function of the recipe, a
// driver that plays the runners, and plain delta debugging to compare with.
package reproducetest

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"misstep/coordinator/reproduce"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

// Model is a bug whose rate is known for every recipe, so that the promises of a reproducer can be checked.
type Model struct {
	Name string
	// Recipe of the finding.
	Recipe *misstepv1.Recipe
	// Methods that the evidence names.
	Methods []string
	// Perturbations to try.
	Perturbations []*misstepv1.Perturbation
	// Rate of a recipe in [0, 1].
	Rate func(*misstepv1.Recipe) float64
	// Void is the share of void trials.
	Void float64
}

// Signature returns the signature of every model's bug.
func Signature() *misstepv1.Signature {
	return &misstepv1.Signature{Kind: "mismatch", Parts: []string{recipe.GstAsgct, "truncated", "upcall <clinit>"}}
}

// Has reports whether the recipe has a flag.
func Has(r *misstepv1.Recipe, flag string) bool { return slices.Contains(r.GetJvmFlags(), flag) }

// Checks reports whether the recipe has a check.
func Checks(r *misstepv1.Recipe, name string) bool {
	return slices.ContainsFunc(r.GetChecks(), func(c *misstepv1.Check) bool { return c.GetName() == name })
}

// Instruments reports whether all of these methods are certain to be instrumented.
func Instruments(r *misstepv1.Recipe, methods ...string) bool {
	i := r.GetInstrumentation()
	if len(i.GetOnly()) == 0 {
		return i == nil || i.GetRatio() == 1
	}
	for _, m := range methods {
		if !slices.Contains(i.GetOnly(), m) {
			return false
		}
	}
	return true
}

// If returns 1 when the condition holds, else factor.
func If(holds bool, factor float64) float64 {
	if holds {
		return 1
	}
	return factor
}

// Recipe returns a recipe like a campaign's: eight flags, four checks, sampling, a perturbation with three parameters.
func Recipe() *misstepv1.Recipe {
	return &misstepv1.Recipe{
		Jdk: &misstepv1.Jdk{Name: "jdk17", Digest: "sha256:" + strings.Repeat("1", 64), Version: "17.0.15+6"},
		Workload: &misstepv1.Workload{
			Name: "model", Digest: "sha256:" + strings.Repeat("2", 64), Repetitions: 16, Arguments: []string{"100"},
		},
		JvmFlags: []string{
			"-Xcomp", "-XX:TieredStopAtLevel=1", "-XX:+UseParallelGC", "-Xmx256m", "-XX:-UseOnStackReplacement",
			"-XX:ReservedCodeCacheSize=32m",
			"-XX:+UseStringDeduplication", "-Xss512k",
		},
		Instrumentation: &misstepv1.Instrumentation{Ratio: 1},
		Sampling:        &misstepv1.Sampling{Interval: durationpb.New(time.Millisecond), Jitter: 0.5},
		Checks: []*misstepv1.Check{
			{Name: recipe.GstAsgct, Share: 0.01},
			{Name: recipe.ShadowGst, Share: 0.01},
			{Name: recipe.AsgctShadow},
			{Name: recipe.Liveness},
		},
		Perturbation: &misstepv1.Perturbation{
			Strategy: "chaos", Parameters: map[string]float64{"delay_p": 0.2, "delay_ms": 5, "preempt_p": 0.1},
		},
		Limits: &misstepv1.Limits{Wall: durationpb.New(time.Minute), MemoryMib: 2048, StackDepth: 512},
		Seed:   42,
	}
}

// Small returns a recipe that instruments one method: five flags, two checks, sampling, three arguments.
func Small() *misstepv1.Recipe {
	r := Recipe()
	r.Workload = &misstepv1.Workload{Name: "model", Digest: r.Workload.Digest, Arguments: []string{"spin", "6", "20"}}
	r.JvmFlags = []string{"-Xcomp", "-XX:TieredStopAtLevel=1", "-Xmx256m", "-Xss512k", "-XX:+UseParallelGC"}
	r.Instrumentation, r.Perturbation = &misstepv1.Instrumentation{Only: MethodNames(1)}, nil
	r.Sampling.Interval = durationpb.New(time.Millisecond)
	r.Checks = []*misstepv1.Check{{Name: recipe.GstAsgct}, {Name: recipe.Liveness}}
	r.Limits = &misstepv1.Limits{Wall: durationpb.New(time.Minute)}
	return r
}

// MethodNames returns the names of n candidate methods.
func MethodNames(n int) (out []string) {
	for i := range n {
		out = append(out, "app/Class"+string(rune('A'+i%26))+".method"+strings.Repeat("x", i/26)+"()V")
	}
	return out
}

// Start returns a new reproduction of a model.
func Start(m Model, seed uint64) *misstepv1.Reproduction {
	return &misstepv1.Reproduction{
		Id: "R", State: misstepv1.ReproductionState_REPRODUCTION_STATE_RUNNING,
		Spec: &misstepv1.ReproductionSpec{
			FindingId: "F", Signature: Signature(), Recipe: m.Recipe, Methods: m.Methods, Perturbations: m.Perturbations,
			Seed: seed, Trials: 1_000_000,
		},
	}
}

// Driver plays the runners of a model.
type Driver struct {
	Model Model
	// Rand decides the results of trials.
	Rand *rand.Rand
	// Best is the highest rate of all recipes that were probed.
	Best float64
	// Tries made.
	Tries int
}

// Try runs a recipe once.
func (d *Driver) Try(r *misstepv1.Recipe) reproduce.Result {
	d.Tries++
	if d.Model.Void > 0 && d.Rand.Float64() < d.Model.Void {
		return reproduce.Void
	}
	p := d.Model.Rate(r)
	d.Best = max(d.Best, p)
	if d.Rand.Float64() < p {
		return reproduce.Hit
	}
	return reproduce.Miss
}

// Step makes all probes that are requested now, and reports whether there were any.
func (d *Driver) Step(r *misstepv1.Reproduction) (reproduce.Plan, bool) {
	plan := reproduce.Next(r)
	for _, p := range plan.Probes {
		a := Arm(r, p.Key)
		for range p.Want - p.Have {
			try := reproduce.AddPending(a)
			reproduce.Apply(a, try, d.Try(p.Recipe(try)), time.Second, "")
		}
	}
	return plan, len(plan.Probes) > 0
}

// Arm returns the arm of a reproduction by its key, and adds it when it is missing.
func Arm(r *misstepv1.Reproduction, key string) *misstepv1.ReproductionArm {
	for _, a := range r.GetArms() {
		if a.GetKey() == key {
			return a
		}
	}
	a := &misstepv1.ReproductionArm{Key: key}
	r.Arms = append(r.Arms, a)
	return a
}

// Run drives a reproduction to its end.
func (d *Driver) Run(r *misstepv1.Reproduction) reproduce.Plan {
	for {
		plan, more := d.Step(r)
		if !more {
			return plan
		}
	}
}

// Errors of a test by a fixed number of repetitions: Alpha is the chance that it takes a rate of Lower·p for kept, Beta that it
// takes one of Upper·p for lost.
type Errors struct{ Upper, Lower, Alpha, Beta float64 }

// FixedTries is the fewest tries, and the hits among them, by which a fixed number of repetitions tells the rates with these
// errors.
func FixedTries(p float64, e Errors) (tries, hits int) {
	for c := 1; ; c += max(1, c/100) {
		// The smallest n at which c hits are likely enough under the upper rate; they must be rare enough under the lower one.
		n := int(math.Ceil(float64(c) / (e.Upper * p)))
		for below(n, c, e.Upper*p) > e.Beta {
			n += max(1, n/200)
		}
		if 1-below(n, c, e.Lower*p) <= e.Alpha {
			return n, c
		}
	}
}

// below returns the chance of fewer than c hits in n tries at a rate of p.
func below(n, c int, p float64) float64 {
	sum := 0.0
	for k := range c {
		lnk, _ := math.Lgamma(float64(k + 1))
		lnn, _ := math.Lgamma(float64(n + 1))
		lnnk, _ := math.Lgamma(float64(n - k + 1))
		sum += math.Exp(lnn - lnk - lnnk + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
	}
	return min(1, sum)
}

// Ddmin minimises a model's recipe by plain delta debugging, each configuration judged by the same fixed number of repetitions. It
// returns the recipe it ends with.
func Ddmin(d *Driver, recipe *misstepv1.Recipe, e Errors) *misstepv1.Recipe {
	tries, hits := FixedTries(d.Model.Rate(recipe), e)
	end, _ := PlainDdmin(recipe, reproduce.Elements(recipe, d.Model.Methods, Signature()), func(r *misstepv1.Recipe) (bool, error) {
		seen := 0
		for range tries {
			if d.Try(r) == reproduce.Hit {
				seen++
			}
		}
		return seen >= hits, nil
	})
	return end
}

// PlainDdmin is A. Zeller's and R. Hildebrandt's delta debugging (Simplifying and isolating failure-inducing input, 2002) over all
// elements of a recipe. test says whether a recipe still fails; it is asked once for each. It returns the recipe it ends with, or
// where it was when test gave an error.
func PlainDdmin(
	recipe *misstepv1.Recipe, all reproduce.ElementList, test func(*misstepv1.Recipe) (bool, error),
) (*misstepv1.Recipe, error) {
	known := map[string]bool{}
	var failed error
	fails := func(r *misstepv1.Recipe) bool {
		digest, err := misstepv1.RecipeDigest(r)
		if err != nil {
			panic(err) // recipes that are run are valid text
		}
		if _, ok := known[digest]; !ok && failed == nil {
			known[digest], failed = test(r)
		}
		return known[digest] && failed == nil
	}
	keep := make([]int, len(all))
	for i := range keep {
		keep[i] = i
	}
	build := func(keep []int) *misstepv1.Recipe {
		return all.Without(recipe, func(i int) bool { return !slices.Contains(keep, i) })
	}
	for n := 2; len(keep) >= 2 && failed == nil; {
		var parts [][]int
		for i := range n {
			parts = append(parts, keep[i*len(keep)/n:(i+1)*len(keep)/n])
		}
		reduced := false
		for _, part := range parts { // to a subset
			if fails(build(part)) {
				keep, n, reduced = slices.Clone(part), 2, true
				break
			}
		}
		for i := 0; !reduced && n > 2 && i < len(parts); i++ { // to a complement
			rest := slices.Concat(slices.Concat(parts[:i]...), slices.Concat(parts[i+1:]...))
			if fails(build(rest)) {
				keep, n, reduced = rest, max(n-1, 2), true
			}
		}
		if reduced {
			continue
		}
		if n >= len(keep) {
			break
		}
		n = min(len(keep), 2*n)
	}
	if len(keep) == 1 && fails(build(nil)) {
		keep = nil
	}
	return build(keep), failed
}
