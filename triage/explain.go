package triage

import (
	"fmt"
	"reflect"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/signature"
)

// Explanation explains how triage arrived at a signature.
type Explanation struct {
	// Rule that decided, as "FAMILY/NAME", and how it interprets the mismatch. The families of others are "crash", for the
	// frame that is blamed, "hang", for the threads that are, and "failure".
	Rule   string `json:"rule,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Facts that were examined, in order.
	Facts []Fact `json:"facts"`
}

// Fact is one thing that triage found about an outcome.
type Fact struct {
	Name string `json:"name"`
	// Value is a string, an integer or a boolean.
	Value any `json:"value"`
}

// Holds reports whether the fact is informative: its value is neither false nor 0 nor empty.
func (f Fact) Holds() bool { return !reflect.ValueOf(f.Value).IsZero() }

// Explain explains why an outcome has a signature that it shows.
func Explain(o *misstepv1.Outcome, s *misstepv1.Signature) (Explanation, error) {
	switch {
	case s.GetKind() == signature.KindMismatch:
		if m := Shown(o, s); m != nil {
			return ExplainMismatch(m), nil
		}
		return Explanation{}, fmt.Errorf("no mismatch of the outcome has the signature %q and its stacks", s.GetParts())
	case s.GetKind() == signature.KindCrash && o.GetCrash() != nil:
		return explainCrash(o.GetCrash(), s), nil
	case s.GetKind() == signature.KindHang && o.GetHang() != nil:
		return explainHang(o.GetHang(), s), nil
	case s.GetKind() == signature.KindFailure && o.GetApplicationFailure() != nil:
		return explainFailure(o.GetApplicationFailure(), s), nil
	}
	return Explanation{}, fmt.Errorf("the outcome has no %s", s.GetKind())
}

// ExplainMismatch explains how triage arrived at the signature of a mismatch.
func ExplainMismatch(m *misstepv1.Mismatch) Explanation {
	f := examine(m)
	r, _ := decide(f)
	return Explanation{Rule: string(f.Family) + "/" + r.name, Reason: r.doc, Facts: f.list()}
}

// list returns the facts under the names in their tags, in the order of the struct.
func (f *Facts) list() []Fact {
	var all []Fact
	values := reflect.ValueOf(f).Elem()
	for i := range values.NumField() {
		field := values.Type().Field(i)
		if !field.IsExported() {
			continue
		}
		value := values.Field(i).Interface()
		switch v := value.(type) {
		case signature.Place:
			value = v.String()
		case Family:
			value = string(v)
		}
		all = append(all, Fact{field.Tag.Get("fact"), value})
	}
	return all
}

// partFacts returns the parts of the resulting signature.
func partFacts(s *misstepv1.Signature) []Fact {
	var facts []Fact
	for i, part := range s.GetParts() {
		facts = append(facts, Fact{fmt.Sprintf(PartFact+"%d of the signature", i+1), part})
	}
	return facts
}
