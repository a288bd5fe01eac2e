package memory

import (
	"cmp"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

type catalogueKey struct {
	kind misstepv1.CatalogueKind
	name string
}

func (t *tx) PutCatalogueEntry(e *misstepv1.CatalogueEntry) error {
	return set(t, t.s.catalogue, catalogueKey{e.GetKind(), e.GetName()}, proto.CloneOf(e))
}

func (t *tx) DeleteCatalogueEntry(kind misstepv1.CatalogueKind, name string) error {
	return unset(t, t.s.catalogue, catalogueKey{kind, name})
}

func (t *tx) CatalogueEntry(kind misstepv1.CatalogueKind, name string) (*misstepv1.CatalogueEntry, error) {
	e, ok := t.s.catalogue[catalogueKey{kind, name}]
	if !ok {
		return nil, fmt.Errorf("catalogue entry %q: %w", name, store.ErrNotFound)
	}
	return proto.CloneOf(e), nil
}

func (t *tx) CatalogueEntries(kind misstepv1.CatalogueKind) ([]*misstepv1.CatalogueEntry, error) {
	var out []*misstepv1.CatalogueEntry
	for key, e := range t.s.catalogue {
		if kind == misstepv1.CatalogueKind_CATALOGUE_KIND_UNSPECIFIED || kind == key.kind {
			out = append(out, proto.CloneOf(e))
		}
	}
	slices.SortFunc(out, func(a, b *misstepv1.CatalogueEntry) int {
		return cmp.Or(cmp.Compare(a.GetKind(), b.GetKind()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return out, nil
}
