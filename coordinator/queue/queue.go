// Package queue decides which trial a runner gets next and what becomes of it: it makes trials of running campaigns as
// runners ask for them, leases them, takes back what is lost, retries what the infrastructure spoilt, and ends campaigns.
//
// Every function works inside a transaction of the store and takes the time as a parameter, so a decision is made from one
// state and is either stored whole or not at all. A trial is in one of four places at any time: not made yet (its index is at
// or above the campaign's Next), waiting for another attempt, leased, or recorded.
package queue

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"misstep/coordinator/campaign"
	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

// Policy holds the durations and bounds of a queue.
type Policy struct {
	// LeaseTime that a runner may be silent before it loses its leases.
	LeaseTime time.Duration
	// Grace that running trials have when their campaign's time is over; then they are cancelled.
	Grace time.Duration
	// MaxFailures of the infrastructure after which a trial is given up.
	MaxFailures uint32
	// MaxLost leases after which a trial is given up. It is more than MaxFailures because a lost lease says nothing about the
	// trial unless it happens again and again: then the trial takes its runner's machine down.
	MaxLost uint32
	// Backoff before the second attempt; each further one waits four times as long.
	Backoff time.Duration
}

// DefaultPolicy is what a coordinator uses when nothing else is said.
func DefaultPolicy() Policy {
	return Policy{LeaseTime: time.Minute, Grace: 30 * time.Second, MaxFailures: 3, MaxLost: 10, Backoff: 2 * time.Second}
}

// Queue applies a policy.
type Queue struct {
	policy Policy
	newID  func() string
	probed func(tx store.Tx, t *store.Trial, now time.Time) error
}

// New returns a queue whose lease ids come from newID, which must never give an id twice. probed is told, last in the transaction, of
// every result of a campaign of probes; it may put further jobs.
func New(p Policy, newID func() string, probed func(tx store.Tx, t *store.Trial, now time.Time) error) *Queue {
	return &Queue{policy: p, newID: newID, probed: probed}
}

// Recover gives every lease a full lease time from now. A coordinator calls it once after its start: runners could not renew
// while it was away, and what they hold is still good.
func (q *Queue) Recover(tx store.Tx, now time.Time) error {
	leases, err := tx.Leases(store.LeaseFilter{})
	if err != nil {
		return err
	}
	for _, l := range leases {
		if deadline := now.Add(q.policy.LeaseTime); l.Deadline.Before(deadline) {
			l.Deadline = deadline
			if err := tx.PutLease(l); err != nil {
				return err
			}
		}
	}
	return nil
}

// Advance does what the passing of time asks for: leases past their deadline are lost, trials that outlived their campaign's
// time by the grace are cancelled, and campaigns with nothing left to do are done. Call it first in every transaction.
func (q *Queue) Advance(tx store.Tx, now time.Time) error {
	lost, err := tx.Leases(store.LeaseFilter{ExpiredAt: now})
	if err != nil {
		return err
	}
	for _, l := range lost {
		if err := q.lose(tx, l, now); err != nil {
			return fmt.Errorf("take back lease %s: %w", l.ID, err)
		}
	}
	running, err := tx.Campaigns(true)
	if err != nil {
		return err
	}
	for _, c := range running {
		if err := q.settle(tx, c, now); err != nil {
			return fmt.Errorf("see how far campaign %s is: %w", c.ID, err)
		}
	}
	return nil
}

func (q *Queue) lose(tx store.Tx, l *store.Lease, now time.Time) error {
	if err := tx.DeleteLease(l.ID); err != nil {
		return err
	}
	c, err := tx.Campaign(l.Job.Campaign)
	if err != nil {
		return err
	}
	job := l.Job
	job.Lost++
	if job.Lost >= q.policy.MaxLost {
		return q.giveUp(tx, c, l, now, &misstepv1.InfrastructureFailure{
			Message: fmt.Sprintf("%d runners were lost while they held this trial, the last one was %s", job.Lost, l.Runner),
		})
	}
	if timeIsOver(c, now) {
		c.Tally.Cancelled++
		return tx.PutCampaign(c)
	}
	c.Tally.Retries++
	job.NotBefore = now
	return errors.Join(putBack(tx, c, l, job), tx.PutCampaign(c))
}

// settle ends campaign c when its budget is spent and nothing of it runs.
func (q *Queue) settle(tx store.Tx, c *store.Campaign, now time.Time) error {
	over := timeIsOver(c, now)
	if !over && !made(c) {
		return nil
	}
	jobs, err := tx.Jobs(c.ID)
	if err != nil {
		return err
	}
	if over {
		for _, j := range jobs {
			c.Tally.Cancelled++
			if err := tx.DeleteJob(c.ID, j.Index); err != nil {
				return err
			}
		}
		if end := campaignEnd(c).Add(q.policy.Grace); !now.Before(end) {
			n, err := deleteLeases(tx, c.ID)
			if err != nil {
				return err
			}
			c.Tally.Cancelled += n
		}
		if len(jobs) > 0 {
			if err := tx.PutCampaign(c); err != nil {
				return err
			}
		}
		jobs = nil
	}
	leases, err := tx.CountLeases(c.ID)
	if err != nil || leases > 0 || len(jobs) > 0 {
		return err
	}
	c.State, c.Ended = misstepv1.CampaignState_CAMPAIGN_STATE_DONE, now
	return tx.PutCampaign(c)
}

func deleteLeases(tx store.Tx, campaign string) (n uint64, err error) {
	leases, err := tx.Leases(store.LeaseFilter{Campaign: campaign})
	if err != nil {
		return 0, err
	}
	for _, l := range leases {
		if err := tx.DeleteLease(l.ID); err != nil {
			return 0, err
		}
	}
	return uint64(len(leases)), nil
}

// Discard takes all trials of a campaign that wait or run away from it.
func (q *Queue) Discard(tx store.Tx, campaign string) error {
	jobs, err := tx.Jobs(campaign)
	if err != nil {
		return err
	}
	for _, j := range jobs {
		if err := tx.DeleteJob(campaign, j.Index); err != nil {
			return err
		}
	}
	_, err = deleteLeases(tx, campaign)
	return err
}

// Stop cancels what a campaign has queued and running. Stopping one that ended does nothing.
func (q *Queue) Stop(tx store.Tx, c *store.Campaign, now time.Time) error {
	if c.State != misstepv1.CampaignState_CAMPAIGN_STATE_RUNNING {
		return nil
	}
	jobs, err := tx.Jobs(c.ID)
	if err != nil {
		return err
	}
	for _, j := range jobs {
		if err := tx.DeleteJob(c.ID, j.Index); err != nil {
			return err
		}
	}
	n, err := deleteLeases(tx, c.ID)
	if err != nil {
		return err
	}
	c.Tally.Cancelled += n + uint64(len(jobs))
	c.State, c.Ended = misstepv1.CampaignState_CAMPAIGN_STATE_STOPPED, now
	return tx.PutCampaign(c)
}

// Renew moves the deadline of a lease whose runner called. It writes only when a third of the lease time has gone, so that
// a fleet that calls often does not make the store write as often.
func (q *Queue) Renew(tx store.Tx, l *store.Lease, now time.Time) error {
	if l.Deadline.Sub(now) > q.policy.LeaseTime*2/3 {
		return nil
	}
	l.Deadline = now.Add(q.policy.LeaseTime)
	return tx.PutLease(l)
}

// Runner is what the queue needs to know of one that asks for work.
type Runner struct {
	ID          string
	AgentDigest string
	// Capabilities, as campaign.Need names them.
	Capabilities []string
}

// Grant leases up to n trials to a runner. Campaigns share: the one with the fewest running trials is next, among equals the
// one served longest ago. Within a campaign, trials that wait for another attempt go first. Trials that take what the runner lacks wait for
// another runner.
func (q *Queue) Grant(tx store.Tx, r Runner, n uint32, now time.Time) ([]*store.Lease, error) {
	if n == 0 {
		return nil, nil
	}
	campaigns, err := tx.Campaigns(true)
	if err != nil {
		return nil, err
	}
	campaigns = slices.DeleteFunc(campaigns, func(c *store.Campaign) bool {
		agent := c.Submission.GetAgentDigest()
		return timeIsOver(c, now) || agent != "" && agent != r.AgentDigest
	})
	running := make(map[string]uint64, len(campaigns))
	var turn uint64
	for _, c := range campaigns {
		if running[c.ID], err = tx.CountLeases(c.ID); err != nil {
			return nil, err
		}
		turn = max(turn, c.Turn)
	}
	slices.Reverse(campaigns) // oldest first, so that the sort below leaves equals in the order they came
	changed := map[string]*store.Campaign{}
	var granted []*store.Lease
	for uint32(len(granted)) < n && len(campaigns) > 0 {
		slices.SortStableFunc(campaigns, func(a, b *store.Campaign) int {
			return cmp.Or(cmp.Compare(running[a.ID], running[b.ID]), cmp.Compare(a.Turn, b.Turn))
		})
		c := campaigns[0]
		before := c.Next
		l, err := q.next(tx, c, r, now)
		if err != nil {
			return nil, err
		}
		if c.Next != before {
			changed[c.ID] = c
		}
		if l == nil {
			campaigns = campaigns[1:]
			continue
		}
		granted = append(granted, l)
		running[c.ID]++
		turn++
		c.Turn = turn
		changed[c.ID] = c
	}
	for _, id := range slices.Sorted(maps.Keys(changed)) {
		if err := tx.PutCampaign(changed[id]); err != nil {
			return nil, err
		}
	}
	return granted, nil
}

// maxPassed bounds the trials of a campaign that wait at once because the runners that asked could not run them.
const maxPassed = 512

// next leases one trial of c, or returns nil when it has none to give now. It changes c without storing it.
func (q *Queue) next(tx store.Tx, c *store.Campaign, r Runner, now time.Time) (*store.Lease, error) {
	jobs, err := tx.Jobs(c.ID)
	if err != nil {
		return nil, err
	}
	if len(jobs) == 0 && (c.Probes || made(c)) {
		return nil, nil
	}
	recipe, err := recipes(c)
	if err != nil {
		return nil, err
	}
	for _, j := range jobs {
		if !j.NotBefore.After(now) && able(r, recipe(j)) {
			if err := tx.DeleteJob(c.ID, j.Index); err != nil {
				return nil, err
			}
			return q.lease(tx, j, recipe(j), r, now)
		}
	}
	for passed := len(jobs); !c.Probes && !made(c); passed++ {
		j := store.Job{Campaign: c.ID, Index: c.Next}
		if able(r, recipe(j)) {
			c.Next++
			return q.lease(tx, j, recipe(j), r, now)
		}
		if passed >= maxPassed {
			break
		}
		c.Next++
		j.NotBefore = now
		if err := tx.PutJob(j); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// recipes returns what gives a job of c its recipe.
func recipes(c *store.Campaign) (func(store.Job) *misstepv1.Recipe, error) {
	if c.Probes {
		return func(j store.Job) *misstepv1.Recipe { return j.Recipe }, nil
	}
	e, err := campaign.NewExpansion(c.Submission)
	if err != nil {
		return nil, fmt.Errorf("expand campaign %s: %w", c.ID, err)
	}
	return func(j store.Job) *misstepv1.Recipe { return e.Recipe(j.Index) }, nil
}

func (q *Queue) lease(tx store.Tx, j store.Job, recipe *misstepv1.Recipe, r Runner, now time.Time) (*store.Lease, error) {
	j.NotBefore, j.Recipe = time.Time{}, nil
	l := &store.Lease{ID: q.newID(), Runner: r.ID, Job: j, Recipe: recipe, Granted: now, Deadline: now.Add(q.policy.LeaseTime)}
	return l, tx.PutLease(l)
}

func able(r Runner, recipe *misstepv1.Recipe) bool {
	need := need(recipe)
	return need == "" || slices.Contains(r.Capabilities, need)
}

func need(recipe *misstepv1.Recipe) string {
	return campaign.Need(recipe.GetExecutor(), recipe.GetPerturbation())
}

// Unplaced counts the waiting trials of a campaign that take what none of the runners has, by what they take. capable says whether one has.
func Unplaced(tx store.Tx, c *store.Campaign, capable func(need string) bool) (map[string]uint64, error) {
	jobs, err := tx.Jobs(c.ID)
	if err != nil || len(jobs) == 0 {
		return nil, err
	}
	recipe, err := recipes(c)
	if err != nil {
		return nil, err
	}
	var unplaced map[string]uint64
	for _, j := range jobs {
		if need := need(recipe(j)); need != "" && !capable(need) {
			if unplaced == nil {
				unplaced = map[string]uint64{}
			}
			unplaced[need]++
		}
	}
	return unplaced, nil
}

// Complete records the outcome of a lease and frees it. The caller made sure that the lease is live and has filled in
// findingIDs.
func (q *Queue) Complete(tx store.Tx, l *store.Lease, o *misstepv1.Outcome, findingIDs []string, now time.Time) error {
	c, err := tx.Campaign(l.Job.Campaign)
	if err != nil {
		return err
	}
	t := &store.Trial{Campaign: c.ID, Index: l.Job.Index, Recipe: l.Recipe, Outcome: o, FindingIDs: findingIDs, Ended: now}
	if _, err := tx.AddTrial(t); err != nil {
		return err
	}
	addOutcome(c.Tally, o, findingIDs)
	if err := errors.Join(tx.DeleteLease(l.ID), tx.PutCampaign(c)); err != nil {
		return err
	}
	return q.tell(tx, c, t, now)
}

// Fail takes note that the infrastructure failed a lease: the trial waits for another attempt, or is given up when it had its
// attempts or the failure is permanent. A trial that was only interrupted goes back without having used one.
func (q *Queue) Fail(tx store.Tx, l *store.Lease, f *misstepv1.InfrastructureFailure, now time.Time) error {
	c, err := tx.Campaign(l.Job.Campaign)
	if err != nil {
		return err
	}
	job := l.Job
	if !f.GetInterrupted() {
		job.Failures++
	}
	switch {
	case f.GetInterrupted() && timeIsOver(c, now):
		c.Tally.Cancelled++
		return errors.Join(tx.DeleteLease(l.ID), tx.PutCampaign(c))
	case f.GetInterrupted():
		job.NotBefore = now
		return errors.Join(tx.DeleteLease(l.ID), putBack(tx, c, l, job))
	case f.GetPermanent() || job.Failures >= q.policy.MaxFailures || timeIsOver(c, now):
		return errors.Join(tx.DeleteLease(l.ID), q.giveUp(tx, c, l, now, f))
	}
	c.Tally.Retries++
	// Full disks and the like last longer than a trial: without a wait they would eat all attempts at once.
	job.NotBefore = now.Add(q.policy.Backoff << (2 * (job.Failures - 1)))
	return errors.Join(tx.DeleteLease(l.ID), putBack(tx, c, l, job), tx.PutCampaign(c))
}

// putBack lets a lease's trial wait for another attempt.
func putBack(tx store.Tx, c *store.Campaign, l *store.Lease, job store.Job) error {
	if c.Probes {
		job.Recipe = l.Recipe
	}
	return tx.PutJob(job)
}

func (q *Queue) giveUp(tx store.Tx, c *store.Campaign, l *store.Lease, now time.Time, f *misstepv1.InfrastructureFailure) error {
	t := &store.Trial{Campaign: c.ID, Index: l.Job.Index, Recipe: l.Recipe, Failure: f, Ended: now}
	if _, err := tx.AddTrial(t); err != nil {
		return err
	}
	c.Tally.Failed++
	return errors.Join(tx.PutCampaign(c), q.tell(tx, c, t, now))
}

// tell probed of a result, when everything else of it is stored.
func (q *Queue) tell(tx store.Tx, c *store.Campaign, t *store.Trial, now time.Time) error {
	if !c.Probes {
		return nil
	}
	return q.probed(tx, t, now)
}

// Waiting counts the trials of a campaign that no runner holds and that are still to come, those not made yet included when
// the number of trials is bounded. Once its time is over nothing waits.
func Waiting(tx store.Tx, c *store.Campaign, now time.Time) (uint64, error) {
	if timeIsOver(c, now) {
		return 0, nil
	}
	jobs, err := tx.Jobs(c.ID)
	n := uint64(len(jobs))
	if planned := c.Submission.GetCampaign().GetBudget().GetTrials(); planned > c.Next {
		n += planned - c.Next
	}
	return n, err
}

// made says that every trial of c's budget has been made.
func made(c *store.Campaign) bool {
	planned := c.Submission.GetCampaign().GetBudget().GetTrials()
	return planned > 0 && c.Next >= planned
}

func campaignEnd(c *store.Campaign) time.Time {
	return c.Submitted.Add(c.Submission.GetCampaign().GetBudget().GetTime().AsDuration())
}

func timeIsOver(c *store.Campaign, now time.Time) bool {
	if c.State != misstepv1.CampaignState_CAMPAIGN_STATE_RUNNING {
		return true
	}
	b := c.Submission.GetCampaign().GetBudget().GetTime()
	return b.AsDuration() > 0 && !now.Before(campaignEnd(c))
}
