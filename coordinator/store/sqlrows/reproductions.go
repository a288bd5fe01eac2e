package sqlrows

import (
	"errors"
	"fmt"

	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

var putReproduction = upsert("reproductions", "id", "id, state, started, reproduction")

// PutReproduction implements store.Tx.
func (t *Tx) PutReproduction(r *misstepv1.Reproduction) error {
	raw, err := Marshal(r)
	if err != nil {
		return fmt.Errorf("write reproduction %s: %w", r.GetId(), err)
	}
	return t.Exec("store reproduction "+r.GetId(), putReproduction,
		r.GetId(), int32(r.GetState()), nanos(r.GetStarted().AsTime()), raw)
}

func scanReproduction(scan func(...any) error) (*misstepv1.Reproduction, error) {
	var raw any
	if err := scan(&raw); err != nil {
		return nil, err
	}
	return Unmarshal(raw, &misstepv1.Reproduction{})
}

// Reproduction implements store.Tx.
func (t *Tx) Reproduction(id string) (*misstepv1.Reproduction, error) {
	r, err := scanReproduction(t.row("SELECT reproduction FROM reproductions WHERE id = ?", id))
	if err != nil {
		return nil, fmt.Errorf("reproduction %q: %w", id, err)
	}
	return r, nil
}

// Reproductions implements store.Tx.
func (t *Tx) Reproductions(runningOnly bool) ([]*misstepv1.Reproduction, error) {
	query, args := "SELECT reproduction FROM reproductions", []any(nil)
	if runningOnly {
		query, args = query+" WHERE state = ?", []any{int32(misstepv1.ReproductionState_REPRODUCTION_STATE_RUNNING)}
	}
	return List(t, "reproductions", scanReproduction, query+" ORDER BY started DESC, id", args...)
}

var putWorkerState = upsert("worker_state", "name", "name, data")

// PutWorkerState implements store.Tx.
func (t *Tx) PutWorkerState(name string, data []byte) error {
	return t.Exec("store the state of worker "+name, putWorkerState, name, data)
}

// WorkerState implements store.Tx.
func (t *Tx) WorkerState(name string) ([]byte, error) {
	var data []byte
	err := t.row("SELECT data FROM worker_state WHERE name = ?", name)(&data)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the state of worker %s: %w", name, err)
	}
	return data, nil
}

// WorkerNames implements store.Loader.
func (t *Tx) WorkerNames() ([]string, error) {
	return List(t, "workers", func(scan func(...any) error) (name string, err error) { return name, scan(&name) },
		"SELECT name FROM worker_state ORDER BY name")
}
