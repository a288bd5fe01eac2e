package doctor

import "misstep/internal/sandbox"

// isolation says what confines programs of others here, part by part.
func isolation() []Diagnosis {
	s, err := sandbox.Current()
	if err != nil {
		return []Diagnosis{{"sandbox", Missing, err.Error(), "name another user with --jvm-user, or less with --sandbox"}}
	}
	var all []Diagnosis
	for _, p := range s.Parts() {
		d := Diagnosis{Name: "sandbox: " + p.Name, State: OK, Detail: p.By}
		if p.Missing != "" {
			d.State, d.Detail, d.Remedy = Limited, "not confined", p.Missing
		}
		all = append(all, d)
	}
	return all
}
