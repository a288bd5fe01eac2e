package queue

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"misstep/coordinator/store"
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

// Grant leases up to n trials to a runner. Campaigns share runners fairly: the one with the fewest running trials is next, among
// equals the one served longest ago. Within a campaign, trials that wait for another attempt come first. Trials that need a
// capability that the runner lacks wait for another runner.
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
	slices.Reverse(campaigns) // oldest first, so that the stable sort below keeps equals in the order of submission
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
