package check

import (
	"fmt"
	"math"
	"strings"

	"misstep/internal/interval"
)

// What a gate fails on.
const (
	FailOnNone    = "none"
	FailOnNew     = "new"     // a finding that is no known bug
	FailOnFinding = "finding" // any finding
)

// Gate says what is too bad.
type Gate struct {
	FailOn string
	// Spoiled bounds the share of a walker's samples that are wrong or cut off, Lost the share of those without a stack.
	Spoiled, Lost []Limit
}

// Limit bounds a share of the samples of one walker, by its name in options; of each where it is empty.
type Limit struct {
	Walker string
	Share  float64 // from 0 to 1
}

// States of a bound.
const (
	BoundHeld     = "held"
	BoundExceeded = "exceeded"
	BoundVoid     = "void" // there was no sample of the walker
)

// Bound is what came of a limit, for one check of the walker's samples.
type Bound struct {
	Name   string `json:"name"` // max-spoiled or max-lost
	Walker string `json:"walker,omitempty"`
	Check  string `json:"check,omitempty"`
	// Limit and the 95 % interval from Low to High are shares of the samples, from 0 to 1; Count of them are spoiled, or lost.
	Limit   float64 `json:"limit"`
	Count   uint64  `json:"count"`
	Samples uint64  `json:"samples"`
	Low     float64 `json:"low"`
	High    float64 `json:"high"`
	State   string  `json:"state"`
}

// String says it in a line.
func (b Bound) String() string {
	of := b.Name
	if b.Walker != "" {
		of += " of " + b.Walker
	}
	if b.State == BoundVoid {
		return fmt.Sprintf("%s, at most %.3g%%: there was no sample", of, 100*b.Limit)
	}
	return fmt.Sprintf("%s (%s), at most %.3g%%: %s; %d of %d samples, 95 %% interval %.3g%% to %.3g%%", of, b.Check, 100*b.Limit,
		b.State, b.Count, b.Samples, 100*b.Low, 100*b.High)
}

// Verdict of a gate: reasons, each a line, for which it fails, and for which nothing is proved.
type Verdict struct{ Failed, Unproved []string }

// Judge puts the limits' bounds into a report and says what it comes to. How the program ended is not the gate's business.
func (g Gate) Judge(r *Report) (v Verdict) {
	r.Bounds = append(bounds("max-spoiled", g.Spoiled, r.Profiles, func(p Profile) float64 { return p.Wrong + p.CutOff }),
		bounds("max-lost", g.Lost, r.Profiles, func(p Profile) float64 { return p.Lost })...)
	var ids []string
	for _, b := range r.Bugs {
		if g.fails(b) {
			ids = append(ids, b.ID)
		}
	}
	if len(ids) > 0 {
		v.Failed = append(v.Failed, "there is "+strings.Join(ids, ", "))
	}
	for _, b := range r.Bounds {
		switch b.State {
		case BoundExceeded:
			v.Failed = append(v.Failed, b.String())
		case BoundVoid:
			v.Unproved = append(v.Unproved, b.String())
		}
	}
	if g.findings() && !r.Proved() {
		v.Unproved = append(v.Unproved, r.Reason)
	}
	return v
}

// On reports whether the gate asks for anything.
func (g Gate) On() bool { return g.findings() || len(g.Spoiled) > 0 || len(g.Lost) > 0 }

func (g Gate) findings() bool { return g.FailOn == FailOnNew || g.FailOn == FailOnFinding }

// fails reports whether a bug makes the gate fail.
func (g Gate) fails(b Bug) bool {
	return g.FailOn == FailOnFinding || g.FailOn == FailOnNew && !b.Known
}

// bounds applies limits to profiles. A limit is exceeded where the lower end of the share's interval is above it: what may be
// chance does not fail a build. The interval is the exact one: of few samples Wilson's ends are too far up.
func bounds(name string, limits []Limit, profiles []Profile, of func(Profile) float64) (list []Bound) {
	for _, l := range limits {
		suspect, _ := suspectOf("", l.Walker) // NewLimit has refused unknown ones
		none := true
		for _, p := range profiles {
			if l.Walker != "" && p.Walker != suspect {
				continue
			}
			none = false
			b := Bound{
				Name: name, Walker: p.Walker, Check: p.Check, Limit: l.Share, Samples: p.Samples, State: BoundHeld,
				Count: uint64(math.Round(of(p) * float64(p.Samples))), // a share is a count by the samples
			}
			b.Low, b.High = interval.Exact(b.Count, b.Samples)
			if b.Low > l.Share {
				b.State = BoundExceeded
			}
			list = append(list, b)
		}
		if none {
			list = append(list, Bound{Name: name, Walker: suspect, Limit: l.Share, State: BoundVoid})
		}
	}
	return list
}

// NewLimit checks the walker's name, which may be empty.
func NewLimit(walker string, share float64) (Limit, error) {
	if walker != "" {
		if _, err := suspectOf("a limit", walker); err != nil {
			return Limit{}, err
		}
	}
	return Limit{walker, share}, nil
}
