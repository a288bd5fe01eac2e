package scoped

import (
	"misstep/coordinator/projects"
	misstepv1 "misstep/proto/misstep/v1"
)

func visibilityOf(v *misstepv1.FindingVisibility, finding string) *misstepv1.FindingVisibility {
	v = misstepv1.Shallow(v)
	v.FindingId = finding
	return v
}

// PutVisibility implements store.Tx.
func (t *Tx) PutVisibility(v *misstepv1.FindingVisibility) error {
	return t.Tx.PutVisibility(visibilityOf(v, t.key(v.GetFindingId())))
}

// DeleteVisibility implements store.Tx.
func (t *Tx) DeleteVisibility(finding string) error {
	if projects.IsKey(finding) {
		return nil
	}
	return t.Tx.DeleteVisibility(t.key(finding))
}

// Visibilities implements store.Tx.
func (t *Tx) Visibilities() ([]*misstepv1.FindingVisibility, error) {
	all, err := t.Tx.Visibilities()
	return own(t, all, err, (*misstepv1.FindingVisibility).GetFindingId, visibilityOf)
}
