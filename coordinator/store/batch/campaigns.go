package batch

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

func copyOf[T any](p *T) *T {
	c := *p
	return &c
}

func (o *overlay) PutCampaign(c *store.Campaign) error {
	o.campaigns.put(c.ID, copyOf(c))
	return nil
}

func (o *overlay) Campaign(id string) (*store.Campaign, error) {
	c, err := lookUp(o, o.campaigns, "campaign", id, o.tx.Campaign)
	if err != nil {
		return nil, err
	}
	return copyOf(c), nil
}

// lookUp returns the row with a key, which it reads from the store below unless more is known.
func lookUp[V any](o *overlay, t *table[string, V], what, id string, read func(string) (V, error)) (V, error) {
	var none V
	r, known := t.rows[id]
	if !known {
		v, err := read(id)
		switch {
		case errors.Is(err, store.ErrNotFound):
			t.missing(id)
			return none, err
		case err != nil:
			return none, o.below(err)
		}
		t.read(id, v)
		return v, nil
	}
	if !r.present {
		return none, fmt.Errorf("%s %q: %w", what, id, store.ErrNotFound)
	}
	return r.value, nil
}

func (o *overlay) Campaigns(runningOnly bool) ([]*store.Campaign, error) {
	if !o.all && (!o.running || !runningOnly) {
		below, err := o.tx.Campaigns(runningOnly)
		if err != nil {
			return nil, o.below(err)
		}
		for _, c := range below {
			o.campaigns.read(c.ID, c)
		}
		o.running, o.all = true, !runningOnly
	}
	var out []*store.Campaign
	o.campaigns.each(func(_ string, c *store.Campaign) {
		if !runningOnly || c.State == misstepv1.CampaignState_CAMPAIGN_STATE_RUNNING {
			out = append(out, copyOf(c))
		}
	})
	slices.SortFunc(out, func(a, b *store.Campaign) int {
		return cmp.Or(b.Submitted.Compare(a.Submitted), cmp.Compare(b.ID, a.ID))
	})
	return out, nil
}
