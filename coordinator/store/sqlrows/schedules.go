package sqlrows

import (
	"fmt"
	"strings"
	"time"

	misstepv1 "misstep/proto/misstep/v1"
)

var putSchedule = upsert("schedules", "id", "id, next, early, schedule")

// PutSchedule implements store.Tx.
func (t *Tx) PutSchedule(s *misstepv1.Schedule) error {
	raw, err := Marshal(s)
	if err != nil {
		return fmt.Errorf("write schedule %s: %w", s.GetId(), err)
	}
	var next, early int64
	if s.GetNext() != nil {
		next = nanos(s.GetNext().AsTime())
		early = next - 2*s.GetEvery().AsDuration().Nanoseconds()
	}
	return t.Exec("store schedule "+s.GetId(), putSchedule, s.GetId(), next, early, raw)
}

// DeleteSchedule implements store.Tx.
func (t *Tx) DeleteSchedule(id string) error {
	return t.Exec("remove schedule "+id, "DELETE FROM schedules WHERE id = ?", id)
}

func scanSchedule(scan func(...any) error) (*misstepv1.Schedule, error) {
	var raw any
	if err := scan(&raw); err != nil {
		return nil, err
	}
	return Unmarshal(raw, &misstepv1.Schedule{})
}

// Schedule implements store.Tx.
func (t *Tx) Schedule(id string) (*misstepv1.Schedule, error) {
	s, err := scanSchedule(t.row("SELECT schedule FROM schedules WHERE id = ?", id))
	if err != nil {
		return nil, fmt.Errorf("schedule %q: %w", id, err)
	}
	return s, nil
}

// Schedules implements store.Tx.
func (t *Tx) Schedules() ([]*misstepv1.Schedule, error) {
	return List(t, "schedules", scanSchedule, "SELECT schedule FROM schedules ORDER BY id")
}

// DueSchedules implements store.Tx.
func (t *Tx) DueSchedules(now time.Time) ([]*misstepv1.Schedule, error) {
	return List(t, "due schedules", scanSchedule, "SELECT schedule FROM schedules WHERE next > 0 AND (next <= ? OR early > ?) "+
		"ORDER BY id", nanos(now), nanos(now))
}

var putRetest = upsert("retests", "id", "id, finding, started, retest")

// PutRetest implements store.Tx.
func (t *Tx) PutRetest(r *misstepv1.Retest) error {
	raw, err := Marshal(r)
	if err != nil {
		return fmt.Errorf("write retest %s: %w", r.GetId(), err)
	}
	return t.Exec("store retest "+r.GetId(), putRetest, r.GetId(), r.GetFindingId(), r.GetStarted().AsTime().UnixNano(), raw)
}

func scanRetest(scan func(...any) error) (*misstepv1.Retest, error) {
	var raw any
	if err := scan(&raw); err != nil {
		return nil, err
	}
	return Unmarshal(raw, &misstepv1.Retest{})
}

// Retest implements store.Tx.
func (t *Tx) Retest(id string) (*misstepv1.Retest, error) {
	r, err := scanRetest(t.row("SELECT retest FROM retests WHERE id = ?", id))
	if err != nil {
		return nil, fmt.Errorf("retest %q: %w", id, err)
	}
	return r, nil
}

// Retests implements store.Tx.
func (t *Tx) Retests(findings ...string) ([]*misstepv1.Retest, error) {
	query, args := "SELECT retest FROM retests", make([]any, 0, len(findings))
	if len(findings) > 0 {
		query += " WHERE finding IN (?" + strings.Repeat(",?", len(findings)-1) + ")"
		for _, f := range findings {
			args = append(args, f)
		}
	}
	return List(t, "retests", scanRetest, query+" ORDER BY started DESC, id", args...)
}
