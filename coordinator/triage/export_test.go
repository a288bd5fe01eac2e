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
