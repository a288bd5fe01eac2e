package main

import (
	"cmp"
	"slices"

	"google.golang.org/protobuf/proto"

	"misstep/agent"
	"misstep/known"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/runner/judge/shadow"
	"misstep/signature"
	"misstep/triage"
)

// outcome of a walk.
type outcome string

const (
	right   outcome = "right"   // it matches, or a rule tolerates the difference
	wrong   outcome = "wrong"   // a stack that the thread did not have
	gaveUp  outcome = "gave up" // no stack, or a frame that says so
	noTrace outcome = "none"    // the handler was called, and the recording has nothing of it
	unknown outcome = "unknown" // void, or not asked
)

// form is the outcome of a walk and, where the stack is lost, the difference and the place that triage finds, as for a sample of
// asgct-shadow: the criterion is the same for all walkers.
type form struct {
	Outcome           outcome
	Difference, Place string `json:",omitempty"`
}

func (f form) text() string {
	if f.Place == "" {
		return string(f.Outcome)
	}
	return f.Difference + ", " + f.Place
}

// formOf finds the form of a finding. A walk that gave up is taken for one that ends before its first frame, since what the signal
// hit explains both.
func formOf(f *shadow.Finding, call agent.TapCall, tap *agent.Tap, c bugCase) form {
	var m *misstepv1.Mismatch
	switch {
	case f == nil || f.Void != "":
		return form{Outcome: unknown}
	case f.Mismatch != nil:
		m = proto.CloneOf(f.Mismatch)
	case f.Unwalkable:
		m = &misstepv1.Mismatch{Kind: "truncated", Reference: tap.ShadowTrace(call), Suspect: &misstepv1.Trace{Source: "asgct"}}
		tap.Place(call, m)
	default:
		return form{Outcome: right}
	}
	out := form{Outcome: wrong}
	if f.Unwalkable {
		out.Outcome = gaveUp
	}
	out.Difference, out.Place = placeOf(m, c)
	return out
}

// placeOf returns difference and place as triage names them for a sample of AsyncGetCallTrace.
func placeOf(m *misstepv1.Mismatch, c bugCase) (difference, place string) {
	m.Check = recipe.AsgctShadow
	m.Suspect.Sampler = ""
	if c.calls[0] != "" && m.GetTopState() == "compiled" {
		m.TopCall = &misstepv1.Frame{ClassName: c.calls[0], Method: c.calls[1], Descriptor_: c.calls[2]}
	}
	s, _ := triage.Mismatch(m)
	return s.GetParts()[1], s.GetParts()[2]
}

// bugOf returns the known bug of AsyncGetCallTrace that a form is of on a JDK, "" for none: the catalogue has it for a sample of
// asgct-shadow.
func bugOf(f form, c bugCase, version string) string {
	if f.Place == "" {
		return ""
	}
	if f.Outcome == wrong && slices.Contains(c.forms, f.text()) {
		return c.bug
	}
	s := &misstepv1.Signature{
		Kind: signature.KindMismatch, Parts: []string{recipe.AsgctShadow, f.Difference, f.Place}, Version: signature.Version,
	}
	return known.Default().Label(s, version)
}

// ownBugOf returns the known bug that a form is of for the check that judges a sampler, "" for none: the sampler's own bugs.
func ownBugOf(f form, sampler, version string) string {
	if f.Outcome != wrong {
		return ""
	}
	place, err := signature.ParsePlace(f.Place)
	if err != nil {
		return ""
	}
	place.Sampler = sampler
	s := signature.Mismatch{Check: checkOf(sampler), Difference: f.Difference, Place: place}
	return known.Default().Label(signature.Proto(s), version)
}

func checkOf(sampler string) string {
	switch sampler {
	case asgct:
		return recipe.AsgctShadow
	case executionSample, cpuTimeSample:
		return recipe.JfrShadow
	}
	return recipe.ProfilerShadow
}

// nameOf names what a walk lost: a known bug of AsyncGetCallTrace, one of the sampler's own, or nothing.
func nameOf(f form, c bugCase, sampler, version string) string {
	return cmp.Or(bugOf(f, c, version), ownBugOf(f, sampler, version))
}
