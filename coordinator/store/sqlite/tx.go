package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	sqlitedriver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"misstep/coordinator/rates"
	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

type tx struct {
	ctx context.Context //nolint:containedctx // a transaction lives inside one call
	t   *sql.Tx
}

func (t *tx) exec(what, query string, args ...any) error {
	if _, err := t.t.ExecContext(t.ctx, query, args...); err != nil {
		return fmt.Errorf("%s: %w", what, translate(err))
	}
	return nil
}

// translate maps the two errors that callers distinguish to those of package store.
func translate(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return store.ErrNotFound
	}
	if e, ok := errors.AsType[*sqlitedriver.Error](err); ok &&
		(e.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE || e.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY) {
		return fmt.Errorf("%w (%w)", store.ErrExists, err)
	}
	return err
}

// list runs a query and converts each row to a value.
func list[T any](t *tx, what string, row func(scan func(...any) error) (T, error), query string, args ...any) ([]T, error) {
	rows, err := t.t.QueryContext(t.ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", what, err)
	}
	defer rows.Close()
	var out []T
	for rows.Next() {
		v, err := row(rows.Scan)
		if err != nil {
			return nil, fmt.Errorf("read a row of %s: %w", what, err)
		}
		out = append(out, v)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("list %s: %w", what, err)
	}
	return out, nil
}

func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func fromNanos(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}

// marshal returns nil, SQL's NULL, for a nil message.
func marshal(m proto.Message) (any, error) {
	if !m.ProtoReflect().IsValid() {
		return nil, nil
	}
	raw, err := proto.Marshal(m)
	if raw == nil && err == nil {
		raw = []byte{} // an empty message differs from no message
	}
	return raw, err
}

// unmarshal decodes a column as the driver returns it: nil for NULL, which is no message, or a possibly empty []byte.
func unmarshal[M proto.Message](column any, m M) (M, error) {
	var none M
	switch raw := column.(type) {
	case nil:
		return none, nil
	case []byte:
		return m, proto.Unmarshal(raw, m)
	default:
		return none, fmt.Errorf("expected a blob for %s, found %T", m.ProtoReflect().Descriptor().Name(), column)
	}
}

const campaignColumns = "id, submission, state, submitted, ended, next, turn, tally, probes, strategy_state"

func (t *tx) PutCampaign(c *store.Campaign) error {
	submission, err := marshal(c.Submission)
	if err != nil {
		return fmt.Errorf("write campaign %s: %w", c.ID, err)
	}
	tally, err := marshal(c.Tally)
	if err != nil {
		return fmt.Errorf("write the tally of campaign %s: %w", c.ID, err)
	}
	return t.exec("store campaign "+c.ID, "INSERT OR REPLACE INTO campaigns ("+campaignColumns+") VALUES (?,?,?,?,?,?,?,?,?,?)",
		c.ID, submission, int32(c.State), nanos(c.Submitted), nanos(c.Ended), int64(c.Next), int64(c.Turn), tally, c.Probes,
		c.StrategyState)
}

func scanCampaign(scan func(...any) error) (*store.Campaign, error) {
	var (
		c                 store.Campaign
		submission, tally any
		state             int32
		submitted, ended  int64
		next, turn        int64
	)
	if err := scan(&c.ID, &submission, &state, &submitted, &ended, &next, &turn, &tally, &c.Probes, &c.StrategyState); err != nil {
		return nil, err
	}
	c.State, c.Submitted, c.Ended = misstepv1.CampaignState(state), fromNanos(submitted), fromNanos(ended)
	c.Next, c.Turn = uint64(next), uint64(turn)
	var err1, err2 error
	c.Submission, err1 = unmarshal(submission, &misstepv1.SubmitCampaignRequest{})
	c.Tally, err2 = unmarshal(tally, &misstepv1.CampaignStatus{})
	return &c, errors.Join(err1, err2)
}

func (t *tx) Campaign(id string) (*store.Campaign, error) {
	c, err := scanCampaign(t.t.QueryRowContext(t.ctx, "SELECT "+campaignColumns+" FROM campaigns WHERE id = ?", id).Scan)
	if err != nil {
		return nil, fmt.Errorf("campaign %q: %w", id, translate(err))
	}
	return c, nil
}

func (t *tx) Campaigns(runningOnly bool) ([]*store.Campaign, error) {
	query, args := "SELECT "+campaignColumns+" FROM campaigns", []any(nil)
	if runningOnly {
		query, args = query+" WHERE state = ?", []any{int32(misstepv1.CampaignState_CAMPAIGN_STATE_RUNNING)}
	}
	return list(t, "campaigns", scanCampaign, query+" ORDER BY submitted DESC, id DESC", args...)
}

func (t *tx) PutJob(j store.Job) error {
	recipe, err := marshal(j.Recipe)
	if err != nil {
		return fmt.Errorf("write a waiting job of campaign %s: %w", j.Campaign, err)
	}
	return t.exec("store a waiting job of campaign "+j.Campaign,
		"INSERT OR REPLACE INTO jobs (campaign, idx, failures, lost, not_before, recipe) VALUES (?,?,?,?,?,?)",
		j.Campaign, int64(j.Index), j.Failures, j.Lost, nanos(j.NotBefore), recipe)
}

func (t *tx) DeleteJob(campaign string, index uint64) error {
	return t.exec("delete a waiting job of campaign "+campaign, "DELETE FROM jobs WHERE campaign = ? AND idx = ?", campaign,
		int64(index))
}

func (t *tx) Jobs(campaign string) ([]store.Job, error) {
	return list(t, "waiting jobs", func(scan func(...any) error) (store.Job, error) {
		j := store.Job{Campaign: campaign}
		var index, notBefore int64
		var recipe any
		if err := scan(&index, &j.Failures, &j.Lost, &notBefore, &recipe); err != nil {
			return j, err
		}
		j.Index, j.NotBefore = uint64(index), fromNanos(notBefore)
		var err error
		j.Recipe, err = unmarshal(recipe, &misstepv1.Recipe{})
		return j, err
	}, "SELECT idx, failures, lost, not_before, recipe FROM jobs WHERE campaign = ? ORDER BY idx", campaign)
}

const leaseColumns = "id, runner, campaign, idx, failures, lost, recipe, granted, deadline"

func (t *tx) PutLease(l *store.Lease) error {
	recipe, err := marshal(l.Recipe)
	if err != nil {
		return fmt.Errorf("write lease %s: %w", l.ID, err)
	}
	// Not INSERT OR REPLACE: that would silently delete another lease that holds the trial.
	return t.exec("store lease "+l.ID, "INSERT INTO leases ("+leaseColumns+`) VALUES (?,?,?,?,?,?,?,?,?)
		ON CONFLICT (id) DO UPDATE SET runner = excluded.runner, campaign = excluded.campaign, idx = excluded.idx,
			failures = excluded.failures,
		lost = excluded.lost, recipe = excluded.recipe, granted = excluded.granted, deadline = excluded.deadline`,
		l.ID, l.Runner, l.Job.Campaign, int64(l.Job.Index), l.Job.Failures, l.Job.Lost, recipe, nanos(l.Granted), nanos(l.Deadline))
}

func (t *tx) DeleteLease(id string) error {
	return t.exec("delete lease "+id, "DELETE FROM leases WHERE id = ?", id)
}

func scanLease(scan func(...any) error) (*store.Lease, error) {
	var (
		l                        store.Lease
		recipe                   any
		index, granted, deadline int64
	)
	if err := scan(&l.ID, &l.Runner, &l.Job.Campaign, &index, &l.Job.Failures, &l.Job.Lost, &recipe, &granted,
		&deadline); err != nil {
		return nil, err
	}
	l.Job.Index, l.Granted, l.Deadline = uint64(index), fromNanos(granted), fromNanos(deadline)
	var err error
	l.Recipe, err = unmarshal(recipe, &misstepv1.Recipe{})
	return &l, err
}

func (t *tx) Lease(id string) (*store.Lease, error) {
	l, err := scanLease(t.t.QueryRowContext(t.ctx, "SELECT "+leaseColumns+" FROM leases WHERE id = ?", id).Scan)
	if err != nil {
		return nil, fmt.Errorf("lease %q: %w", id, translate(err))
	}
	return l, nil
}

func (t *tx) Leases(f store.LeaseFilter) ([]*store.Lease, error) {
	query, args := "SELECT "+leaseColumns+" FROM leases WHERE 1", []any{}
	if f.Campaign != "" {
		query, args = query+" AND campaign = ?", append(args, f.Campaign)
	}
	if f.Runner != "" {
		query, args = query+" AND runner = ?", append(args, f.Runner)
	}
	if !f.ExpiredAt.IsZero() {
		query, args = query+" AND deadline <= ?", append(args, nanos(f.ExpiredAt))
	}
	return list(t, "leases", scanLease, query+" ORDER BY granted, id", args...)
}

func (t *tx) CountLeases(campaign string) (uint64, error) {
	var n int64
	if err := t.t.QueryRowContext(t.ctx, "SELECT count(*) FROM leases WHERE campaign = ?", campaign).Scan(&n); err != nil {
		return 0, fmt.Errorf("count the leases of campaign %s: %w", campaign, err)
	}
	return uint64(n), nil
}

func (t *tx) AddTrial(trial *store.Trial) (uint64, error) {
	recipe, err1 := marshal(trial.Recipe)
	outcome, err2 := marshal(trial.Outcome)
	failure, err3 := marshal(trial.Failure)
	if err := errors.Join(err1, err2, err3); err != nil {
		return 0, fmt.Errorf("write trial %d of campaign %s: %w", trial.Index, trial.Campaign, err)
	}
	values := []any{int64(trial.Index), recipe, outcome, failure, strings.Join(trial.FindingIDs, ","), nanos(trial.Ended)}
	res, err := t.t.ExecContext(t.ctx, "INSERT INTO trials (idx, recipe, outcome, failure, findings, ended, counts, "+
		combinationColumns+") VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", append(values, combination(trial)...)...)
	if err != nil {
		return 0, fmt.Errorf("store the result of trial %d of campaign %s: %w", trial.Index, trial.Campaign, translate(err))
	}
	id, err := res.LastInsertId()
	if err != nil {
		return 0, err
	}
	return uint64(id), t.shows(uint64(id), trial.FindingIDs)
}

// combination returns the values of the column counts and of combinationColumns.
func combination(trial *store.Trial) []any {
	c := rates.CombinationOf(trial.Campaign, trial.Recipe)
	return []any{
		trial.Counts(), c.Campaign, c.JDK, c.Workload, c.FlagSet, c.Checks, c.Perturbation, c.Ratio, c.Interval, c.Profiler,
	}
}

func (t *tx) shows(trial uint64, findings []string) error {
	for _, f := range findings {
		if err := t.exec("store a hit of finding "+f, "INSERT OR IGNORE INTO shown (finding, trial) VALUES (?,?)", f,
			int64(trial)); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) Trials(campaign string, after uint64, limit int) ([]*store.Trial, error) {
	return list(t, "trials", func(scan func(...any) error) (*store.Trial, error) {
		trial := &store.Trial{Campaign: campaign}
		var (
			id, index, ended         int64
			recipe, outcome, failure any
			findings                 string
		)
		if err := scan(&id, &index, &recipe, &outcome, &failure, &findings, &ended); err != nil {
			return nil, err
		}
		trial.ID, trial.Index, trial.Ended = uint64(id), uint64(index), fromNanos(ended)
		if findings != "" {
			trial.FindingIDs = strings.Split(findings, ",")
		}
		var err1, err2, err3 error
		trial.Recipe, err1 = unmarshal(recipe, &misstepv1.Recipe{})
		trial.Outcome, err2 = unmarshal(outcome, &misstepv1.Outcome{})
		trial.Failure, err3 = unmarshal(failure, &misstepv1.InfrastructureFailure{})
		return trial, errors.Join(err1, err2, err3)
	}, "SELECT id, idx, recipe, outcome, failure, findings, ended FROM trials WHERE campaign = ? AND id > ? ORDER BY id LIMIT ?",
		campaign, int64(after), limit)
}

func (t *tx) PutFinding(f *store.Finding) error {
	raw, err := marshal(f.Proto)
	if err != nil {
		return fmt.Errorf("write finding %s: %w", f.Proto.GetId(), err)
	}
	return t.exec("store finding "+f.Proto.GetId(),
		"INSERT OR REPLACE INTO findings (id, last_seen, finding, weight) VALUES (?,?,?,?)",
		f.Proto.GetId(), nanos(f.Proto.GetLastSeen().AsTime()), raw, f.Weight)
}

func scanFinding(scan func(...any) error) (*store.Finding, error) {
	f := &store.Finding{}
	var raw any
	if err := scan(&raw, &f.Weight); err != nil {
		return nil, err
	}
	var err error
	f.Proto, err = unmarshal(raw, &misstepv1.Finding{})
	return f, err
}

func (t *tx) Finding(id string) (*store.Finding, error) {
	f, err := scanFinding(t.t.QueryRowContext(t.ctx, "SELECT finding, weight FROM findings WHERE id = ?", id).Scan)
	if err != nil {
		return nil, fmt.Errorf("finding %q: %w", id, translate(err))
	}
	return f, nil
}

func (t *tx) Findings() ([]*store.Finding, error) {
	return list(t, "findings", scanFinding, "SELECT finding, weight FROM findings ORDER BY last_seen DESC, id")
}

const combinationColumns = "campaign, jdk, workload, flag_set, checks, perturbation, ratio, interval, profiler"

func (t *tx) counts(where string, args ...any) ([]rates.Count, error) {
	query := "SELECT " + combinationColumns + ", count(*) FROM trials WHERE counts " + where +
		" GROUP BY " + combinationColumns + " ORDER BY " + combinationColumns
	return list(t, "counts", func(scan func(...any) error) (rates.Count, error) {
		var c rates.Count
		var n int64
		err := scan(&c.Campaign, &c.JDK, &c.Workload, &c.FlagSet, &c.Checks, &c.Perturbation, &c.Ratio, &c.Interval, &c.Profiler,
			&n)
		c.N = uint64(n)
		return c, err
	}, query, args...)
}

func (t *tx) Counts() ([]rates.Count, error) { return t.counts("") }

func (t *tx) Hits(findings ...string) ([]rates.Count, error) {
	args := make([]any, len(findings))
	for i, f := range findings {
		args[i] = f
	}
	return t.counts("AND id IN (SELECT trial FROM shown WHERE finding IN (?"+strings.Repeat(",?", max(0, len(findings)-1))+"))",
		append(args, make([]any, max(0, 1-len(args)))...)...)
}

func (t *tx) Shown() ([]rates.Shown, error) {
	return list(t, "hits", func(scan func(...any) error) (rates.Shown, error) {
		var s rates.Shown
		var ids string
		var n int64
		err := scan(&s.Campaign, &s.JDK, &s.Workload, &s.FlagSet, &s.Checks, &s.Perturbation, &s.Ratio, &s.Interval, &s.Profiler,
			&ids, &n)
		s.N, s.Findings = uint64(n), strings.Split(ids, ",")
		return s, err
	}, "SELECT "+combinationColumns+", ids, count(*) FROM trials JOIN "+
		"(SELECT trial, group_concat(finding, ',' ORDER BY finding) AS ids FROM shown GROUP BY trial) ON trial = id "+
		"WHERE counts GROUP BY "+combinationColumns+", ids")
}

func (t *tx) AddDecision(d *misstepv1.TriageDecision) (uint64, error) {
	raw, err := marshal(d)
	if err != nil {
		return 0, fmt.Errorf("write a decision: %w", err)
	}
	res, err := t.t.ExecContext(t.ctx, "INSERT INTO decisions (decision) VALUES (?)", raw)
	if err != nil {
		return 0, fmt.Errorf("store a decision: %w", translate(err))
	}
	id, err := res.LastInsertId()
	return uint64(id), err
}

func (t *tx) PutDecision(d *misstepv1.TriageDecision) error {
	raw, err := marshal(d)
	if err != nil {
		return fmt.Errorf("write decision %d: %w", d.GetId(), err)
	}
	res, err := t.t.ExecContext(t.ctx, "UPDATE decisions SET decision = ? WHERE id = ?", raw, int64(d.GetId()))
	if err != nil {
		return fmt.Errorf("store decision %d: %w", d.GetId(), translate(err))
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, fmt.Errorf("decision %d: %w", d.GetId(), store.ErrNotFound))
	}
	return nil
}

func (t *tx) Decisions() ([]*misstepv1.TriageDecision, error) {
	return list(t, "decisions", func(scan func(...any) error) (*misstepv1.TriageDecision, error) {
		var id int64
		var raw any
		if err := scan(&id, &raw); err != nil {
			return nil, err
		}
		d, err := unmarshal(raw, &misstepv1.TriageDecision{})
		d.Id = uint64(id)
		return d, err
	}, "SELECT id, decision FROM decisions ORDER BY id")
}

func (t *tx) PutReproduction(r *misstepv1.Reproduction) error {
	raw, err := marshal(r)
	if err != nil {
		return fmt.Errorf("write reproduction %s: %w", r.GetId(), err)
	}
	return t.exec("store reproduction "+r.GetId(),
		"INSERT OR REPLACE INTO reproductions (id, state, started, reproduction) VALUES (?,?,?,?)",
		r.GetId(), int32(r.GetState()), nanos(r.GetStarted().AsTime()), raw)
}

func scanReproduction(scan func(...any) error) (*misstepv1.Reproduction, error) {
	var raw any
	if err := scan(&raw); err != nil {
		return nil, err
	}
	return unmarshal(raw, &misstepv1.Reproduction{})
}

func (t *tx) Reproduction(id string) (*misstepv1.Reproduction, error) {
	r, err := scanReproduction(t.t.QueryRowContext(t.ctx, "SELECT reproduction FROM reproductions WHERE id = ?", id).Scan)
	if err != nil {
		return nil, fmt.Errorf("reproduction %q: %w", id, translate(err))
	}
	return r, nil
}

func (t *tx) Reproductions(runningOnly bool) ([]*misstepv1.Reproduction, error) {
	query, args := "SELECT reproduction FROM reproductions", []any(nil)
	if runningOnly {
		query, args = query+" WHERE state = ?", []any{int32(misstepv1.ReproductionState_REPRODUCTION_STATE_RUNNING)}
	}
	return list(t, "reproductions", scanReproduction, query+" ORDER BY started DESC, id", args...)
}

func (t *tx) PutWorkerState(name string, data []byte) error {
	return t.exec("store the state of worker "+name, "INSERT OR REPLACE INTO worker_state (name, data) VALUES (?,?)", name, data)
}

func (t *tx) WorkerState(name string) ([]byte, error) {
	var data []byte
	err := t.t.QueryRowContext(t.ctx, "SELECT data FROM worker_state WHERE name = ?", name).Scan(&data)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the state of worker %s: %w", name, err)
	}
	return data, nil
}
