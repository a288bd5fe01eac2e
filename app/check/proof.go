package check

import (
	"slices"

	"misstep/app/compared"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/runner/jvm"
)

// settle takes back that an outcome is void where each walker was judged: a check that took no sample leaves nothing open of a
// walker that another check has judged. Else the reason is of a check that leaves something open.
func settle(o *misstepv1.Outcome) {
	if o.GetKind() != misstepv1.OutcomeKind_OUTCOME_KIND_VOID {
		return
	}
	open := unjudged(o.GetChecks())
	switch {
	case len(o.GetChecks()) == 0: // what makes it void is not about checks
	case open == nil:
		o.Kind, o.Reason = misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN, ""
	case slices.Contains(idle(o.GetChecks()), o.GetReason()):
		o.Reason = jvm.Idle(open)
	}
}

// idle says of each check that compared nothing, or too little, why.
func idle(checks []*misstepv1.CheckCount) (list []string) {
	for _, c := range checks {
		if why := jvm.Idle(c); why != "" {
			list = append(list, why)
		}
	}
	return list
}

// unjudged returns the first check that compared too little and leaves that open, nil if there is none. One that took samples and
// could not compare them does; one that took none does not if another check has judged its walker. A check of whatever walks, such
// as edges, is about each walker of the others.
func unjudged(checks []*misstepv1.CheckCount) *misstepv1.CheckCount {
	judged := map[string]bool{} // by walker: whether one of its checks compared enough
	all := true
	for _, row := range compared.Of("", "", checks, nil) {
		if c, _ := recipe.FindCheck(row.Check); ofStacks(c) {
			judged[c.Suspect] = judged[c.Suspect] || row.Enough()
		}
	}
	for _, enough := range judged {
		all = all && enough
	}
	for _, count := range checks {
		c, _ := recipe.FindCheck(count.GetCheck())
		_, own := judged[c.Suspect]
		elsewhere := own && judged[c.Suspect] || !own && all && len(judged) > 0
		if jvm.Idle(count) != "" && (count.GetTotal() > 0 || !elsewhere) {
			return count
		}
	}
	return nil
}

// ofStacks reports whether a check compares the stacks of one walker with others of the same instants: it alone judges the walker.
func ofStacks(c recipe.Check) bool { return c.Methods || c.Signals }
