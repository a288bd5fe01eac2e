// Package quota says which campaigns may get further trials, from what their projects and owners use and may use. It is a pure
// function of the campaigns that run and of what those used that have ended: no query counts trials.
//
// A quota keeps nobody else from a runner: whoever reached theirs is passed over, and the next in order gets the slot.
package quota

import (
	"cmp"
	"fmt"
	"time"

	misstepv1 "misstep/proto/misstep/v1"
)

// Everybody is the name of each project, or each person, that has no quota of its own.
const Everybody = "*"

// Day returns the number of a day in UTC.
func Day(now time.Time) uint32 { return uint32(now.Unix() / (24 * 60 * 60)) } //nolint:gosec // until the year 11,000,000

// NextDay returns when the next day begins.
func NextDay(now time.Time) time.Time { return time.Unix(int64(Day(now)+1)*24*60*60, 0).UTC() }

// On returns how many trials ended on a day, and how many bytes of evidence they wrote.
func On(u *misstepv1.DayUsage, day uint32) (ended, bytes uint64) {
	if u.GetDay() != day {
		return 0, 0
	}
	return u.GetTrials(), u.GetEvidence()
}

// Add returns the usage of a day with more; it does not change u.
func Add(u *misstepv1.DayUsage, day uint32, ended, bytes uint64) *misstepv1.DayUsage {
	before, written := On(u, day)
	return &misstepv1.DayUsage{Day: day, Trials: before + ended, Evidence: written + bytes}
}

// Compare orders quotas: those of projects first, by name.
func Compare(a, b *misstepv1.Quota) int {
	return cmp.Or(cmp.Compare(a.GetPerson(), b.GetPerson()), cmp.Compare(a.GetProject(), b.GetProject()))
}

// KeyOf returns what a quota is of, as Quotas.ended has it.
func KeyOf(q *misstepv1.Quota) string {
	if q.GetPerson() != "" {
		return Person(q.GetPerson())
	}
	return Project(q.GetProject())
}

// Project returns the key of a project, and Person that of a person.
func Project(name string) string { return "project " + name }

// Person returns the key of a person.
func Person(name string) string { return "person " + name }

// Nothing reports whether a quota leaves nothing at all.
func Nothing(q *misstepv1.Quota) bool {
	if q == nil {
		return false
	}
	for _, limit := range []*uint64{q.Runners, q.TrialsADay, q.EvidenceADay} {
		if limit != nil && *limit == 0 {
			return true
		}
	}
	return false
}

// Table has the quotas. It is not changed once it is made.
type Table struct {
	by map[string]*misstepv1.Quota
	// daily is true when one of them is of a day.
	daily bool
}

// NewTable returns a table.
func NewTable(all []*misstepv1.Quota) *Table {
	t := &Table{by: make(map[string]*misstepv1.Quota, len(all))}
	for _, q := range all {
		t.by[KeyOf(q)] = q
		t.daily = t.daily || q.TrialsADay != nil || q.EvidenceADay != nil
	}
	return t
}

// Empty reports whether nothing is bounded.
func (t *Table) Empty() bool { return t == nil || len(t.by) == 0 }

// Daily reports whether one of the quotas is of a day.
func (t *Table) Daily() bool { return t != nil && t.daily }

// Of returns the quota of a project or a person, by key; nil for none.
func (t *Table) Of(key, everybody string) *misstepv1.Quota {
	if t == nil {
		return nil
	}
	return cmp.Or(t.by[key], t.by[everybody])
}

// Claim is a running campaign.
type Claim struct {
	// Project of the campaign, and its Owner; a campaign without an owner is bounded by its project only.
	Project, Owner string
	// Running trials.
	Running uint64
	// Today is what was used by trials that ended.
	Today *misstepv1.DayUsage
}

// used is what a project or a person uses.
type used struct {
	key                       string
	quota                     *misstepv1.Quota
	running, trials, evidence uint64
}

// Meter has what is used by those that claim runners.
type Meter struct {
	all []used
	// of are the indices of all by claim: its project, and its owner or -1.
	of  [][2]int
	now time.Time
}

// NewMeter returns a meter of claims; ended is what campaigns used that have ended, by key.
func NewMeter(t *Table, claims []Claim, ended map[string]*misstepv1.DayUsage, now time.Time) *Meter {
	m := &Meter{of: make([][2]int, len(claims)), now: now}
	day := Day(now)
	projects, people := make(map[string]int, 8), make(map[string]int, 8)
	add := func(index map[string]int, name string, key func(string) string, c Claim) int {
		k, known := index[name]
		if !known {
			k = len(m.all)
			index[name] = k
			u := used{key: key(name)}
			u.quota = t.Of(u.key, key(Everybody))
			u.trials, u.evidence = On(ended[u.key], day)
			m.all = append(m.all, u)
		}
		u := &m.all[k]
		trials, bytes := On(c.Today, day)
		u.running, u.trials, u.evidence = u.running+c.Running, u.trials+trials, u.evidence+bytes
		return k
	}
	for i, c := range claims {
		m.of[i] = [2]int{add(projects, c.Project, Project, c), -1}
		if c.Owner != "" {
			m.of[i][1] = add(people, c.Owner, Person, c)
		}
	}
	return m
}

// bound is what somebody reached.
type bound int

const (
	none bound = iota
	runners
	trials
	evidence
)

// reached returns the bound because of which somebody gets no further trials. A trial that runs will end today.
func (u *used) reached() bound {
	switch q := u.quota; {
	case q == nil:
	case q.Runners != nil && u.running >= q.GetRunners():
		return runners
	case q.TrialsADay != nil && u.trials+u.running >= q.GetTrialsADay():
		return trials
	case q.EvidenceADay != nil && u.evidence >= q.GetEvidenceADay():
		return evidence
	}
	return none
}

// line says which bound was reached, and until when.
func (u *used) line(b bound, now time.Time) string {
	until := NextDay(now).Format("2006-01-02 15:04 UTC")
	switch b {
	case runners:
		return fmt.Sprintf("quota of %s: %d trials at once run", u.key, u.quota.GetRunners())
	case trials:
		return fmt.Sprintf("quota of %s: %d trials a day are used or run, until %s", u.key, u.quota.GetTrialsADay(), until)
	case evidence:
		return fmt.Sprintf("quota of %s: %d bytes of evidence a day are written, until %s", u.key, u.quota.GetEvidenceADay(), until)
	}
	return ""
}

// May reports whether the i-th claim may have one more trial. A nil meter bounds nothing.
func (m *Meter) May(i int) bool {
	if m == nil {
		return true
	}
	for _, k := range m.of[i] {
		if k >= 0 && m.all[k].reached() != none {
			return false
		}
	}
	return true
}

// Served notes that the i-th claim got a trial.
func (m *Meter) Served(i int) {
	if m == nil {
		return
	}
	for _, k := range m.of[i] {
		if k >= 0 {
			m.all[k].running++
		}
	}
}

// Held returns why the i-th claim may have no further trial, a line for each quota that is reached.
func (m *Meter) Held(i int) (lines []string) {
	for _, k := range m.of[i] {
		if k < 0 {
			continue
		}
		if b := m.all[k].reached(); b != none {
			lines = append(lines, m.all[k].line(b, m.now))
		}
	}
	return lines
}

// Usage returns what a project or a person uses, by key; ended is that of NewMeter.
func (m *Meter) Usage(key string, ended map[string]*misstepv1.DayUsage) (running uint64, today *misstepv1.DayUsage) {
	for _, u := range m.all {
		if u.key == key {
			return u.running, &misstepv1.DayUsage{Day: Day(m.now), Trials: u.trials, Evidence: u.evidence}
		}
	}
	return 0, Add(ended[key], Day(m.now), 0, 0)
}
