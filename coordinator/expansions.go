package coordinator

import (
	"sync"

	"misstep/coordinator/campaign"
	"misstep/coordinator/store"
)

// maxExpansions bounds the campaigns whose expansions are kept.
const maxExpansions = 256

// expansions keeps the expansions of campaigns by id: of a submission only the budget changes, which no recipe depends on. The zero
// value is ready; it is safe for concurrent use.
type expansions struct {
	mu   sync.Mutex
	byID map[string]*campaign.Expansion
}

func (e *expansions) of(c *store.Campaign) (*campaign.Expansion, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if known := e.byID[c.ID]; known != nil {
		return known, nil
	}
	made, err := campaign.NewExpansion(c.Submission)
	if err != nil {
		return nil, err
	}
	if e.byID == nil || len(e.byID) >= maxExpansions {
		e.byID = map[string]*campaign.Expansion{}
	}
	e.byID[c.ID] = made
	return made, nil
}
