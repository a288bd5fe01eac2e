package campaign

import (
	"fmt"
	"regexp"
	"slices"

	"google.golang.org/protobuf/proto"

	misstepv1 "misstep/proto/misstep/v1"
)

// Checks that a campaign may ask for, with what each needs to do any work.
var checks = map[string]struct{ instrumentation, signals, traces bool }{
	"gst-asgct":         {instrumentation: true},
	"shadow-gst":        {instrumentation: true},
	"asgct-shadow":      {instrumentation: true, signals: true},
	"asgct-gst-bracket": {signals: true},
	"edges":             {traces: true},
	"liveness":          {},
}

// needs finds what checks lack to do any work.
func (v *validator) needs(c *misstepv1.Campaign) {
	if unbounded(c) {
		return // which has been said
	}
	methods, signals := "", "" // the first check that needs them
	for i, ch := range c.GetChecks() {
		name := ch.GetName()
		need := checks[name]
		if methods == "" && need.instrumentation {
			methods = name
		}
		if signals == "" && need.signals {
			signals = name
		}
		if need.traces && !slices.ContainsFunc(c.GetChecks(), func(other *misstepv1.Check) bool {
			walks := checks[other.GetName()]
			return walks.instrumentation || walks.signals
		}) {
			v.addf(fmt.Sprintf("checks[%d].name", i), "%s judges the traces that other checks take: expected one of gst-asgct, shadow-gst, asgct-shadow, asgct-gst-bracket too", name)
		}
	}
	for i, in := range c.GetInstrumentation() {
		if methods != "" && in.GetRatio() == 0 && len(in.GetOnly()) == 0 {
			v.addf(fmt.Sprintf("instrumentation[%d].ratio", i), "nothing would be instrumented, and the check %s needs instrumented methods: expected more than 0", methods)
		}
	}
	if signals != "" && len(c.GetSampling()) == 0 {
		v.addf("sampling", "is required: the check %s needs signals, for example an entry with interval 1ms", signals)
	}
	for i, s := range c.GetSampling() {
		if d, ok := duration(s.GetInterval()); ok && d == 0 && signals != "" {
			v.addf(fmt.Sprintf("sampling[%d].interval", i), "no signal would be sent, and the check %s needs signals: expected a duration from %v to %v", signals, minInterval, maxInterval)
		}
	}
}

// unused finds what is said of methods and signals although nothing asks for them, and what contradicts a list of methods. The agent would
// refuse it or never learn of it: either way the trials would not be what their author asked for.
func (v *validator) unused(c *misstepv1.Campaign) {
	if unbounded(c) {
		return // which has been said
	}
	methods := UsesMethods(c.GetChecks(), c.GetPerturb()...)
	for i, in := range c.GetInstrumentation() {
		at := fmt.Sprintf("instrumentation[%d]", i)
		some, patterns := in.GetRatio() > 0 && in.GetRatio() < 1, len(in.GetInclude())+len(in.GetExclude()) > 0
		if !methods && (some || patterns || len(in.GetOnly()) > 0) {
			v.addf(at, "chooses among methods, but none is instrumented without the check gst-asgct, shadow-gst or asgct-shadow or a perturbation by the agent: ask for one of them, or leave it out")
		} else if len(in.GetOnly()) > 0 && (in.GetRatio() > 0 || patterns) {
			v.addf(at+".only", "lists the methods that are instrumented, so ratio, include and exclude have nothing to choose from: leave them out, or only")
		}
	}
	signals := UsesSignals(c.GetChecks())
	bursts := usesBursts(c.GetChecks())
	for i, s := range c.GetSampling() {
		at := fmt.Sprintf("sampling[%d]", i)
		if !signals && !proto.Equal(s, &misstepv1.Sampling{}) {
			v.addf(at, "no signal is sent without the check asgct-shadow or asgct-gst-bracket: ask for one of them, or leave it out")
		} else if s.GetBurst() > 1 && !bursts {
			v.addf(at+".burst", "bursts are the check asgct-shadow's, which is not asked for")
		}
	}
}

// unbounded says whether a campaign's lists are longer than anybody needs.
func unbounded(c *misstepv1.Campaign) bool {
	return max(len(c.GetChecks()), len(c.GetInstrumentation()), len(c.GetSampling()), len(c.GetPerturb())) > maxList
}

// UsesMethods says whether checks, or perturbations by the agent, ask for instrumented methods.
func UsesMethods(list []*misstepv1.Check, perturb ...*misstepv1.Perturbation) bool {
	return slices.ContainsFunc(list, func(ch *misstepv1.Check) bool { return checks[ch.GetName()].instrumentation }) ||
		slices.ContainsFunc(perturb, func(p *misstepv1.Perturbation) bool {
			return p.GetMechanism() == misstepv1.MechanismAgent && misstepv1.Disturbs(p.GetStrategy())
		})
}

// UsesSignals says whether checks ask for signals.
func UsesSignals(list []*misstepv1.Check) bool {
	return slices.ContainsFunc(list, func(ch *misstepv1.Check) bool { return checks[ch.GetName()].signals })
}

func usesBursts(list []*misstepv1.Check) bool {
	return slices.ContainsFunc(list, func(ch *misstepv1.Check) bool { return ch.GetName() == "asgct-shadow" })
}

// asCampaign is the part of a campaign that a recipe is one trial of.
func asCampaign(r *misstepv1.Recipe) *misstepv1.Campaign {
	c := &misstepv1.Campaign{Checks: r.GetChecks(), Evidence: r.GetEvidence(), Limits: r.GetLimits()}
	if r.GetInstrumentation() != nil {
		c.Instrumentation = append(c.Instrumentation, r.GetInstrumentation())
	}
	if r.GetSampling() != nil {
		c.Sampling = append(c.Sampling, r.GetSampling())
	}
	if r.GetPerturbation() != nil {
		c.Perturb = append(c.Perturb, r.GetPerturbation())
	}
	return c
}

// Works says whether a recipe's checks and perturbation have what they need, as Validate asks of a campaign's; a trial of one whose do not would be
// void.
func Works(r *misstepv1.Recipe) bool {
	v := &validator{}
	v.needs(asCampaign(r))
	return len(v.out) == 0 && Suits(r.GetPerturbation(), r)
}

// Tidy takes from a recipe what it says of methods and signals, where nothing asks for them any more: its trials stay what they are.
func Tidy(r *misstepv1.Recipe) {
	if !UsesMethods(r.GetChecks(), r.GetPerturbation()) {
		r.Instrumentation = nil
	}
	if !UsesSignals(r.GetChecks()) {
		r.Sampling = nil
	} else if r.Sampling != nil && !usesBursts(r.GetChecks()) {
		r.Sampling.Burst = 0
	}
}

// ValidateRecipe returns what is wrong with the checks of a recipe that somebody wrote, and with their options; without checks nothing may be
// said of these. What its workload, its JDK and its perturbation must be is for those who run it.
func ValidateRecipe(r *misstepv1.Recipe) []Violation {
	v := &validator{}
	c := asCampaign(r)
	v.trials(c)
	for i := range v.out {
		v.out[i].Field = soleEntry.ReplaceAllString(v.out[i].Field, "$1") // a recipe has one of each
	}
	return v.out
}

var soleEntry = regexp.MustCompile(`^(instrumentation|sampling)\[0\]`)
