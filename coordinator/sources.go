package coordinator

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"misstep/coordinator/campaign"
	"misstep/coordinator/queue"
	"misstep/coordinator/steer"
	"misstep/coordinator/store"
	"misstep/coordinator/store/scoped"
	misstepv1 "misstep/proto/misstep/v1"
)

// source returns the source of a campaign's trials. Only here are submitted campaigns distinguished from those of reproductions.
func (s *Server) source(c *store.Campaign) queue.Source {
	if c.Probes {
		return probes{s}
	}
	return &product{campaign: c, expansions: &s.expansions, newStrategy: steer.New}
}

// probes is the source of a reproduction, or of the retests of a build, which put their jobs themselves, with their recipes, as
// results come in.
type probes struct{ server *Server }

// Recipe implements queue.Source.
func (probes) Recipe(uint64) (*misstepv1.Recipe, error) { return nil, nil }

// Recorded implements queue.Source.
func (p probes) Recorded(tx store.Tx, t *store.Trial, now time.Time) error {
	in, campaign := scoped.At(tx, t.Campaign)
	if campaign != t.Campaign {
		other := *t
		other.Campaign = campaign
		t = &other
	}
	tx = in
	if strings.HasPrefix(t.Campaign, store.RetestPrefix) {
		return p.server.recordRetest(tx, t, now)
	}
	return p.server.recordProbe(tx, t, now)
}

// product is the source of a submitted campaign: the product of its dimensions, in the order that its strategy chooses.
type product struct {
	campaign    *store.Campaign
	expansions  *expansions
	newStrategy func(misstepv1.Strategy, steer.Config) (steer.Strategy, error)
	// expansion and strategy are set by prepare.
	expansion *campaign.Expansion
	strategy  steer.Strategy
}

func (p *product) prepare() (err error) {
	if p.strategy != nil {
		return nil
	}
	if p.expansion, err = p.expansions.of(p.campaign); err != nil {
		return fmt.Errorf("expand campaign %s: %w", p.campaign.ID, err)
	}
	spec := p.campaign.Submission.GetCampaign()
	p.strategy, err = p.newStrategy(spec.GetStrategy(), steer.Config{
		Seed: spec.GetSeed(), Size: p.expansion.Size(), State: p.campaign.StrategyState,
	})
	if err != nil {
		return fmt.Errorf("steer campaign %s: %w", p.campaign.ID, err)
	}
	return nil
}

// Recipe implements queue.Source.
func (p *product) Recipe(index uint64) (*misstepv1.Recipe, error) {
	if err := p.prepare(); err != nil {
		return nil, err
	}
	return p.expansion.Recipe(p.strategy.Choose(index), index), nil
}

// Recorded implements queue.Source. It stores the strategy's state after the result with the campaign.
func (p *product) Recorded(tx store.Tx, t *store.Trial, _ time.Time) error {
	if err := p.prepare(); err != nil {
		return err
	}
	p.strategy.Learn(steer.Result{Index: t.Index, Recipe: t.Recipe, Outcome: t.Outcome, FindingIDs: t.FindingIDs})
	state, err := p.strategy.State()
	if err != nil {
		return fmt.Errorf("write the strategy state of campaign %s: %w", p.campaign.ID, err)
	}
	if bytes.Equal(state, p.campaign.StrategyState) {
		return nil
	}
	p.campaign.StrategyState = state
	return tx.PutCampaign(p.campaign)
}
