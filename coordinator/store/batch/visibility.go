package batch

import misstepv1 "misstep/proto/misstep/v1"

func (t *through) PutVisibility(v *misstepv1.FindingVisibility) error {
	return t.written(func() error { return t.tx.PutVisibility(v) })
}

func (t *through) DeleteVisibility(finding string) error {
	return t.written(func() error { return t.tx.DeleteVisibility(finding) })
}

func (t *through) Visibilities() ([]*misstepv1.FindingVisibility, error) {
	return seen(t, t.tx.Visibilities)
}
