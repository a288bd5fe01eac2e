package check

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"misstep/agent"
	"misstep/app/compared"
	"misstep/known"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/runner/jvm"
	"misstep/triage"
)

// Report is what was found in one JVM.
type Report struct {
	// Command as it was given; PID of its process.
	Command []string `json:"command"`
	PID     int      `json:"pid"`
	JDK     JDK      `json:"jdk"`
	// ExitCode of the program, -1 when a signal ended it or where it is unknown; Signal is its number, 0 for none.
	ExitCode int `json:"exit_code"`
	Signal   int `json:"signal,omitempty"`
	// Stopped means that Misstep ended it so, since its time was over: that is no failure of the program.
	Stopped bool `json:"stopped,omitempty"`
	// Wall and CPU time of the program in nanoseconds, MaxRSS its largest resident set in bytes, all with the agent's part.
	Wall   time.Duration `json:"wall"`
	CPU    time.Duration `json:"cpu"`
	MaxRSS uint64        `json:"max_rss"`
	// MaxRSSBound means that the program took no more than MaxRSS, which is Misstep's own: it hides what is smaller.
	MaxRSSBound bool `json:"max_rss_bound,omitempty"`
	// Instrumented counts the methods that were instrumented, Failed the classes that could not be.
	Instrumented uint64 `json:"instrumented,omitempty"`
	Failed       uint64 `json:"failed,omitempty"`
	// Outcome is clean, mismatches, crash or void, and Reason says why it is that.
	Outcome string `json:"outcome"`
	Reason  string `json:"reason,omitempty"`
	// Checks in the order of misstep checks.
	Checks []Count `json:"checks"`
	// Idle says of each check that compared nothing, or too little, why.
	Idle []string `json:"idle,omitempty"`
	// Profiles are what the checks of samples say about a profile.
	Profiles []Profile `json:"profiles"`
	// Compared says what each walker was asked and how much of it was compared.
	Compared []compared.Row `json:"compared"`
	// Bugs are what the findings are, the most frequent first. A finding that is no known bug is a bug by itself.
	Bugs []Bug `json:"bugs"`
	// Bounds are what came of limits, where there are some.
	Bounds []Bound `json:"bounds,omitempty"`
	// JVMs are those that the command started, where it may have started several; all else is then the sum of theirs.
	JVMs []*Report `json:"jvms,omitempty"`
	// Bundles were written of the findings.
	Bundles []Bundle `json:"bundles,omitempty"`
	// Phases are where the time of the check went, in order.
	Phases []Phase `json:"phases,omitempty"`
	// Notes are what limits all of this.
	Notes []string `json:"notes,omitempty"`
}

// JDK is the build that ran.
type JDK struct {
	Home    string `json:"home"`
	Feature int    `json:"feature"`
	Version string `json:"version"`
}

// Count is the verdicts of one check.
type Count struct {
	Check      string            `json:"check"`
	Total      uint64            `json:"total"`
	Match      uint64            `json:"match"`
	Mismatch   uint64            `json:"mismatch"`
	Tolerated  map[string]uint64 `json:"tolerated,omitempty"`
	Unwalkable map[int32]uint64  `json:"unwalkable,omitempty"`
	Void       map[string]uint64 `json:"void,omitempty"`
}

// Profile is what a check of samples says about the profile of a walker or sampler. Samples are those that were judged; the shares
// are of them, from 0 to 1.
type Profile struct {
	Check   string `json:"check"`
	Walker  string `json:"walker"`
	Samples uint64 `json:"samples"`
	// CutOff samples lack their bottom, Wrong ones have other frames than the thread's, Lost ones have an error code for a stack.
	Wrong  float64 `json:"wrong"`
	CutOff float64 `json:"cut_off"`
	Lost   float64 `json:"lost"`
}

// Bug is one known bug, or one finding that is none.
type Bug struct {
	// ID of the known bug, else of the finding.
	ID    string `json:"id"`
	Known bool   `json:"known"`
	Title string `json:"title"`
	// Findings are the ids of its findings.
	Findings []string `json:"findings"`
	// Checks and Kinds by which it shows.
	Checks []string `json:"checks,omitempty"`
	Kinds  []string `json:"kinds"`
	// Count of mismatches, 1 for a crash.
	Count uint64 `json:"count"`
	// Wrong and CutOff are its shares of the samples of the check that it harms most, 0 where none judges samples.
	Wrong  float64 `json:"wrong"`
	CutOff float64 `json:"cut_off"`
	// signature of the finding, where the bug is one.
	signature *misstepv1.Signature
}

// Found reports whether there is any finding.
func (r *Report) Found() bool { return len(r.Bugs) > 0 }

// New reports whether there is a finding that is no known bug.
func (r *Report) New() bool { return slices.ContainsFunc(r.Bugs, func(b Bug) bool { return !b.Known }) }

// Proved reports whether each walker was judged, or there is a finding.
func (r *Report) Proved() bool {
	return r.Outcome != misstepv1.OutcomeName(misstepv1.OutcomeKind_OUTCOME_KIND_VOID)
}

func report(command []string, pid int, side jvm.Alongside, o *misstepv1.Outcome, own known.Catalogue) *Report {
	r := &Report{
		Command: command, PID: pid, JDK: JDK{Home: side.Home, Feature: side.Feature, Version: side.Recipe.GetJdk().GetVersion()},
		ExitCode: int(o.GetExitCode()), Signal: int(o.GetSignal()), Wall: o.GetWall().AsDuration(), CPU: o.GetCpu().AsDuration(),
		MaxRSS: o.GetMaxRssBytes(), Outcome: misstepv1.OutcomeName(o.GetKind()), Reason: o.GetReason(),
		Bugs: bugs(o.GetChecks(), []examined{{outcome: o, side: side}}, own), Profiles: profiles(o),
		Checks: []Count{}, Idle: idle(o.GetChecks()),
		Compared: compared.OfOutcome(release(side.Feature), side.Recipe.GetProfiler(), o),
	}
	for _, c := range o.GetChecks() {
		r.Checks = append(r.Checks, Count{
			Check: c.GetCheck(), Total: c.GetTotal(), Match: c.GetMatch(), Mismatch: c.GetMismatch(),
			Tolerated: c.GetTolerated(), Unwalkable: c.GetUnwalkable(), Void: c.GetVoid(),
		})
	}
	if n := o.GetMismatchesLeftOut(); n > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%d further records of mismatches are in the evidence only", n))
	}
	if n := o.GetSignaturesLeftOut(); n > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%d signatures are not among the findings: the outcome had no room for them", n))
	}
	return r
}

// release names the feature release of a JDK, if it is known.
func release(feature int) string {
	if feature == 0 {
		return ""
	}
	return fmt.Sprintf("JDK %d", feature)
}

// fewAnswers is the share of the signals that are answered below which the sampler has not got through.
const fewAnswers = 0.5

// observe adds what the agent's flight record says.
func (r *Report) observe(s agent.Status) {
	r.Instrumented, r.Failed = s.Instrumented, s.Failed
	if s.Failed > 0 {
		r.Notes = append(r.Notes,
			fmt.Sprintf("classes that could not be instrumented: %d; agent.log of --out has the reasons", s.Failed))
	}
	if s.Sent > 0 && float64(s.Answered) < fewAnswers*float64(s.Sent) {
		r.Notes = append(r.Notes, fmt.Sprintf("of %d signals of the sampler only %d were answered: the program, or a library of "+
			"it, may handle that signal (misstep check sends %s) itself, or block it", s.Sent, s.Answered, samplerSignal))
	}
}

// observeFolder adds what the agent's folder says of other JVMs.
func (r *Report) observeFolder(dir string) {
	if n := agent.Unchecked(dir); n > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("JVMs that were not checked, since the program started them with the arguments of "+
			"its own JVM: %d; --all-jvms checks each JVM", n))
	}
}

// judged is the number of a check's samples with a verdict, those without a stack among them.
func judged(c *misstepv1.CheckCount) uint64 {
	n := c.GetTotal()
	for _, void := range c.GetVoid() {
		n -= min(n, void)
	}
	return n
}

// samples reports whether a check judges samples, as profilers take them, and not a thread's walks of its own stack.
func samples(name string) bool {
	known, ok := recipe.FindCheck(name)
	return ok && len(known.Kinds) > 0 && (known.Signals || known.Tap)
}

// share returns part/whole, 0 of nothing.
func share(part, whole uint64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

const cutOff = "truncated"

// profiles sums up the checks of samples.
func profiles(o *misstepv1.Outcome) []Profile {
	list := []Profile{}
	for _, c := range o.GetChecks() {
		if samples(c.GetCheck()) && judged(c) > 0 {
			list = append(list, ProfileOf(o, c))
		}
	}
	return list
}

// ProfileOf sums up one check of an outcome, whatever takes its samples.
func ProfileOf(o *misstepv1.Outcome, c *misstepv1.CheckCount) Profile {
	cut, lost := triage.CutOff(o)[c.GetCheck()], uint64(0)
	for _, n := range c.GetUnwalkable() {
		lost += n
	}
	known, _ := recipe.FindCheck(c.GetCheck())
	all := judged(c)
	return Profile{
		Check: c.GetCheck(), Walker: known.Suspect, Samples: all, Lost: share(lost, all), CutOff: share(cut, all),
		Wrong: share(c.GetMismatch()-min(cut, c.GetMismatch()), all),
	}
}

// bugs groups what the outcomes of JVMs show by known bugs, own ones first, each on its own JDK. The shares are of the samples that
// counts has.
func bugs(counts []*misstepv1.CheckCount, jvms []examined, own known.Catalogue) []Bug {
	catalogue := known.Default().With(own)
	all := map[string]uint64{} // samples by check
	for _, c := range counts {
		if samples(c.GetCheck()) {
			all[c.GetCheck()] = judged(c)
		}
	}
	titles := map[string]string{}
	for _, b := range catalogue.Bugs() {
		titles[b.ID] = b.Title
	}
	of := map[string]*grown{}
	var order []*grown
	for _, x := range jvms {
		mismatches := byFinding(x.outcome.GetMismatches())
		for _, h := range triage.Triage(x.outcome) {
			id, isKnown := h.ID, false
			if labels := triage.KnownAs(catalogue, h.Signature, x.side.Recipe.GetJdk()); len(labels) > 0 {
				id, isKnown = labels[0], true
			}
			b := of[id]
			if b == nil {
				bug := Bug{ID: id, Known: isKnown, Title: cmp.Or(titles[id], h.Title), signature: h.Signature}
				b = &grown{Bug: bug, harm: map[string]*harm{}}
				of[id], order = b, append(order, b)
			}
			b.add(x.outcome, h.ID, mismatches[h.ID])
		}
	}
	list := []Bug{}
	for _, b := range order {
		list = append(list, b.finish(all))
	}
	slices.SortStableFunc(list, func(a, b Bug) int { return cmp.Compare(b.Count, a.Count) })
	return list
}
