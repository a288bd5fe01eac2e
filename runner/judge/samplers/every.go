package samplers

// Verdict is what one sample is worth: a rule, a reason or a kind of mismatch, none for a match.
type Verdict struct {
	Sampler Sampler
	// Java is the thread's id, At the time of the sample's begin in nanoseconds since the epoch.
	Java, At         int64
	Rule, Void, Kind string
	// Standing is the number of frames of the stack that stood while it was taken, 0 where none is known.
	Standing int
}

// Each judges the samples as Verdicts does, and gives what each is worth, in no order.
func (j *Judge) Each(use func(Verdict)) {
	for number, lanes := range j.lanes() {
		for by := range lanes {
			for i, s := range lanes[by] {
				f := j.judge(s, uint64(i), &lanes)
				v := Verdict{
					Sampler: s.sampler, Java: j.threads[number].java, At: s.begin, Rule: f.rule, Void: f.reason, Kind: f.kind,
				}
				if f.standing {
					stood, _, _ := j.standing(v.Java, s.begin, s.end)
					v.Standing = len(stood)
				}
				use(v)
			}
		}
	}
}
