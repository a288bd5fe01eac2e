package reproduce

import (
	"fmt"
	"math"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"misstep/coordinator/bisect"
	misstepv1 "misstep/proto/misstep/v1"
)

const (
	// enoughHits determine a rate to within a third.
	enoughHits = 10
	// amplifyBelow is the rate from which amplifying is not worth its cost. About twenty neighbours take fifty times the tries that
	// a hit takes on average; to know at the end that the rate is kept takes five hundred times as many where hits are rare, and
	// twenty times as many where nearly every try hits.
	amplifyBelow = 0.6
	// bisectConfidence is the confidence at which a bisection ends.
	bisectConfidence = 0.98
)

// program runs all steps; it returns false while results are missing.
func (m *machine) program() (done bool) {
	base, ok := m.confirm()
	if !ok {
		return false
	}
	if m.plan.Failure != "" {
		return true
	}
	confirmedRate := base.rate()
	best, ok := m.amplify(base)
	if !ok {
		return false
	}
	m.plan.Best = best.recipe
	final, ok := m.minimise(best, best != base)
	if !ok {
		return false
	}
	bisection, ok := m.bisect(final)
	if !ok {
		return false
	}
	verified, ok := m.verify(final.measured)
	if !ok {
		return false
	}
	if m.plan.Failure != "" {
		return true
	}
	recipe := proto.CloneOf(final.measured.recipe)
	seedMatters := recipe.GetSeed() != 0
	if !seedMatters {
		recipe.Seed = m.r.GetSpec().GetRecipe().GetSeed()
	}
	result := &misstepv1.Reproducer{
		Recipe: recipe, Reliability: reliability(verified.hits, len(verified.results)), Steps: m.plan.Steps,
		Amplification: best.rate() / confirmedRate, Removed: final.removed, Kept: final.kept, Bisection: bisection,
		MeanTry: durationpb.New(m.meanWall(StepVerify)), SeedMatters: seedMatters,
	}
	for _, b := range bisection.GetBuilds() {
		if b.GetHits() > 0 && b.GetJdk().GetDigest() != recipe.GetJdk().GetDigest() {
			result.OtherJdks = append(result.OtherJdks, b.GetJdk())
		}
	}
	m.plan.Reproducer = result
	return true
}

// start returns the finding's recipe without labels. The seed is kept where it chose the methods; elsewhere each try draws its own.
func start(recipe *misstepv1.Recipe) *misstepv1.Recipe {
	r := proto.CloneOf(recipe)
	r.FlagSet = ""
	if i := r.GetInstrumentation(); len(i.GetOnly()) > 0 || i.GetRatio() <= 0 || i.GetRatio() >= 1 {
		r.Seed = 0
	}
	return r
}

// confirm repeats the finding and measures its rate.
func (m *machine) confirm() (*arm, bool) {
	m.begin(StepConfirm)
	recipe := start(m.r.GetSpec().GetRecipe())
	most := min(max(20, m.limit()/4), 3000)
	a := m.arm("base", recipe)
	m.noteCurrent(a)
	m.plan.Doing = "repeats the finding's recipe"
	m.plan.Left = m.estimateTries(a.rate(), 12, true)
	if !m.measure(a, enoughHits, enoughHits, most) {
		return nil, false
	}
	// Near the rate that decides whether to amplify, more hits are collected: minimising needs them anyway.
	if a.rate() > amplifyBelow/2 && !m.measure(a, int(referenceHits/2*(1-a.rate())), enoughHits, most) {
		return nil, false
	}
	if a.hits == 0 && recipe.GetSeed() == 0 && len(a.results) > 0 {
		tried := len(a.results)
		recipe = proto.CloneOf(recipe)
		recipe.Seed = m.r.GetSpec().GetRecipe().GetSeed()
		a = m.arm("seed", recipe)
		m.noteCurrent(a)
		m.plan.Doing = "repeats the finding's recipe with its own seed"
		if !m.measure(a, enoughHits, enoughHits, most) {
			return nil, false
		}
		if a.hits == 0 {
			m.plan.Failure = fmt.Sprintf("the finding did not show again in %d tries with fresh seeds and %d with its own", tried,
				len(a.results))
		}
	}
	switch {
	case m.plan.Failure != "":
	case len(a.results) == 0 && a.trouble != "":
		m.plan.Failure = "its recipe cannot be run: " + a.trouble
	case a.hits == 0:
		m.plan.Failure = fmt.Sprintf("the finding did not show again in %d tries", len(a.results))
		if a.trouble != "" {
			m.plan.Failure += ": " + a.trouble
		}
	}
	m.end(a.rate(), fmt.Sprintf("%d of %d tries showed it", a.hits, len(a.results)))
	return a, true
}

// amplify moves to the neighbour that hits most often, repeatedly, until none hits clearly more often.
func (m *machine) amplify(base *arm) (*arm, bool) {
	m.begin(StepAmplify)
	const rounds = 6
	var path []string
	dropped := map[string]bool{}
	for round := 0; round < rounds && base.rate() < amplifyBelow && !m.cut; round++ {
		for {
			m.plan.Doing = fmt.Sprintf("compares the neighbours of a recipe that hits with %.3g", base.rate())
			m.plan.Left = m.estimateTries(base.rate(), 12, true)
			winner, ok := m.race(round, base, dropped)
			if !ok {
				return nil, false
			}
			if winner == nil {
				round = rounds
				break
			}
			measured := m.arm(fmt.Sprintf("measure%d", round), winner.recipe)
			m.plan.Doing = "measures " + winner.name
			if !m.measure(measured, enoughHits, enoughHits, int(math.Ceil(30/base.rate()))) {
				return nil, false
			}
			if measured.rate() >= 1.5*base.rate() {
				path = append(path, fmt.Sprintf("%s: %.3g", winner.name, measured.rate()))
				base = measured
				m.noteCurrent(base)
				break
			}
			dropped[winner.name] = true // it was luck
		}
	}
	summary := fmt.Sprintf("no neighbour hits more often than with %.3g", base.rate())
	switch {
	case len(path) > 0:
		summary = fmt.Sprintf("%q", path)
	case base.rate() >= amplifyBelow:
		summary = fmt.Sprintf("not needed at a rate of %.3g", base.rate())
	}
	m.end(base.rate(), summary)
	return base, true
}

// racer is a neighbour in a race.
type racer struct {
	neighbour
	arm  *arm
	test test
}

// race gives all neighbours the same number of tries, round after round, and drops those that are not better. It returns the first
// that is clearly better, the best of them when there are several; nil when none is. The result is false while results are missing.
func (m *machine) race(round int, base *arm, dropped map[string]bool) (*neighbour, bool) {
	p := base.rate()
	var live []racer
	for _, n := range m.neighbours(base) {
		if !dropped[n.name] {
			live = append(live, racer{n, m.arm(fmt.Sprintf("round%d", round), n.recipe), amplificationTest(p)})
		}
	}
	portion := int(math.Ceil(0.5 / p))
	for n := portion; len(live) > 0; n += portion {
		missing := false
		live = slices.DeleteFunc(live, func(r racer) bool {
			if lacks := n - len(r.arm.results); lacks > 0 {
				if v, _, _ := r.test.judge(r.arm.results); v == undecided {
					if !m.ask(r.arm, lacks) {
						return true
					}
					missing = true
				}
			}
			return false
		})
		if missing {
			return nil, false
		}
		var best *racer
		rate := 0.0
		live = slices.DeleteFunc(live, func(r racer) bool {
			v, used, _ := r.test.judge(r.arm.results[:min(n, len(r.arm.results))])
			if v == high {
				hits := 0
				for _, hit := range r.arm.results[:used] {
					if hit {
						hits++
					}
				}
				if x := float64(hits) / float64(used); x > rate {
					best, rate = &r, x
				}
			}
			return v == low
		})
		if best != nil {
			return &best.neighbour, true
		}
	}
	return nil, true
}

// bisect finds the affected builds.
func (m *machine) bisect(final outcome) (*misstepv1.Bisection, bool) {
	m.begin(StepBisect)
	sorted := slices.Clone(m.r.GetSpec().GetBuilds())
	recipe := final.measured.recipe
	own := func(b *misstepv1.JdkBuild) bool { return b.GetJdk().GetDigest() == recipe.GetJdk().GetDigest() }
	if !slices.ContainsFunc(sorted, func(b *misstepv1.JdkBuild) bool { return !own(b) }) {
		m.end(0, "there is no other build to try")
		return nil, true
	}
	ordered := func(b *misstepv1.JdkBuild) bisect.Build {
		return bisect.Build{
			Name: b.GetJdk().GetName(), Feature: int(b.GetFeature()), Version: b.GetJdk().GetVersion(), Vendor: b.GetVendor(),
		}
	}
	slices.SortFunc(sorted, func(a, b *misstepv1.JdkBuild) int { return bisect.Compare(ordered(a), ordered(b)) })
	builds := make([]bisect.Build, len(sorted))
	arms := make([]*arm, len(sorted))
	evidence := make([]bisect.Evidence, len(sorted))
	for i, b := range sorted {
		builds[i] = ordered(b)
		if own(b) {
			evidence[i] = bisect.Evidence{Hits: final.measured.hits, Tries: len(final.measured.results)}
		}
		on := proto.CloneOf(recipe)
		on.Jdk = b.GetJdk()
		arms[i] = m.arm("build", on)
	}
	prior := bisect.FromRate(final.measured.hits, len(final.measured.results))
	used := make([]int, len(sorted))
	var answer bisect.Answer
	for {
		answer = bisect.Weigh(builds, evidence, prior)
		i, tries := bisect.Choose(evidence, prior, answer)
		if answer.Confidence >= bisectConfidence || i < 0 {
			break
		}
		m.plan.Doing = fmt.Sprintf("tries JDK %s, confidence %.2f so far", builds[i].Name, answer.Confidence)
		m.plan.Left = m.estimateTries(final.measured.rate(), 0, false) + 3*tries
		a := arms[i]
		if lacks := used[i] + tries - len(a.results); lacks > 0 {
			if m.ask(a, lacks) {
				m.plan.Bisection = report(sorted, builds, arms, evidence, answer)
				return nil, false
			}
			evidence[i].Skipped = true // its tries so far count, no further ones are possible
			tries = len(a.results) - used[i]
		}
		for _, hit := range a.results[used[i]:][:tries] {
			evidence[i].Tries++
			if hit {
				evidence[i].Hits++
			}
		}
		used[i] += tries
		if m.cut {
			break
		}
	}
	result := report(sorted, builds, arms, evidence, answer)
	m.end(0, summarise(result))
	return result, true
}

// report converts a bisection's answer to a message of the protocol.
func report(
	sorted []*misstepv1.JdkBuild, builds []bisect.Build, arms []*arm, evidence []bisect.Evidence, answer bisect.Answer,
) *misstepv1.Bisection {
	result := &misstepv1.Bisection{Confidence: answer.Confidence}
	newest := -1
	var runs []int // builds that could be tried
	for i, b := range sorted {
		row := &misstepv1.BisectedBuild{
			// Counts are bounded by the budget.
			Jdk: b.GetJdk(), Hits: uint32(evidence[i].Hits), Tries: uint32(evidence[i].Tries), Affected: answer.Affected[i],
		}
		if evidence[i].Skipped && evidence[i].Tries == 0 {
			if row.Skipped = arms[i].trouble; row.Skipped == "" {
				row.Skipped = "no try was possible"
			}
		} else {
			runs = append(runs, i)
			newest = i
		}
		result.Builds = append(result.Builds, row)
	}
	for k, i := range runs {
		if !answer.Best[i] {
			continue
		}
		if result.FirstAffected == "" {
			result.FirstAffected = builds[i].Name
			if k > 0 {
				result.LastGood = builds[runs[k-1]].Name
			}
		}
		result.LastAffected, result.FirstFixed = builds[i].Name, ""
		if k+1 < len(runs) {
			result.FirstFixed = builds[runs[k+1]].Name
		}
	}
	if newest >= 0 {
		result.NewestAffected = answer.Affected[newest]
	}
	return result
}

func summarise(b *misstepv1.Bisection) string {
	name := func(s string) string {
		if s == "" {
			return "none tried"
		}
		return s
	}
	return fmt.Sprintf("first affected %s (last good: %s), last affected %s (first fixed: %s), confidence %.2f",
		name(b.GetFirstAffected()), name(b.GetLastGood()), name(b.GetLastAffected()), name(b.GetFirstFixed()), b.GetConfidence())
}

// verify measures the final recipe once more with fresh tries.
func (m *machine) verify(final *arm) (*arm, bool) {
	m.begin(StepVerify)
	p := final.rate()
	a := m.arm("fresh", final.recipe)
	m.noteCurrent(a)
	m.plan.Doing = "repeats the reproducer"
	m.plan.Left = max(0, 20-len(a.results))
	if !m.measure(a, enoughHits, 20, max(20, int(math.Ceil(50/p)))) {
		return nil, false
	}
	if a.hits == 0 {
		m.plan.Failure = fmt.Sprintf("the minimised recipe did not show the finding in %d fresh tries", len(a.results))
		if m.r.GetTimeOver() {
			m.plan.Failure = fmt.Sprintf(
				"the time budget of %v ended before the minimised recipe was verified (%d fresh tries, no hit); "+
					"start it again with a larger one (--budget-time)",
				m.r.GetSpec().GetTime().AsDuration(),
				len(a.results),
			)
		}
		if a.trouble != "" {
			m.plan.Failure += ": " + a.trouble
		}
	}
	m.end(a.rate(), fmt.Sprintf("%d of %d fresh tries showed it", a.hits, len(a.results)))
	return a, true
}

// estimateTries estimates the tries still to come when elements are left to be tested at a rate of p.
func (m *machine) estimateTries(p float64, elements int, bisects bool) int {
	n := 20 + float64(elements)*8/p
	if bisects && len(m.r.GetSpec().GetBuilds()) > 1 {
		n += 4 * float64(len(m.r.GetSpec().GetBuilds())) / p
	}
	return int(min(n, float64(max(0, m.limit()-m.spent))))
}
