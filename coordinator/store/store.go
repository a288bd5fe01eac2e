// Package store defines what a coordinator persists: campaigns, trials that wait for another attempt, leases, results and findings,
// all changed in transactions.
//
// The rules of the queue and of triage are above this package; a store keeps rows and rejects a second result of the same trial.
// storetest holds the conformance suite that every implementation passes; stores opens the store that a URL names.
package store

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"misstep/coordinator/rates"
	misstepv1 "misstep/proto/misstep/v1"
)

// ErrNotFound is returned, wrapped, when there is no row with the requested key.
var ErrNotFound = errors.New("not found")

// ErrAway is in the chain of the error of opening a store whose server does not answer, and may answer later.
var ErrAway = errors.New("the store's server does not answer")

// ErrExists is returned, wrapped, when a row that must be new exists already, above all for a second result of a trial.
var ErrExists = errors.New("exists already")

// Store runs transactions. Update transactions are serial and durable once Update returns nil: a process killed right after it
// finds their rows again. When f returns an error, the transaction is rolled back and the error is returned unchanged. View's
// transaction sees one state and rejects writes. The Tx is used by one goroutine and never after f returned; f must not start
// another transaction. A store whose server was lost may undo what f did and call f again, so f sets what it leaves outside of the
// transaction anew. Both are safe for concurrent use.
type Store interface {
	View(ctx context.Context, f func(Tx) error) error
	Update(ctx context.Context, f func(Tx) error) error
	// Close releases the store's resources; no transaction may be under way.
	Close() error
}

// Tx reads and writes rows. Arguments are copied and results belong to the caller, so neither side sees the other's later changes;
// but in an Update the messages of a Campaign, a Job, a Lease and a Finding's example, and the recipe of a Trial, are shared with
// the transaction (see package batch): a caller that changes one changes a copy of it.
// Times are kept to the nanosecond and returned in UTC. Put replaces a row with the same key; Delete of a missing row does nothing;
// lists are empty, never an error, when nothing matches.
type Tx interface {
	CampaignRows
	JobRows
	LeaseRows
	TrialRows
	FindingRows
	DecisionRows
	VisibilityRows
	KnownBugRows
	ReproductionRows
	CatalogueRows
	ScheduleRows
	RepetitionRows
	WorkerRows
	AccessRows
}

// CampaignRows are the campaigns by id.
type CampaignRows interface {
	PutCampaign(*Campaign) error
	// Campaign returns the campaign with that id; ErrNotFound.
	Campaign(id string) (*Campaign, error)
	// Campaigns returns the campaigns, newest first; with runningOnly only those in state running.
	Campaigns(runningOnly bool) ([]*Campaign, error)
}

// JobRows are the waiting trials by campaign and index: those that were tried wait for another attempt, and those that no runner so
// far could run wait for one that can.
type JobRows interface {
	PutJob(Job) error
	DeleteJob(campaign string, index uint64) error
	// Jobs returns the jobs of a campaign, lowest index first.
	Jobs(campaign string) ([]Job, error)
	// ReadyJobs returns the jobs that match the filter, lowest index first.
	ReadyJobs(ReadyFilter) ([]Job, error)
	// CountJobs returns the number of a campaign's jobs.
	CountJobs(campaign string) (uint64, error)
}

// LeaseRows are the live leases by id. There is at most one lease for each trial.
type LeaseRows interface {
	// PutLease stores a lease; ErrExists when another lease holds the same trial.
	PutLease(*Lease) error
	DeleteLease(id string) error
	// ExtendLeases gives the leases with an earlier deadline this one.
	ExtendLeases(deadline time.Time) error
	// Lease returns the lease with that id; ErrNotFound.
	Lease(id string) (*Lease, error)
	// Leases returns the leases that match the filter, by time granted, then id; with a limit by deadline, then id.
	Leases(LeaseFilter) ([]*Lease, error)
	// CountLeases returns the number of a campaign's leases.
	CountLeases(campaign string) (uint64, error)
}

// TrialRows are the results.
type TrialRows interface {
	// AddTrial records a result under an id that is greater than those of all earlier results; t.ID is ignored. ErrExists when the
	// trial (its campaign and index) has a result already.
	AddTrial(t *Trial) error
	// Trials returns at most limit trials of a campaign with ids greater than after, lowest first.
	Trials(campaign string, after uint64, limit int) ([]*Trial, error)
	// PutOutcome replaces the outcome of the trial with that id by one for which Trial.Counts is the same; ErrNotFound. Nothing
	// else changes.
	PutOutcome(id uint64, o *misstepv1.Outcome) error
}

// FindingRows are the findings by id, with the counts from which their rates are computed. All counts are computed from the
// trials, so that a trial which shows two findings that are merged later counts once.
type FindingRows interface {
	// PutFinding stores a finding. It comes with a trial that shows the finding, in the same transaction, which tells those who
	// keep findings (see package readcache) that this one is another one now.
	PutFinding(*Finding) error
	// Finding returns the finding with that id; ErrNotFound.
	Finding(id string) (*Finding, error)
	// Findings returns the findings, most recently seen first, then by id.
	Findings() ([]*Finding, error)
	// Counts returns the number of trials that count (see Trial.Counts) by combination, ordered by its fields.
	Counts() ([]rates.Count, error)
	// Hits is Counts for the trials that show at least one of the findings.
	Hits(findings ...string) ([]rates.Count, error)
	// Log returns all trials that count one by one. It takes a time that grows with their number, unless the store keeps the log in
	// memory (see package readcache); it is shared, and nobody changes it.
	Log() (*rates.Log, error)
	// Shown returns the number of trials that count and show a finding, by combination and by all findings that they show, in any
	// order. It holds what Hits returns for any findings, in one read.
	Shown() ([]rates.Shown, error)
}

// DecisionRows are the users' decisions about which findings are the same, in order.
type DecisionRows interface {
	// AddDecision appends a decision and returns its id, which grows with every call; d.Id is ignored.
	AddDecision(d *misstepv1.TriageDecision) (id uint64, err error)
	// PutDecision replaces the decision with the same id; ErrNotFound.
	PutDecision(d *misstepv1.TriageDecision) error
	// Decisions returns the decisions, lowest id first.
	Decisions() ([]*misstepv1.TriageDecision, error)
}

// VisibilityRows are what was decided about who sees a finding, by the finding's id. They are few: a finding that its project sees
// has none.
type VisibilityRows interface {
	PutVisibility(*misstepv1.FindingVisibility) error
	DeleteVisibility(finding string) error
	// Visibilities returns all, by finding, those of embargoes that have ended included.
	Visibilities() ([]*misstepv1.FindingVisibility, error)
}

// KnownBugRows are the store's own catalogue of known bugs, by id.
type KnownBugRows interface {
	PutKnownBug(*misstepv1.KnownBug) error
	DeleteKnownBug(id string) error
	// KnownBugs returns all, by id.
	KnownBugs() ([]*misstepv1.KnownBug, error)
}

// ReproductionRows are the reproductions by id.
type ReproductionRows interface {
	PutReproduction(*misstepv1.Reproduction) error
	// Reproduction returns the reproduction with that id; ErrNotFound.
	Reproduction(id string) (*misstepv1.Reproduction, error)
	// Reproductions returns the reproductions, newest first, then by id; with runningOnly only the running ones.
	Reproductions(runningOnly bool) ([]*misstepv1.Reproduction, error)
}

// CatalogueRows are the shared catalogue, by kind and name.
type CatalogueRows interface {
	PutCatalogueEntry(*misstepv1.CatalogueEntry) error
	DeleteCatalogueEntry(kind misstepv1.CatalogueKind, name string) error
	// CatalogueEntry returns the entry of that kind and name; ErrNotFound.
	CatalogueEntry(kind misstepv1.CatalogueKind, name string) (*misstepv1.CatalogueEntry, error)
	// CatalogueEntries returns the entries of a kind, or of every kind for an unspecified one, by kind and name.
	CatalogueEntries(kind misstepv1.CatalogueKind) ([]*misstepv1.CatalogueEntry, error)
}

// ScheduleRows are the schedules and what became of reproducers on new builds.
type ScheduleRows interface {
	PutSchedule(*misstepv1.Schedule) error
	DeleteSchedule(id string) error
	// Schedule returns the schedule with that id; ErrNotFound.
	Schedule(id string) (*misstepv1.Schedule, error)
	// Schedules returns the schedules by id.
	Schedules() ([]*misstepv1.Schedule, error)
	// DueSchedules returns, by id, those whose next run is not after now, and those whose next run is further away than twice the
	// time between two runs, as after a clock that was set back.
	DueSchedules(now time.Time) ([]*misstepv1.Schedule, error)

	PutRetest(*misstepv1.Retest) error
	// Retest returns the retest with that id; ErrNotFound.
	Retest(id string) (*misstepv1.Retest, error)
	// Retests returns retests, newest first, then by id; only those of the findings, if any are given.
	Retests(findings ...string) ([]*misstepv1.Retest, error)
}

// WorkerRows are what work beside the calls keeps between two rounds, by the worker's name.
type WorkerRows interface {
	// PutWorkerState replaces the state of the worker with that name; its format is the worker's own.
	PutWorkerState(name string, data []byte) error
	// WorkerState returns it; nil without an error when there is none.
	WorkerState(name string) ([]byte, error)
}

// Loader is what a Tx has beside its rows when a whole store can be copied from and to it. Ids stay, so that what names a row still
// names it.
type Loader interface {
	Tx
	PropertyRows
	// Clear removes all rows but the properties.
	Clear() error
	// WorkerNames returns the names under which workers keep their states, in order.
	WorkerNames() ([]string, error)
	// LoadTrial is AddTrial with the trial's own id.
	LoadTrial(t *Trial) error
	// LoadDecision is AddDecision with the decision's own id.
	LoadDecision(d *misstepv1.TriageDecision) error
	// LoadAudit is AddAudit with the entry's own id.
	LoadAudit(e *misstepv1.AuditEntry) error
	// Loaded is called after the last row: the ids of further rows are greater than all.
	Loaded() error
}

// Bulk is a second, optional interface of a Tx that writes many rows of the same kind faster than one after the other. The rows of
// one call have different keys. ErrExists is as for the single row.
type Bulk interface {
	// AddLeases stores new leases; ErrExists also when there is one with the same id.
	AddLeases([]*Lease) error
	DeleteLeases(ids []string) error
	// RenewLeases gives leases that are there their deadlines; nothing else of them changes.
	RenewLeases([]*Lease) error
	AddTrials([]*Trial) error
	// AddJobs stores new jobs.
	AddJobs([]Job) error
	DeleteJobs(campaign string, indices []uint64) error
	PutFindings([]*Finding) error
}

// Follower is a third, optional interface of a Tx: that of a store whose results can be followed.
type Follower interface {
	// Results calls f for the trials that count with ids greater than after, lowest id first, until f returns an error, which it
	// returns. last is the greatest id of all trials, 0 without any.
	Results(after uint64, f func(rates.Result) error) (last uint64, err error)
}

// LogOf reads a log from a store whose results can be followed.
func LogOf(tx Follower) (*rates.Log, error) {
	var l rates.Logger
	if _, err := tx.Results(0, l.Add); err != nil {
		return nil, err
	}
	return l.Log(), nil
}

// ReproductionPrefix begins the ids of reproductions and of their campaigns of probes, and of no other campaigns.
const ReproductionPrefix = "R"

// RetestPrefix begins the ids of the campaigns whose probes are tries of reproducers on a new build. As those of reproductions they
// do not count for rates.
const RetestPrefix = ReproductionPrefix + "T"

// Campaign is a submitted campaign with its progress.
type Campaign struct {
	ID string
	// Owner is the name of the caller who submitted it; empty in campaigns of older versions.
	Owner      string
	Submission *misstepv1.SubmitCampaignRequest
	State      misstepv1.CampaignState
	Submitted  time.Time
	// Ended is zero while the campaign runs.
	Ended time.Time
	// Probes is true for the campaign of the reproduction with the same id. Its trials are put into the queue with their recipes,
	// not expanded.
	Probes bool
	// Next is the index of the next trial to be made.
	Next uint64
	// Turn orders the campaigns of an owner that are equal otherwise, and OwnerTurn the owners, see package fair. The lowest is
	// served first.
	Turn, OwnerTurn uint64
	// StrategyState is the state of the campaign's strategy between two results (see package steer); nil when it has none.
	StrategyState []byte
	// Tally sums up the finished trials: outcomes, failed, cancelled, retries, checks, signals and finding_ids; nothing else is
	// set.
	Tally *misstepv1.CampaignStatus
}

// Job is one trial of a campaign before it has a result.
type Job struct {
	// Recipe of the trial. Older versions stored none for a campaign's trial; there it follows from the index.
	Recipe   *misstepv1.Recipe
	Campaign string
	// Index of the trial in its campaign's expansion.
	Index uint64
	// Failures of the infrastructure so far.
	Failures uint32
	// Lost leases so far.
	Lost uint32
	// NotBefore is the time from which it may be leased again.
	NotBefore time.Time
	// Needs is the capability that a runner needs for it, as recipe.Capability names it; empty when any runner will do, and in jobs
	// of older versions.
	Needs string
}

// ReadyFilter selects waiting jobs that may be leased now.
type ReadyFilter struct {
	Campaign string
	// Capabilities of the runner that asks: jobs match that need one of them, or none.
	Capabilities []string
	// At is the time: jobs match whose NotBefore is not after it.
	At time.Time
	// From is the lowest index that matches.
	From uint64
	// Limit is the greatest number of jobs to return.
	Limit int
}

// Lease is a job held by a runner.
type Lease struct {
	ID     string
	Runner string
	Job    Job
	Recipe *misstepv1.Recipe
	// Granted is the time at which the lease was granted.
	Granted time.Time
	// Deadline after which the lease is lost.
	Deadline time.Time
}

// LeaseFilter selects leases; zero fields match everything.
type LeaseFilter struct {
	Campaign string
	Runner   string
	// Runners, unless empty, matches the leases of any of them.
	Runners []string
	// Owner matches the leases of all runners of an owner (see Holder).
	Owner string
	// ExpiredAt matches leases whose deadline is not after it.
	ExpiredAt time.Time
	// Limit, unless 0, is the greatest number of leases to return: those with the earliest deadlines.
	Limit int
}

// Earliest orders leases by deadline, then id, and cuts them off at the limit.
func (f LeaseFilter) Earliest(all []*Lease) []*Lease {
	slices.SortFunc(all, func(a, b *Lease) int { return cmp.Or(a.Deadline.Compare(b.Deadline), cmp.Compare(a.ID, b.ID)) })
	return all[:min(len(all), f.Limit)]
}

// Matches reports whether a lease matches the filter.
func (f LeaseFilter) Matches(l *Lease) bool {
	return (f.Campaign == "" || l.Job.Campaign == f.Campaign) && (f.Runner == "" || l.Runner == f.Runner) &&
		(len(f.Runners) == 0 || slices.Contains(f.Runners, l.Runner)) && (f.Owner == "" || f.Owner == Owner(l.Runner)) &&
		(f.ExpiredAt.IsZero() || !l.Deadline.After(f.ExpiredAt))
}

// Matches reports whether a job matches the filter.
func (f ReadyFilter) Matches(j Job) bool {
	return j.Campaign == f.Campaign && j.Index >= f.From && !j.NotBefore.After(f.At) &&
		(j.Needs == "" || slices.Contains(f.Capabilities, j.Needs))
}

// Trial is the result of one job.
type Trial struct {
	ID       uint64
	Campaign string
	Index    uint64
	Recipe   *misstepv1.Recipe
	// Outcome, or nil when Failure is set.
	Outcome *misstepv1.Outcome
	// Encoded, unless nil, is Outcome in its binary form, for AddTrial: who encodes it before the transaction holds up no other.
	// Lists have none.
	Encoded    []byte
	Failure    *misstepv1.InfrastructureFailure
	FindingIDs []string
	Ended      time.Time
}

// Finding is a finding without its rates.
type Finding struct {
	// Proto has no rates; its id is the key.
	Proto *misstepv1.Finding
	// Weight is the number of frames of the example's stacks. An example with a smaller weight replaces it.
	Weight int
}

// Counts reports whether the trial proved something and so counts for rates: it is not void, or showed a finding despite being
// void.
func (t *Trial) Counts() bool {
	return t.Outcome != nil && (t.Outcome.GetKind() != misstepv1.OutcomeKind_OUTCOME_KIND_VOID || len(t.FindingIDs) > 0)
}
