package bundle

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	misstepv1 "misstep/proto/misstep/v1"
)

// needs is what a reproducer consists of, and what its finding's recipe had besides.
type needs struct {
	Kept, Removed []element
	Seed          bool // the recipe's own seed is needed
}

type element struct{ Kind, Name string }

func newNeeds(r *misstepv1.Reproducer) *needs {
	if len(r.GetSteps()) == 0 {
		return nil
	}
	return &needs{Kept: elements(r.GetKept()), Removed: elements(r.GetRemoved()), Seed: r.GetSeedMatters()}
}

func elements(from []*misstepv1.RecipeElement) []element {
	var all []element
	for _, e := range from {
		all = append(all, element{Kind: markdown(e.GetKind()), Name: code(e.GetName())})
	}
	return all
}

// affectedBuilds is a bisection: the builds that were tried, and which of them have the bug. An absent build is empty.
type affectedBuilds struct {
	Rows                                              []affectedBuild
	FirstAffected, LastGood, LastAffected, FirstFixed string
	Confidence, Newest                                string
}

type affectedBuild struct {
	JDK         string
	Hits, Tries uint32
	Affected    string // probability
	Skipped     string // why it was not tried
}

func newAffectedBuilds(r *misstepv1.Reproducer) *affectedBuilds {
	b := r.GetBisection()
	if len(b.GetBuilds()) == 0 {
		return nil
	}
	whole := func(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }
	a := &affectedBuilds{
		FirstAffected: markdown(b.GetFirstAffected()), LastGood: markdown(b.GetLastGood()),
		LastAffected: markdown(b.GetLastAffected()), FirstFixed: markdown(b.GetFirstFixed()),
		Confidence: whole(b.GetConfidence()), Newest: whole(b.GetNewestAffected()),
	}
	for _, row := range b.GetBuilds() {
		a.Rows = append(a.Rows, affectedBuild{
			JDK: markdown(nameOf(row.GetJdk())), Hits: row.GetHits(), Tries: row.GetTries(), Affected: percent(row.GetAffected()),
			Skipped: markdown(row.GetSkipped()),
		})
	}
	return a
}

// rate is the measured reliability, else what the campaign's trials tell.
type rate struct {
	Measured    bool
	Hits, Tries uint64
	RunsPerHit  uint64 // rounded up; 0 without a hit
	// Of a measured one: the 95 % interval, the time that a hit took, and the hits of the tries from the bundle alone; the last two
	// may be empty.
	Interval, TimePerHit, Clean string
	// Campaign lists what the trials were of, when it is not measured.
	Campaign []campaignRate
}

type campaignRate struct {
	JDK, Workload, FlagSet string
	Hits, Trials           uint64
	Interval               string
}

func newRate(r *misstepv1.Reproducer) rate {
	m := r.GetReliability()
	if m.GetTries() == 0 {
		return campaignRates(r.GetFinding())
	}
	data := rate{
		Measured: true,
		Hits:     uint64(m.GetHits()),
		Tries:    uint64(m.GetTries()),
		Interval: interval(m.GetLow(), m.GetHigh()),
	}
	data.RunsPerHit = runsPerHit(data.Hits, data.Tries)
	if data.Hits > 0 && r.GetMeanTry() != nil {
		took := time.Duration(float64(r.GetMeanTry().AsDuration()) * float64(data.Tries) / float64(data.Hits))
		data.TimePerHit = took.Round(100 * time.Millisecond).String()
	}
	if c := r.GetClean(); c.GetTries() > 0 {
		data.Clean = fmt.Sprintf("%d of %d", c.GetHits(), c.GetTries())
	}
	return data
}

func campaignRates(f *misstepv1.Finding) rate {
	var data rate
	for _, r := range f.GetRates() {
		data.Hits, data.Tries = data.Hits+r.GetHits(), data.Tries+r.GetTrials()
		data.Campaign = append(data.Campaign, campaignRate{
			JDK: markdown(r.GetJdk()), Workload: markdown(r.GetWorkload()), FlagSet: markdown(r.GetFlagSet()),
			Hits: r.GetHits(), Trials: r.GetTrials(), Interval: interval(r.GetLow(), r.GetHigh()),
		})
	}
	data.RunsPerHit = runsPerHit(data.Hits, data.Tries)
	return data
}

func interval(low, high float64) string { return percent(low) + " to " + percent(high) }

func runsPerHit(hits, tries uint64) uint64 {
	if hits == 0 {
		return 0
	}
	return uint64(math.Ceil(float64(tries) / float64(hits)))
}

// perturbation is what disturbed the order of threads when the finding was made, and what does when it is reproduced.
type perturbation struct {
	ByAgent   bool // else by the scheduler in the kernel
	Strategy  string
	Seed      uint64
	Planned   bool // run.sh perturbs
	SeedOfTry bool // under run.sh its seed is the try's
	// From and Until are the first and the last of each thread's decisions that are carried out; empty for no bound.
	From, Until string
	// Spared are the roles of threads that are not perturbed.
	Spared string
}

func newPerturbation(c *Contents) *perturbation {
	p := c.Reproducer.GetRecipe().GetPerturbation()
	if !misstepv1.Disturbs(p.GetStrategy()) {
		return nil
	}
	data := &perturbation{
		ByAgent: p.GetMechanism() == misstepv1.MechanismAgent, Strategy: markdown(p.GetStrategy()),
		Seed: cmp.Or(p.GetSeed(), c.Reproducer.GetRecipe().GetSeed()), Planned: c.planned(),
		SeedOfTry: FreshSeeds(c.Reproducer) && p.GetSeed() == 0,
	}
	var spared []string
	for _, name := range slices.Sorted(maps.Keys(p.GetParameters())) {
		if role, spares := strings.CutPrefix(name, misstepv1.PerturbSpare); spares && p.GetParameters()[name] != 0 {
			spared = append(spared, role)
		}
	}
	data.Spared = markdown(strings.Join(spared, ", "))
	from, until := p.GetParameters()[misstepv1.PerturbFrom], p.GetParameters()[misstepv1.PerturbUntil]
	if from != 0 || until != 0 {
		data.From = fmt.Sprintf("%.0f", from)
	}
	if until != 0 {
		data.Until = fmt.Sprintf("%.0f", until-1)
	}
	return data
}
