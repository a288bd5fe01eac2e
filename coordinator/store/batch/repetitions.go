package batch

import "misstep/coordinator/store"

func (t *through) PutRepetition(r *store.Repetition) error {
	return t.written(func() error { return t.tx.PutRepetition(r) })
}

func (t *through) DeleteRepetition(campaign string, index uint64) error {
	return t.written(func() error { return t.tx.DeleteRepetition(campaign, index) })
}

func (t *through) Repetition(campaign string, index uint64) (*store.Repetition, error) {
	return seen(t, func() (*store.Repetition, error) { return t.tx.Repetition(campaign, index) })
}

func (t *through) Repetitions(f store.RepetitionFilter) ([]*store.Repetition, error) {
	return seen(t, func() ([]*store.Repetition, error) { return t.tx.Repetitions(f) })
}

func (t *through) CountRepetitions() (uint64, error) { return seen(t, t.tx.CountRepetitions) }
