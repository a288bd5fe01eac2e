// Package store says what a coordinator must not forget: campaigns, trials that wait for another attempt, leases, results
// and findings, all changed in transactions.
//
// Rules of the queue and of triage live above this package, once; a store keeps rows and refuses a second result of the
// same trial. storetest holds the suite that every implementation passes; stores opens the one that a URL names.
package store

import (
	"context"
	"errors"
	"time"

	"misstep/coordinator/rates"
	misstepv1 "misstep/proto/misstep/v1"
)

// ErrNotFound is returned, wrapped, when a row that was asked for by its key is not there.
var ErrNotFound = errors.New("not found")

// ErrExists is returned, wrapped, when a row must be new and is not: above all a second result of one trial.
var ErrExists = errors.New("exists already")

// Store runs transactions. Update transactions are serial and durable once Update returns nil: a process killed right after
// it finds their rows again. When f returns an error nothing of the transaction remains and the error comes back as it is.
// View's transaction sees one state and refuses to write. The Tx is used by one goroutine and never after f returned; f
// must not start another transaction. Both are safe for concurrent use.
type Store interface {
	View(ctx context.Context, f func(Tx) error) error
	Update(ctx context.Context, f func(Tx) error) error
	// Close frees the store's resources; no transaction may be under way.
	Close() error
}

// Tx reads and writes rows. What goes in is copied and what comes out is the caller's own, so neither side sees the other's
// later changes. Times are kept to the nanosecond and come back in UTC. Put replaces a row of the same key; Delete of a row
// that is not there does nothing; lists are empty, never an error, when nothing matches.
type Tx interface {
	CampaignRows
	JobRows
	LeaseRows
	TrialRows
	FindingRows
	DecisionRows
	ReproductionRows
}

// CampaignRows are the campaigns by id.
type CampaignRows interface {
	PutCampaign(*Campaign) error
	// Campaign of that id; ErrNotFound.
	Campaign(id string) (*Campaign, error)
	// Campaigns newest first; only those in state running when runningOnly.
	Campaigns(runningOnly bool) ([]*Campaign, error)
}

// JobRows are the trials that wait: those that were tried, for another attempt, and those that a runner passed over, for one that
// can run them; by campaign and index.
type JobRows interface {
	PutJob(Job) error
	DeleteJob(campaign string, index uint64) error
	// Jobs of a campaign, lowest index first.
	Jobs(campaign string) ([]Job, error)
}

// LeaseRows are the live leases by id. There is at most one lease for each trial.
type LeaseRows interface {
	// PutLease; ErrExists when another lease holds the same trial.
	PutLease(*Lease) error
	DeleteLease(id string) error
	// Lease of that id; ErrNotFound.
	Lease(id string) (*Lease, error)
	// Leases that the filter lets pass, by time granted, then id.
	Leases(LeaseFilter) ([]*Lease, error)
	// CountLeases of a campaign.
	CountLeases(campaign string) (uint64, error)
}

// TrialRows are the results.
type TrialRows interface {
	// AddTrial records a result and returns its id, which grows with every call; t.ID is ignored. ErrExists when the trial (its
	// campaign and index) has one.
	AddTrial(t *Trial) (id uint64, err error)
	// Trials of a campaign with an id greater than after, lowest first, at most limit.
	Trials(campaign string, after uint64, limit int) ([]*Trial, error)
}

// FindingRows are the findings by id, with the counts that their rates are made of. Both counts are taken from the trials, so
// that a trial which shows two findings that turn out to be one counts once.
type FindingRows interface {
	PutFinding(*Finding) error
	// Finding of that id; ErrNotFound.
	Finding(id string) (*Finding, error)
	// Findings, most recently seen first, then by id.
	Findings() ([]*Finding, error)
	// Counts of the trials that count (see Trial.Counts) by combination, ordered by their fields.
	Counts() ([]rates.Count, error)
	// Hits are those of them that show at least one of the findings.
	Hits(findings ...string) ([]rates.Count, error)
}

// DecisionRows are the decisions of people on which findings are the same, in order.
type DecisionRows interface {
	// AddDecision appends one and returns its id, which grows with every call; d.Id is ignored.
	AddDecision(d *misstepv1.TriageDecision) (id uint64, err error)
	// PutDecision replaces the one of the same id; ErrNotFound.
	PutDecision(d *misstepv1.TriageDecision) error
	// Decisions, lowest id first.
	Decisions() ([]*misstepv1.TriageDecision, error)
}

// ReproductionRows are the reproductions by id.
type ReproductionRows interface {
	PutReproduction(*misstepv1.Reproduction) error
	// Reproduction of that id; ErrNotFound.
	Reproduction(id string) (*misstepv1.Reproduction, error)
	// Reproductions newest first, then by id; only those that run when runningOnly.
	Reproductions(runningOnly bool) ([]*misstepv1.Reproduction, error)
}

// ReproductionPrefix begins the ids of reproductions and of their campaigns of probes, and no other campaign's.
const ReproductionPrefix = "R"

// Campaign is a submitted campaign and how far it has come.
type Campaign struct {
	ID         string
	Submission *misstepv1.SubmitCampaignRequest
	State      misstepv1.CampaignState
	Submitted  time.Time
	// Ended is zero while the campaign runs.
	Ended time.Time
	// Probes: the campaign is a reproduction's of the same id. Its trials are put into the queue with their recipes; none is
	// expanded.
	Probes bool
	// Next is the index of the next trial to be made.
	Next uint64
	// Turn orders campaigns by their last grant; the lowest is served first.
	Turn uint64
	// StrategyState is what the campaign's strategy keeps between two results (see package steer); nil when it keeps nothing.
	StrategyState []byte
	// Tally sums what finished: outcomes, failed, cancelled, retries, checks, signals and finding_ids; nothing else is set.
	Tally *misstepv1.CampaignStatus
}

// Job is one trial of a campaign before it has a result.
type Job struct {
	// Recipe of the trial. Older versions stored none for a campaign's trial: there it follows from the index.
	Recipe   *misstepv1.Recipe
	Campaign string
	// Index of the trial in its campaign's expansion.
	Index uint64
	// Failures of the infrastructure so far.
	Failures uint32
	// Lost leases so far.
	Lost uint32
	// NotBefore is when it may be leased again.
	NotBefore time.Time
}

// Lease is a job held by a runner.
type Lease struct {
	ID     string
	Runner string
	Job    Job
	Recipe *misstepv1.Recipe
	// Granted at.
	Granted time.Time
	// Deadline after which the lease is lost.
	Deadline time.Time
}

// LeaseFilter chooses leases; zero fields let everything pass.
type LeaseFilter struct {
	Campaign string
	Runner   string
	// ExpiredAt lets only leases pass whose deadline is not after it.
	ExpiredAt time.Time
}

// Trial is the result of one job.
type Trial struct {
	ID       uint64
	Campaign string
	Index    uint64
	Recipe   *misstepv1.Recipe
	// Outcome, or nil when Failure is set.
	Outcome    *misstepv1.Outcome
	Failure    *misstepv1.InfrastructureFailure
	FindingIDs []string
	Ended      time.Time
}

// Finding is a finding without its rates.
type Finding struct {
	// Proto has no rates; its id is the key.
	Proto *misstepv1.Finding
	// Weight of the example: the frames of its stacks. A lighter one replaces it.
	Weight int
}

// Counts says that the trial proved something, so that rates are made of it: it is not void, or showed a finding in spite of
// being void.
func (t *Trial) Counts() bool {
	return t.Outcome != nil && (t.Outcome.GetKind() != misstepv1.OutcomeKind_OUTCOME_KIND_VOID || len(t.FindingIDs) > 0)
}
