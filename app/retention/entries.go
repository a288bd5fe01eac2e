package retention

import (
	"context"
	"errors"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"misstep/coordinator/store"
	"misstep/corpus"
	misstepv1 "misstep/proto/misstep/v1"
)

// oldEntries lets entries of the shared catalogue age.
type oldEntries struct {
	now    time.Time
	remove bool
	// names of those that have aged, or would have.
	names []string
}

// entries are the shared catalogue, and the schedules, whose names it must keep.
type entries struct {
	all       []*misstepv1.CatalogueEntry
	schedules []*misstepv1.Schedule
}

func catalogueOf(ctx context.Context, st store.Store) (of entries, err error) {
	if st == nil {
		return of, nil
	}
	err = st.View(ctx, func(tx store.Tx) error {
		if of.all, err = tx.CatalogueEntries(misstepv1.CatalogueKind_CATALOGUE_KIND_UNSPECIFIED); err != nil {
			return err
		}
		of.schedules, err = tx.Schedules()
		return err
	})
	return of, err
}

// scheduled reports whether a schedule names an entry.
func (of entries) scheduled(e *misstepv1.CatalogueEntry) bool {
	return slices.ContainsFunc(of.schedules, func(s *misstepv1.Schedule) bool {
		if e.GetKind() == misstepv1.CatalogueKind_CATALOGUE_KIND_JDK {
			return s.GetEvery() != nil && slices.Contains(s.GetCampaign().GetJdks(), e.GetName())
		}
		return slices.ContainsFunc(s.GetCampaign().GetWorkloads(), func(w *misstepv1.CampaignWorkload) bool {
			return w.GetName() == e.GetName()
		})
	})
}

// catalogue marks the trees of entries. An entry ages when its time is over, nothing that is marked already needs its tree, and
// no schedule names it; it is removed in a transaction that sees whether somebody has used it since.
func (m *Marks) catalogue(ctx context.Context, st store.Store, of entries, old *oldEntries) error {
	var aged []*misstepv1.CatalogueEntry
	for _, e := range of.all {
		d, err := corpus.ParseDigest(e.GetDigest())
		if old != nil && err == nil && timeOver(e, old.now) && !m.Has(d) && !of.scheduled(e) {
			aged = append(aged, e)
		}
	}
	if old != nil && len(aged) > 0 {
		var err error
		if aged, err = unused(ctx, st, aged, old.remove); err != nil {
			return err
		}
	}
	gone := map[*misstepv1.CatalogueEntry]bool{}
	for _, e := range aged {
		gone[e] = true
		old.names = append(old.names, e.GetName())
	}
	for _, e := range of.all {
		if gone[e] && old.remove {
			continue
		}
		if err := references(e, m.refers); err != nil {
			return err
		}
	}
	return nil
}

// timeOver reports whether an entry was added and last used longer ago than it is to be kept.
func timeOver(e *misstepv1.CatalogueEntry, now time.Time) bool {
	if e.GetKeep() == nil {
		return false
	}
	last := e.GetAdded().AsTime()
	if used := e.GetUsed(); used != nil && used.AsTime().After(last) {
		last = used.AsTime()
	}
	return now.Sub(last) > e.GetKeep().AsDuration()
}

// unused returns those of entries that are still as they were, and with remove removes them.
func unused(ctx context.Context, st store.Store, entries []*misstepv1.CatalogueEntry, remove bool) (
	same []*misstepv1.CatalogueEntry, err error,
) {
	look := st.View
	if remove {
		look = st.Update
	}
	err = look(ctx, func(tx store.Tx) error {
		same = nil
		for _, e := range entries {
			now, err := tx.CatalogueEntry(e.GetKind(), e.GetName())
			if errors.Is(err, store.ErrNotFound) || err == nil && !proto.Equal(now, e) {
				continue
			}
			if err != nil {
				return err
			}
			same = append(same, e)
			if !remove {
				continue
			}
			if err := tx.DeleteCatalogueEntry(e.GetKind(), e.GetName()); err != nil {
				return err
			}
		}
		return nil
	})
	return same, err
}
