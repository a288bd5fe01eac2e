package sqlrows

import (
	"fmt"

	misstepv1 "misstep/proto/misstep/v1"
)

var putVisibility = upsert("visibility", "finding", "finding, visibility")

// PutVisibility implements store.Tx.
func (t *Tx) PutVisibility(v *misstepv1.FindingVisibility) error {
	raw, err := Marshal(v)
	if err != nil {
		return fmt.Errorf("write the visibility of finding %s: %w", v.GetFindingId(), err)
	}
	return t.Exec("store the visibility of finding "+v.GetFindingId(), putVisibility, v.GetFindingId(), raw)
}

// DeleteVisibility implements store.Tx.
func (t *Tx) DeleteVisibility(finding string) error {
	return t.Exec("remove the visibility of finding "+finding, "DELETE FROM visibility WHERE finding = ?", finding)
}

// Visibilities implements store.Tx.
func (t *Tx) Visibilities() ([]*misstepv1.FindingVisibility, error) {
	return List(t, "visibilities", func(scan func(...any) error) (*misstepv1.FindingVisibility, error) {
		var raw any
		if err := scan(&raw); err != nil {
			return nil, err
		}
		return Unmarshal(raw, &misstepv1.FindingVisibility{})
	}, "SELECT visibility FROM visibility ORDER BY finding")
}
