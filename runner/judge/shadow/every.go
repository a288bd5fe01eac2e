package shadow

import "misstep/runner/recording"

// Each judges all that was visited, and gives what each sample is worth, in their order. It is an alternative to Verdicts.
func (j *Judge) Each(use func(e *recording.Event, f Finding)) {
	samples, _ := j.judge()
	for i, s := range samples {
		f := Finding{Rule: s.rule, Void: s.void, Unwalkable: s.unwalkable}
		if s.kind != "" {
			f.Mismatch = j.mismatch(i, s)
		}
		use(j.taken.Events[i].Event, f)
	}
}
