// Package steer holds the strategies by which a campaign chooses which of its combinations to try next. (A perturbation's
// strategy, such as "delay", is something else: it decides how the threads of one trial are disturbed.)
//
// A campaign is a product of JDKs, workloads, flag sets and so on; package campaign numbers its combinations from 0 and turns a
// number into a recipe. A Strategy only chooses numbers. It is created for one transaction from its stored state, so that a
// coordinator that was killed resumes where it was.
//
// # Adding a steering strategy
//
//  1. Add a value to the enum Strategy in proto/misstep/v1/campaign.proto; campaign files may name it from then on.
//  2. Implement Strategy in a file of its own here, and add a line to strategies.
//  3. Test it without a store: call Learn, check Choose; New with the bytes of State must choose the same.
//
// A bandit keeps the hits and trials of each arm in its state and draws from its seed and the index; a strategy guided by coverage
// keeps what was covered. Neither needs a change in the queue or in the store.
package steer

import (
	"fmt"

	misstepv1 "misstep/proto/misstep/v1"
)

// Strategy chooses the combinations of one campaign. It is used by one goroutine.
type Strategy interface {
	// Choose returns the combination, in [0, Config.Size), that the trial of that index takes. It depends only on the Config, the
	// index and the results passed to Learn, and changes nothing: the queue asks again for a trial that no runner could run.
	Choose(index uint64) uint64
	// Learn receives the result of every trial of the campaign once, in the transaction that records it.
	Learn(Result)
	// State returns what New needs to continue from here; it is stored when it differs from the state that New received. Keep it
	// small, since it is written with each result that changes it. Nil means no state.
	State() ([]byte, error)
}

// Result is how a trial ended.
type Result struct {
	// Index of the trial.
	Index uint64
	// Recipe that was run.
	Recipe *misstepv1.Recipe
	// Outcome, nil when the trial was given up because the infrastructure failed.
	Outcome *misstepv1.Outcome
	// FindingIDs that the trial showed.
	FindingIDs []string
}

// Config is what a strategy is made from.
type Config struct {
	// Seed of the campaign; all randomness is drawn from it and from indices.
	Seed uint64
	// Size is the number of combinations, at least 1.
	Size uint64
	// State is what State returned last; nil at the start.
	State []byte
}

// strategies by their value in a campaign.
var strategies = map[misstepv1.Strategy]func(Config) (Strategy, error){
	misstepv1.Strategy_STRATEGY_UNSPECIFIED: newRoundRobin,
	misstepv1.Strategy_STRATEGY_ROUND_ROBIN: newRoundRobin,
	misstepv1.Strategy_STRATEGY_RANDOM:      newRandom,
}

// New returns the strategy that a campaign names. It fails for a strategy that this program does not know and for a state that it
// cannot read, for example after a downgrade.
func New(kind misstepv1.Strategy, c Config) (Strategy, error) {
	newStrategy, ok := strategies[kind]
	if !ok {
		return nil, fmt.Errorf("strategy %v is not known here: use the newer misstep that the campaign was submitted to", kind)
	}
	return newStrategy(c)
}

// stateless is the part of a strategy that learns nothing.
type stateless struct{}

func (stateless) Learn(Result)           {}
func (stateless) State() ([]byte, error) { return nil, nil }
