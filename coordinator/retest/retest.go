// Package retest judges a reproducer's tries on another JDK build: fixed, still present, or present at another rate.
//
// A probabilistic bug that was not seen counts as fixed only if that many tries at its known rate would have shown it; the number
// of tries needed is part of the verdict.
package retest

import (
	"math"

	"misstep/internal/interval"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/triage"
)

// Count is a number of hits and of tries; void tries are not counted.
type Count struct {
	Hits  uint64 `json:"hits"`
	Tries uint64 `json:"tries"`
}

// Interval returns the 95 % Wilson interval of the rate.
func (c Count) Interval() (low, high float64) { return interval.Wilson(c.Hits, c.Tries) }

// Known returns a reproducer's measured reliability, of the clean tries if there were any; zero when nothing was measured.
func Known(r *misstepv1.Reproducer) Count {
	for _, m := range []*misstepv1.Reliability{r.GetClean(), r.GetReliability()} {
		if m.GetTries() > 0 {
			return Count{Hits: uint64(m.GetHits()), Tries: uint64(m.GetTries())}
		}
	}
	return Count{}
}

// State is the outcome of a retest.
type State string

// The states of a retest.
const (
	// Fixed: not seen, in so many tries that at the lower bound of the known rate this has a probability below 1 - confidence.
	Fixed State = "fixed"
	// StillPresent: seen, at a rate that does not differ from the known one by more than chance.
	StillPresent State = "still present"
	// LessFrequent and MoreFrequent: seen, at a rate that differs (Fisher's exact test, two-sided, at 1 - confidence).
	LessFrequent State = "less frequent"
	MoreFrequent State = "more frequent"
	// Unclear: not seen, in too few tries to conclude more.
	Unclear State = "unclear"
	// Void: all tries were void.
	Void State = "void"
)

// Verdict is what the tries on a build prove.
type Verdict struct {
	State State `json:"state"`
	// P is the probability of the result, or of a less likely one, if the bug were present at its known rate: for Fixed and Unclear
	// that of no hit at the lower bound of the known interval, else the p-value of Fisher's test.
	P float64 `json:"p"`
	// Needed is the number of tries without a hit that would mean fixed; 0 when no number would, because nothing is known about the
	// rate.
	Needed uint64 `json:"needed"`
}

// Judge compares the tries on a new build with the known ones. confidence is between 0 and 1, for example 0.99.
func Judge(known, now Count, confidence float64) Verdict {
	v := Verdict{State: Void, P: 1, Needed: Needed(known, confidence)}
	if now.Tries == 0 {
		return v
	}
	if now.Hits == 0 {
		low, _ := known.Interval()
		v.P, v.State = math.Pow(1-low, float64(now.Tries)), Unclear
		if v.Needed > 0 && now.Tries >= v.Needed {
			v.State = Fixed
		}
		return v
	}
	v.State = StillPresent
	if known.Tries == 0 {
		return v
	}
	v.P = triage.Fisher(known.Hits, known.Tries, now.Hits, now.Tries)
	if v.P < 1-confidence {
		v.State = LessFrequent
		if now.Hits*known.Tries > known.Hits*now.Tries {
			v.State = MoreFrequent
		}
	}
	return v
}

// Needed returns how many tries without a hit mean that a bug of the known rate is fixed: at the lower bound of the rate's interval
// they have a probability of at most 1 - confidence. It is 0 when the known tries never hit.
func Needed(known Count, confidence float64) uint64 {
	low, _ := known.Interval()
	if known.Hits == 0 || low <= 0 {
		return 0
	}
	return uint64(math.Ceil(math.Log(1-confidence) / math.Log1p(-low)))
}
