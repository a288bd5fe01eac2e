package batch

import (
	"time"

	misstepv1 "misstep/proto/misstep/v1"
)

func (t *through) PutSchedule(s *misstepv1.Schedule) error {
	return t.written(func() error { return t.tx.PutSchedule(s) })
}

func (t *through) DeleteSchedule(id string) error {
	return t.written(func() error { return t.tx.DeleteSchedule(id) })
}

func (t *through) Schedule(id string) (*misstepv1.Schedule, error) {
	return seen(t, func() (*misstepv1.Schedule, error) { return t.tx.Schedule(id) })
}

func (t *through) Schedules() ([]*misstepv1.Schedule, error) { return seen(t, t.tx.Schedules) }

func (t *through) DueSchedules(now time.Time) ([]*misstepv1.Schedule, error) {
	return seen(t, func() ([]*misstepv1.Schedule, error) { return t.tx.DueSchedules(now) })
}

func (t *through) PutRetest(r *misstepv1.Retest) error {
	return t.written(func() error { return t.tx.PutRetest(r) })
}

func (t *through) Retest(id string) (*misstepv1.Retest, error) {
	return seen(t, func() (*misstepv1.Retest, error) { return t.tx.Retest(id) })
}

func (t *through) Retests(findings ...string) ([]*misstepv1.Retest, error) {
	return seen(t, func() ([]*misstepv1.Retest, error) { return t.tx.Retests(findings...) })
}
