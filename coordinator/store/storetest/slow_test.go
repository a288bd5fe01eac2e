package storetest_test

import (
	"context"
	"testing"
	"time"

	"misstep/coordinator/store"
	"misstep/coordinator/store/memory"
	"misstep/coordinator/store/storetest"
)

// slow is a store at the far end of a network: each transaction takes a round trip to begin and one to end, while it holds what
// it locks.
type slow struct {
	store.Store
	roundTrip time.Duration
}

func (s slow) delayed(ctx context.Context, f func(store.Tx) error) func(store.Tx) error {
	wait := func() error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(s.roundTrip):
			return nil
		}
	}
	return func(tx store.Tx) error {
		if err := wait(); err != nil {
			return err
		}
		if err := f(tx); err != nil {
			return err
		}
		return wait()
	}
}

func (s slow) View(ctx context.Context, f func(store.Tx) error) error {
	return s.Store.View(ctx, s.delayed(ctx, f))
}

func (s slow) Update(ctx context.Context, f func(store.Tx) error) error {
	return s.Store.Update(ctx, s.delayed(ctx, f))
}

// The suite itself does not depend on a fast store: with its knobs turned it passes, and in seconds, where a transaction takes
// as long as across a continent.
func TestSlowStore(t *testing.T) {
	storetest.Run(t, func(*testing.T) store.Store { return slow{memory.New(), 20 * time.Millisecond} },
		storetest.Options{Parallel: true, Updates: 2})
}
