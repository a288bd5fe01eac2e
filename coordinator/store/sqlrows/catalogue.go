package sqlrows

import (
	"fmt"

	misstepv1 "misstep/proto/misstep/v1"
)

var putCatalogueEntry = upsert("catalogue", "kind, name", "kind, name, entry")

// PutCatalogueEntry implements store.Tx.
func (t *Tx) PutCatalogueEntry(e *misstepv1.CatalogueEntry) error {
	raw, err := Marshal(e)
	if err != nil {
		return fmt.Errorf("write catalogue entry %s: %w", e.GetName(), err)
	}
	return t.Exec("store catalogue entry "+e.GetName(), putCatalogueEntry, int32(e.GetKind()), e.GetName(), raw)
}

// DeleteCatalogueEntry implements store.Tx.
func (t *Tx) DeleteCatalogueEntry(kind misstepv1.CatalogueKind, name string) error {
	return t.Exec("remove catalogue entry "+name, "DELETE FROM catalogue WHERE kind = ? AND name = ?", int32(kind), name)
}

func scanCatalogueEntry(scan func(...any) error) (*misstepv1.CatalogueEntry, error) {
	var raw any
	if err := scan(&raw); err != nil {
		return nil, err
	}
	return Unmarshal(raw, &misstepv1.CatalogueEntry{})
}

// CatalogueEntry implements store.Tx.
func (t *Tx) CatalogueEntry(kind misstepv1.CatalogueKind, name string) (*misstepv1.CatalogueEntry, error) {
	e, err := scanCatalogueEntry(t.row("SELECT entry FROM catalogue WHERE kind = ? AND name = ?", int32(kind), name))
	if err != nil {
		return nil, fmt.Errorf("catalogue entry %q: %w", name, err)
	}
	return e, nil
}

// CatalogueEntries implements store.Tx.
func (t *Tx) CatalogueEntries(kind misstepv1.CatalogueKind) ([]*misstepv1.CatalogueEntry, error) {
	query, args := "SELECT entry FROM catalogue", []any(nil)
	if kind != misstepv1.CatalogueKind_CATALOGUE_KIND_UNSPECIFIED {
		query, args = query+" WHERE kind = ?", []any{int32(kind)}
	}
	return List(t, "the catalogue", scanCatalogueEntry, query+" ORDER BY kind, name", args...)
}
