package triage

// RuleNames are the names of all rules, as explanations give them.
func RuleNames() []string {
	var names []string
	for family, table := range rules {
		for _, r := range table {
			names = append(names, string(family)+"/"+r.name)
		}
	}
	return names
}

// ThreadName normalises the name of a thread.
var ThreadName = threadName

// OutcomeRules are the names of the rules for crashes and hangs.
func OutcomeRules() []string {
	var names []string
	for _, r := range blames {
		names = append(names, "crash/"+r.name)
	}
	for _, r := range hangs {
		names = append(names, "hang/"+r.name)
	}
	return names
}
