package scoped

import (
	"misstep/coordinator/projects"
	misstepv1 "misstep/proto/misstep/v1"
)

func reproductionWithID(r *misstepv1.Reproduction, id string) *misstepv1.Reproduction {
	r = misstepv1.Shallow(r)
	r.Id = id
	return r
}

// PutReproduction implements store.Tx.
func (t *Tx) PutReproduction(r *misstepv1.Reproduction) error {
	return t.Tx.PutReproduction(reproductionWithID(r, t.key(r.GetId())))
}

// Reproduction implements store.Tx.
func (t *Tx) Reproduction(id string) (*misstepv1.Reproduction, error) {
	if projects.IsKey(id) {
		return nil, noRow("reproduction", id)
	}
	r, err := t.Tx.Reproduction(t.key(id))
	if err != nil {
		return nil, t.lacks(err, "reproduction", id)
	}
	return reproductionWithID(r, id), nil
}

// Reproductions implements store.Tx.
func (t *Tx) Reproductions(runningOnly bool) ([]*misstepv1.Reproduction, error) {
	all, err := t.Tx.Reproductions(runningOnly)
	return own(t, all, err, (*misstepv1.Reproduction).GetId, reproductionWithID)
}

func scheduleWithID(s *misstepv1.Schedule, id string) *misstepv1.Schedule {
	s = misstepv1.Shallow(s)
	s.Id = id
	return s
}

// PutSchedule implements store.Tx.
func (t *Tx) PutSchedule(s *misstepv1.Schedule) error {
	return t.Tx.PutSchedule(scheduleWithID(s, t.key(s.GetId())))
}

// DeleteSchedule implements store.Tx.
func (t *Tx) DeleteSchedule(id string) error {
	if projects.IsKey(id) {
		return nil
	}
	return t.Tx.DeleteSchedule(t.key(id))
}

// Schedule implements store.Tx.
func (t *Tx) Schedule(id string) (*misstepv1.Schedule, error) {
	if projects.IsKey(id) {
		return nil, noRow("schedule", id)
	}
	s, err := t.Tx.Schedule(t.key(id))
	if err != nil {
		return nil, t.lacks(err, "schedule", id)
	}
	return scheduleWithID(s, id), nil
}

// Schedules implements store.Tx.
func (t *Tx) Schedules() ([]*misstepv1.Schedule, error) {
	all, err := t.Tx.Schedules()
	return own(t, all, err, (*misstepv1.Schedule).GetId, scheduleWithID)
}

// retest returns one with other names of itself and of its finding, by which stores look for it.
func retest(r *misstepv1.Retest, id, finding string) *misstepv1.Retest {
	r = misstepv1.Shallow(r)
	r.Id, r.FindingId = id, finding
	return r
}

// PutRetest implements store.Tx.
func (t *Tx) PutRetest(r *misstepv1.Retest) error {
	return t.Tx.PutRetest(retest(r, t.key(r.GetId()), t.key(r.GetFindingId())))
}

func ownRetest(r *misstepv1.Retest, id string) *misstepv1.Retest {
	_, finding := projects.Split(r.GetFindingId())
	return retest(r, id, finding)
}

// Retest implements store.Tx.
func (t *Tx) Retest(id string) (*misstepv1.Retest, error) {
	if projects.IsKey(id) {
		return nil, noRow("retest", id)
	}
	r, err := t.Tx.Retest(t.key(id))
	if err != nil {
		return nil, t.lacks(err, "retest", id)
	}
	return ownRetest(r, id), nil
}

// Retests implements store.Tx.
func (t *Tx) Retests(findings ...string) ([]*misstepv1.Retest, error) {
	all, err := t.Tx.Retests(t.keys(findings)...)
	return own(t, all, err, (*misstepv1.Retest).GetId, ownRetest)
}
