package batch

import misstepv1 "misstep/proto/misstep/v1"

func (t *through) PutCatalogueEntry(e *misstepv1.CatalogueEntry) error {
	return t.written(func() error { return t.tx.PutCatalogueEntry(e) })
}

func (t *through) DeleteCatalogueEntry(kind misstepv1.CatalogueKind, name string) error {
	return t.written(func() error { return t.tx.DeleteCatalogueEntry(kind, name) })
}

func (t *through) CatalogueEntry(kind misstepv1.CatalogueKind, name string) (*misstepv1.CatalogueEntry, error) {
	return seen(t, func() (*misstepv1.CatalogueEntry, error) { return t.tx.CatalogueEntry(kind, name) })
}

func (t *through) CatalogueEntries(kind misstepv1.CatalogueKind) ([]*misstepv1.CatalogueEntry, error) {
	return seen(t, func() ([]*misstepv1.CatalogueEntry, error) { return t.tx.CatalogueEntries(kind) })
}
