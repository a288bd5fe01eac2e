package queue

import (
	"maps"
	"slices"
	"time"

	"misstep/coordinator/access"
	"misstep/coordinator/queue/fair"
	"misstep/coordinator/queue/quota"
	"misstep/coordinator/store"
	"misstep/coordinator/store/scoped"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

// Runner describes a runner that asks for work.
type Runner struct {
	ID          string
	AgentDigest string
	// Capabilities, as recipe.Capability names them.
	Capabilities []string
}

// Grant leases up to n trials to a runner. People share runners fairly, and each person's campaigns theirs, see package fair.
// Within a campaign, trials that wait for another attempt come first. Trials that need a capability that the runner lacks wait for
// another runner.
//
// Whoever reached a quota is passed over.
func (q *Queue) Grant(tx store.Tx, r Runner, n uint32, quotas *quota.Table, now time.Time) ([]*store.Lease, error) {
	if n == 0 {
		return nil, nil
	}
	campaigns, claims, err := claimants(tx)
	if err != nil {
		return nil, err
	}
	without := make([]bool, len(campaigns)) // of trials for this runner now
	for i, c := range campaigns {
		agent := c.Submission.GetAgentDigest()
		without[i] = timeIsOver(c, now) || agent != "" && agent != r.AgentDigest
	}
	used, err := meter(tx, quotas, campaigns, func(i int) uint64 { return claims[i].Running }, now)
	if err != nil {
		return nil, err
	}
	round := fair.NewRound(claims)
	changed := map[string]*store.Campaign{}
	var granted []*store.Lease
	for uint32(len(granted)) < n {
		i := round.Next(func(i int) bool { return !without[i] && used.May(i) })
		if i < 0 {
			break
		}
		c := campaigns[i]
		before := c.Next
		l, err := q.next(tx, c, r, now)
		if err != nil {
			return nil, err
		}
		if c.Next != before {
			changed[c.ID] = c
		}
		if l == nil {
			without[i] = true
			continue
		}
		granted = append(granted, l)
		round.Served(i)
		used.Served(i)
		c.Turn, c.OwnerTurn = claims[i].Turn, claims[i].OwnerTurn
		changed[c.ID] = c
	}
	for _, id := range slices.Sorted(maps.Keys(changed)) {
		if err := tx.PutCampaign(changed[id]); err != nil {
			return nil, err
		}
	}
	return granted, nil
}

// claimants returns the running campaigns, oldest first, with what they claim of the runners.
func claimants(tx store.Tx) ([]*store.Campaign, []fair.Claim, error) {
	all, err := tx.Campaigns(true)
	if err != nil {
		return nil, nil, err
	}
	slices.Reverse(all)
	claims := make([]fair.Claim, len(all))
	for i, c := range all {
		running, err := tx.CountLeases(c.ID)
		if err != nil {
			return nil, nil, err
		}
		spec := c.Submission.GetCampaign()
		claims[i] = fair.Claim{
			Owner: access.PersonOf(c.Owner), Weight: fair.Weight(spec.GetPriority(), spec.GetShare()), Running: running,
			Turn: c.Turn, OwnerTurn: c.OwnerTurn,
		}
	}
	return all, claims, nil
}

// Begin stores a new campaign, whose first turn comes after those of the campaigns that run.
func Begin(tx store.Tx, c *store.Campaign) error {
	_, claims, err := claimants(scoped.Whole(tx))
	if err != nil {
		return err
	}
	c.Turn, c.OwnerTurn = fair.Begin(claims, access.PersonOf(c.Owner))
	return tx.PutCampaign(c)
}

// maxPassedOver bounds the trials of a campaign that wait at once because the runners that asked could not run them.
const maxPassedOver = 512

// next leases one trial of c, or returns nil when it has none to lease now. It changes c without storing it.
func (q *Queue) next(tx store.Tx, c *store.Campaign, r Runner, now time.Time) (*store.Lease, error) {
	source := q.sources(c)
	if l, err := q.nextWaiting(tx, c, source, r, now); l != nil || err != nil {
		return l, err
	}
	if allTrialsMade(c) {
		return nil, nil
	}
	waiting, err := tx.CountJobs(c.ID)
	if err != nil {
		return nil, err
	}
	for ; !allTrialsMade(c); waiting++ {
		recipe, err := source.Recipe(c.Next)
		if recipe == nil || err != nil {
			return nil, err
		}
		j := store.Job{Campaign: c.ID, Index: c.Next}
		if r.canRun(recipe) {
			c.Next++
			return q.lease(tx, j, recipe, r, now)
		}
		if waiting >= maxPassedOver {
			return nil, nil
		}
		c.Next++
		j.NotBefore, j.Recipe, j.Needs = now, recipe, Needs(recipe)
		if err := tx.PutJob(j); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// nextWaiting leases the first waiting trial of c that the runner can run, or returns nil when there is none.
func (q *Queue) nextWaiting(tx store.Tx, c *store.Campaign, source Source, r Runner, now time.Time) (*store.Lease, error) {
	f := store.ReadyFilter{Campaign: c.ID, Capabilities: r.Capabilities, At: now, Limit: 1}
	for {
		jobs, err := tx.ReadyJobs(f)
		if len(jobs) == 0 || err != nil {
			return nil, err
		}
		j := jobs[0]
		recipe, err := recipeOf(source, j)
		if err != nil {
			return nil, err
		}
		if r.canRun(recipe) {
			if err := tx.DeleteJob(c.ID, j.Index); err != nil {
				return nil, err
			}
			return q.lease(tx, j, recipe, r, now)
		}
		f.From = j.Index + 1 // a job of an older version
	}
}

func (q *Queue) lease(tx store.Tx, j store.Job, recipe *misstepv1.Recipe, r Runner, now time.Time) (*store.Lease, error) {
	j.NotBefore, j.Recipe, j.Needs = time.Time{}, nil, ""
	l := &store.Lease{ID: q.newID(), Runner: r.ID, Job: j, Recipe: recipe, Granted: now, Deadline: now.Add(q.policy.LeaseTime)}
	return l, tx.PutLease(l)
}

// canRun reports whether the runner has what a recipe needs.
func (r Runner) canRun(recipe *misstepv1.Recipe) bool {
	return capabilityNeeded(recipe).MetBy(r.Capabilities)
}

// Needs returns the capability of a runner that a recipe needs, for a job; empty for none.
func Needs(r *misstepv1.Recipe) string { return string(capabilityNeeded(r)) }

// capabilityNeeded returns the capability of a runner that a recipe needs.
func capabilityNeeded(r *misstepv1.Recipe) recipe.Capability {
	return recipe.NeededCapability(r.GetExecutor(), r.GetPerturbation())
}
