package memory

import (
	"cmp"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"misstep/coordinator/store"
)

func copyRepetition(r *store.Repetition) *store.Repetition {
	c := *r
	c.Proto = proto.CloneOf(r.Proto)
	return &c
}

func (t *tx) PutRepetition(r *store.Repetition) error {
	return set(t, t.s.repetitions, trialKey{r.Campaign, r.Index}, copyRepetition(r))
}

func (t *tx) DeleteRepetition(campaign string, index uint64) error {
	return unset(t, t.s.repetitions, trialKey{campaign, index})
}

func (t *tx) Repetition(campaign string, index uint64) (*store.Repetition, error) {
	r, ok := t.s.repetitions[trialKey{campaign, index}]
	if !ok {
		return nil, fmt.Errorf("the repetition of trial %d of campaign %q: %w", index, campaign, store.ErrNotFound)
	}
	return copyRepetition(r), nil
}

func (t *tx) Repetitions(f store.RepetitionFilter) ([]*store.Repetition, error) {
	var out []*store.Repetition
	for _, r := range t.s.repetitions {
		if f.Matches(r) {
			out = append(out, copyRepetition(r))
		}
	}
	slices.SortFunc(out, func(a, b *store.Repetition) int {
		return cmp.Or(a.Proto.GetDrawn().AsTime().Compare(b.Proto.GetDrawn().AsTime()), cmp.Compare(a.Campaign, b.Campaign),
			cmp.Compare(a.Index, b.Index))
	})
	if f.Limit > 0 {
		out = out[:min(len(out), f.Limit)]
	}
	return out, nil
}

func (t *tx) CountRepetitions() (n uint64, err error) {
	for _, r := range t.s.repetitions {
		if r.Lease == "" {
			n++
		}
	}
	return n, nil
}
