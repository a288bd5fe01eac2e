package triage_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/signature"
	"misstep/triage"
)

// A cut report belongs to the one finding that completes it, and to none if there are several.
func TestJoin(t *testing.T) {
	crash := func(walker, thread, operation string) *misstepv1.Signature {
		return signature.Proto(signature.Crash{
			Error: "SIGSEGV", Frame: "V frame::sender", Walker: []string{walker}, Thread: thread, Operation: operation,
		})
	}
	hit := func(s *misstepv1.Signature) triage.Hit { return triage.Hit{ID: signature.ID(s), Signature: s} }
	finding := func(s *misstepv1.Signature) *misstepv1.Finding {
		return &misstepv1.Finding{Id: signature.ID(s), Signature: s}
	}
	const unknown = signature.Unknown
	whole := crash("AsyncGetCallTrace", "VM thread", "PrintThreads")
	other := crash("AsyncGetCallTrace", "VM thread", "ThreadDump")
	half := crash("AsyncGetCallTrace", "VM thread", unknown)
	head := crash(unknown, unknown, unknown)
	future := &misstepv1.Signature{Kind: signature.KindCrash, Version: signature.Version + 1}
	id := signature.ID
	for name, c := range map[string]struct {
		hits   []triage.Hit
		stored []*misstepv1.Finding
		want   map[string]string
	}{
		"the whole one is stored": {
			[]triage.Hit{hit(half)}, []*misstepv1.Finding{finding(whole)}, map[string]string{id(half): id(whole)},
		},
		"the whole one is among them": {
			[]triage.Hit{hit(head), hit(whole)}, nil, map[string]string{id(head): id(whole)},
		},
		"two shorter ones": {
			[]triage.Hit{hit(head), hit(half), hit(whole)}, nil, map[string]string{id(head): id(whole), id(half): id(whole)},
		},
		"none is whole": {[]triage.Hit{hit(head), hit(half)}, nil, map[string]string{id(head): id(half)}},
		"two are whole": {[]triage.Hit{hit(half)}, []*misstepv1.Finding{finding(whole), finding(other)}, map[string]string{}},
		"it is whole":   {[]triage.Hit{hit(whole)}, []*misstepv1.Finding{finding(half)}, map[string]string{}},
		"nothing else":  {[]triage.Hit{hit(half)}, []*misstepv1.Finding{finding(half)}, map[string]string{}},
		"a signature of a newer version, a hang": {
			[]triage.Hit{hit(half)},
			[]*misstepv1.Finding{
				{Id: "F1", Signature: future}, finding(signature.Proto(signature.Hang{Cause: "deadlock"})),
			},
			map[string]string{},
		},
	} {
		assert.Equal(t, c.want, triage.Join(c.hits, c.stored), name)
	}
}
