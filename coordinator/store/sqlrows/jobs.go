package sqlrows

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

const jobColumns = "campaign, idx, failures, lost, not_before, recipe, template, needs"

const updateJob = "UPDATE jobs SET failures = ?, lost = ?, not_before = ?, recipe = ?, template = ?, needs = ?, waits = ? " +
	"WHERE campaign = ? AND idx = ?"

var insertJob = "INSERT INTO jobs (" + jobColumns + ", waits) VALUES (" + parameters(jobColumns) +
	", ?) ON CONFLICT (campaign, idx) DO NOTHING"

// PutJob implements store.Tx.
func (t *Tx) PutJob(j store.Job) error {
	values, err := t.jobRow(j)
	if err != nil {
		return err
	}
	what := "store a waiting job of campaign " + j.Campaign
	n, err := t.change(what, insertJob, values...)
	if err != nil {
		return err
	}
	if n > 0 {
		t.addQueued(j.Campaign, queued{jobs: 1})
		return nil
	}
	return t.Exec(what, updateJob, append(values[2:], values[:2]...)...)
}

// AddJobs implements store.Bulk.
func (t *Tx) AddJobs(all []store.Job) error {
	const onlyNew = " ON CONFLICT (campaign, idx) DO NOTHING"
	if err := insert(t, "waiting jobs", "jobs", jobColumns+", waits", onlyNew, all, t.jobRow); err != nil {
		return err
	}
	for _, j := range all {
		t.addQueued(j.Campaign, queued{jobs: 1})
	}
	return nil
}

func (t *Tx) jobRow(j store.Job) ([]any, error) {
	recipe, template, err := t.writeRecipe(j.Recipe)
	if err != nil {
		return nil, fmt.Errorf("write a waiting job of campaign %s: %w", j.Campaign, err)
	}
	waits := 1
	if j.NotBefore.IsZero() {
		waits = 0
	}
	return []any{j.Campaign, int64(j.Index), j.Failures, j.Lost, nanos(j.NotBefore), recipe, template, j.Needs, waits}, nil
}

// DeleteJobs implements store.Bulk.
func (t *Tx) DeleteJobs(campaign string, indices []uint64) error {
	for list, args := range lists(indices) {
		for i, index := range args {
			args[i] = int64(index.(uint64)) //nolint:forcetypeassert // lists returns what it was given
		}
		n, err := t.change("delete waiting jobs of campaign "+campaign, "DELETE FROM jobs WHERE campaign = ? AND idx IN ("+list+")",
			append([]any{campaign}, args...)...)
		if err != nil {
			return err
		}
		t.addQueued(campaign, queued{jobs: -n})
	}
	return nil
}

// DeleteJob implements store.Tx.
func (t *Tx) DeleteJob(campaign string, index uint64) error {
	return t.DeleteJobs(campaign, []uint64{index})
}

func scanJob(scan func(...any) error) (partial[*store.Job], error) {
	var (
		j                          store.Job
		index, notBefore, template int64
		recipe                     any
	)
	if err := scan(&j.Campaign, &index, &j.Failures, &j.Lost, &notBefore, &recipe, &template, &j.Needs); err != nil {
		return partial[*store.Job]{}, err
	}
	j.Index, j.NotBefore = uint64(index), fromNanos(notBefore)
	var err error
	j.Recipe, err = Unmarshal(recipe, &misstepv1.Recipe{})
	return partial[*store.Job]{&j, &j.Recipe, recipe, template}, err
}

// listJobs runs a query for jobs.
func (t *Tx) listJobs(what, query string, args ...any) ([]store.Job, error) {
	rows, err := List(t, what, scanJob, query, args...)
	all, err := whole(t, rows, err)
	var out []store.Job
	for _, j := range all {
		out = append(out, *j)
	}
	return out, err
}

// Jobs implements store.Tx.
func (t *Tx) Jobs(campaign string) ([]store.Job, error) {
	return t.listJobs("waiting jobs", "SELECT "+jobColumns+" FROM jobs WHERE campaign = ? ORDER BY idx", campaign)
}

// ReadyJobs implements store.Tx.
func (t *Tx) ReadyJobs(f store.ReadyFilter) ([]store.Job, error) {
	if !t.update {
		return t.readyJobs(f)
	}
	if err := t.noteDue(f.At); err != nil {
		return nil, err
	}
	var all []store.Job
	for _, needs := range slices.Compact(slices.Sorted(slices.Values(append([]string{""}, f.Capabilities...)))) {
		jobs, err := t.listJobs("ready jobs", t.dialect.dueJobs(), f.Campaign, needs, int64(f.From), nanos(f.At), f.Limit)
		if err != nil {
			return nil, err
		}
		all = append(all, jobs...)
	}
	slices.SortFunc(all, func(a, b store.Job) int { return cmp.Compare(a.Index, b.Index) })
	return all[:min(len(all), f.Limit)], nil
}

// dueJobs finds jobs that need one capability. It passes over those that are due at a later time than it asks for, of which an
// update has none. SQLite has to be told the index: it prefers the primary key.
func (d Dialect) dueJobs() string {
	hint := ""
	if d == Question {
		hint = " INDEXED BY jobs_ready"
	}
	return "SELECT " + jobColumns + " FROM jobs" + hint + " WHERE campaign = ? AND needs = ? AND waits = 0 AND idx >= ? " +
		"AND not_before <= ? ORDER BY idx LIMIT ?"
}

// noteDue notes of jobs whose time has come by now that they are due.
func (t *Tx) noteDue(at time.Time) error {
	if !at.After(t.due) {
		return nil
	}
	t.due = at
	wrote := t.wrote
	const due = "UPDATE jobs SET waits = 0 WHERE waits = 1 AND not_before <= ?"
	n, err := t.change("note which waiting jobs are due", due, nanos(at))
	t.wrote = wrote || n > 0
	return err
}

// readyJobs is ReadyJobs for a transaction that cannot note which jobs are due: it passes over those that are not.
func (t *Tx) readyJobs(f store.ReadyFilter) ([]store.Job, error) {
	args := []any{f.Campaign, int64(f.From), nanos(f.At), ""}
	for _, c := range f.Capabilities {
		args = append(args, c)
	}
	return t.listJobs("ready jobs", "SELECT "+jobColumns+" FROM jobs WHERE campaign = ? AND idx >= ? AND not_before <= ? "+
		"AND needs IN (?"+strings.Repeat(",?", len(f.Capabilities))+") ORDER BY idx LIMIT ?", append(args, f.Limit)...)
}
