package campaign

import (
	"fmt"
	"slices"

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

// needs finds what checks lack to do any work, and what is said of signals that none of them sends.
func (v *validator) needs(c *misstepv1.Campaign) {
	if max(len(c.GetChecks()), len(c.GetInstrumentation()), len(c.GetSampling())) > maxList {
		return // which has been said
	}
	methods, signals, bursts := "", "", false // the first check that needs them
	for i, ch := range c.GetChecks() {
		name := ch.GetName()
		need := checks[name]
		if methods == "" && need.instrumentation {
			methods = name
		}
		if signals == "" && need.signals {
			signals = name
		}
		bursts = bursts || name == "asgct-shadow"
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
		at := fmt.Sprintf("sampling[%d]", i)
		if d, ok := duration(s.GetInterval()); ok && d == 0 && signals != "" {
			v.addf(at+".interval", "no signal would be sent, and the check %s needs signals: expected a duration from %v to %v", signals, minInterval, maxInterval)
		}
		if s.GetBurst() > 1 && !bursts {
			v.addf(at+".burst", "bursts are the check asgct-shadow's, which is not asked for")
		}
		const noSignal = "no signal is sent without the check asgct-shadow or asgct-gst-bracket: ask for one of them, or leave %s out"
		if s.GetGuesses() > 0 && signals == "" {
			v.addf(at+".guesses", noSignal, "guesses")
		}
		if s.GetThreads() != "" && signals == "" {
			v.addf(at+".threads", noSignal, "threads")
		}
	}
}

// Works says whether a recipe's checks and perturbation have what they need, as Validate asks of a campaign's; a trial of one whose do not would be
// void.
func Works(r *misstepv1.Recipe) bool {
	c := &misstepv1.Campaign{Checks: r.GetChecks()}
	if r.GetInstrumentation() != nil {
		c.Instrumentation = append(c.Instrumentation, r.GetInstrumentation())
	}
	if r.GetSampling() != nil {
		c.Sampling = append(c.Sampling, r.GetSampling())
	}
	v := &validator{}
	v.needs(c)
	return len(v.out) == 0 && Suits(r.GetPerturbation(), r)
}
