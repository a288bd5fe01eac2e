package queue

import (
	"time"

	"misstep/coordinator/store"
	"misstep/recipe"
)

// Waiting returns how many trials of a campaign are still to come, of which jobs are in the queue: trials not made yet are included
// when the budget bounds their number. Once the campaign's time is over, nothing waits.
func Waiting(c *store.Campaign, jobs uint64, now time.Time) uint64 {
	if timeIsOver(c, now) {
		return 0
	}
	if planned := c.Submission.GetCampaign().GetBudget().GetTrials(); planned > c.Next {
		jobs += planned - c.Next
	}
	return jobs
}

// Unplaced counts the waiting trials of a campaign that need a capability which no runner has, by capability. capable reports
// whether a runner has one.
func (q *Queue) Unplaced(c *store.Campaign, jobs []store.Job, capable func(recipe.Capability) bool) (map[string]uint64, error) {
	var unplaced map[string]uint64
	source := q.sources(c)
	for _, j := range jobs {
		r, err := recipeOf(source, j)
		if err != nil {
			return nil, err
		}
		if need := capabilityNeeded(r); need != recipe.NoCapability && !capable(need) {
			if unplaced == nil {
				unplaced = map[string]uint64{}
			}
			unplaced[string(need)]++
		}
	}
	return unplaced, nil
}
