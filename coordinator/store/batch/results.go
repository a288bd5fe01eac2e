package batch

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

// AddTrial notices a second result of a trial at once only when this transaction wrote the first one; otherwise flush does.
func (o *overlay) AddTrial(t *store.Trial) error {
	k := trialKey{t.Campaign, t.Index}
	if o.results[k] {
		return fmt.Errorf("result of trial %d of campaign %s: %w", t.Index, t.Campaign, store.ErrExists)
	}
	o.results[k] = true
	o.trials = append(o.trials, copyOf(t))
	o.journal.note(func() {
		delete(o.results, k)
		o.trials = o.trials[:len(o.trials)-1]
	})
	return nil
}

func (o *overlay) PutFinding(f *store.Finding) error {
	o.findings.put(f.Proto.GetId(), shareFinding(f))
	return nil
}

func (o *overlay) Finding(id string) (*store.Finding, error) {
	f, err := lookUp(o, o.findings, "finding", id, o.tx.Finding)
	if err != nil {
		return nil, err
	}
	return shareFinding(f), nil
}

// shareFinding copies a finding. The messages in it are shared: they are large and are replaced, not changed.
func shareFinding(f *store.Finding) *store.Finding {
	p := &misstepv1.Finding{}
	f.Proto.ProtoReflect().Range(func(field protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		p.ProtoReflect().Set(field, v)
		return true
	})
	p.Campaigns, p.Fits = slices.Clone(p.GetCampaigns()), slices.Clone(p.GetFits())
	return &store.Finding{Proto: p, Weight: f.Weight}
}

func (o *overlay) Findings() ([]*store.Finding, error) {
	if !o.allFindings {
		below, err := o.tx.Findings()
		if err != nil {
			return nil, o.below(err)
		}
		for _, f := range below {
			o.findings.read(f.Proto.GetId(), f)
		}
		o.allFindings = true
	}
	rows := map[string]*store.Finding{}
	o.findings.each(func(id string, f *store.Finding) {
		rows[id] = &store.Finding{Proto: proto.CloneOf(f.Proto), Weight: f.Weight}
	})
	return slices.SortedFunc(maps.Values(rows), func(a, b *store.Finding) int {
		return cmp.Or(b.Proto.GetLastSeen().AsTime().Compare(a.Proto.GetLastSeen().AsTime()),
			cmp.Compare(a.Proto.GetId(), b.Proto.GetId()))
	}), nil
}
