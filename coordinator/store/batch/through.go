package batch

import (
	"misstep/coordinator/rates"
	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

// through reads and writes the rows that are not held back, in the store below.
type through struct {
	tx store.Tx
	// flush writes what was held back; what is read after it counts it in.
	flush func() error
	// wrote is true when the current call has written to the store below, so that its changes cannot be undone alone.
	wrote bool
	// broken is the first error of the store below.
	broken error
}

// written writes to the store below.
func (t *through) written(do func() error) error {
	t.wrote = true
	return t.below(do())
}

// flushed reads from the store below after writing what was held back.
func flushed[T any](t *through, read func() (T, error)) (T, error) {
	if err := t.flush(); err != nil {
		var none T
		return none, err
	}
	return seen(t, read)
}

// seen reads from the store below.
func seen[T any](t *through, read func() (T, error)) (T, error) {
	rows, err := read()
	return rows, t.below(err)
}

func (t *through) Trials(campaign string, after uint64, limit int) ([]*store.Trial, error) {
	return flushed(t, func() ([]*store.Trial, error) { return t.tx.Trials(campaign, after, limit) })
}

// PutOutcome is called with an id that was read, so after a flush.
func (t *through) PutOutcome(id uint64, o *misstepv1.Outcome) error {
	return t.written(func() error { return t.tx.PutOutcome(id, o) })
}

func (t *through) Counts() ([]rates.Count, error) { return flushed(t, t.tx.Counts) }

func (t *through) Hits(findings ...string) ([]rates.Count, error) {
	return flushed(t, func() ([]rates.Count, error) { return t.tx.Hits(findings...) })
}

func (t *through) Log() (*rates.Log, error) { return flushed(t, t.tx.Log) }

func (t *through) Shown() ([]rates.Shown, error) { return flushed(t, t.tx.Shown) }

func (t *through) AddDecision(d *misstepv1.TriageDecision) (id uint64, err error) {
	err = t.written(func() error {
		id, err = t.tx.AddDecision(d)
		return err
	})
	return id, err
}

func (t *through) PutDecision(d *misstepv1.TriageDecision) error {
	return t.written(func() error { return t.tx.PutDecision(d) })
}

func (t *through) Decisions() ([]*misstepv1.TriageDecision, error) { return seen(t, t.tx.Decisions) }

func (t *through) PutKnownBug(b *misstepv1.KnownBug) error {
	return t.written(func() error { return t.tx.PutKnownBug(b) })
}

func (t *through) DeleteKnownBug(id string) error {
	return t.written(func() error { return t.tx.DeleteKnownBug(id) })
}

func (t *through) KnownBugs() ([]*misstepv1.KnownBug, error) { return seen(t, t.tx.KnownBugs) }

func (t *through) PutReproduction(r *misstepv1.Reproduction) error {
	return t.written(func() error { return t.tx.PutReproduction(r) })
}

func (t *through) Reproduction(id string) (*misstepv1.Reproduction, error) {
	return seen(t, func() (*misstepv1.Reproduction, error) { return t.tx.Reproduction(id) })
}

func (t *through) Reproductions(runningOnly bool) ([]*misstepv1.Reproduction, error) {
	return seen(t, func() ([]*misstepv1.Reproduction, error) { return t.tx.Reproductions(runningOnly) })
}

func (t *through) PutWorkerState(name string, data []byte) error {
	return t.written(func() error { return t.tx.PutWorkerState(name, data) })
}

func (t *through) WorkerState(name string) ([]byte, error) {
	return seen(t, func() ([]byte, error) { return t.tx.WorkerState(name) })
}
