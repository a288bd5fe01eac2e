package storetest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

// stored is the number of results in the store for the benchmarks of reading.
const stored = 1000

// Benchmark measures the most frequent operations of a coordinator: an idle call of a runner, a trial from its lease to its result,
// and what a page reads. open gives a new empty store, and the benchmark closes it.
func Benchmark(b *testing.B, open func(b *testing.B) store.Store) {
	for _, c := range []struct {
		name string
		run  func(*testing.B, store.Store)
	}{
		{"update that writes nothing", emptyUpdate},
		{"trial", oneTrial},
		{fmt.Sprintf("counts of %d trials", stored), readCounts},
		{"page of 200 trials", readTrials},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := open(b)
			defer func() { require.NoError(b, s.Close()) }()
			c.run(b, s)
		})
	}
}

func emptyUpdate(b *testing.B, s store.Store) {
	for b.Loop() {
		require.NoError(b, s.Update(b.Context(), func(tx store.Tx) error {
			_, err := tx.Campaigns(true)
			return err
		}))
	}
}

// lifeOfTrial leases a trial in one transaction and records its result in the next.
func lifeOfTrial(b *testing.B, s store.Store, index uint64) {
	c := campaign("C1", 0)
	c.Next = index + 1
	l := lease(fmt.Sprintf("L%d", index), "r1", c.ID, index, t0)
	require.NoError(b, s.Update(b.Context(), func(tx store.Tx) error {
		if err := tx.PutLease(l); err != nil {
			return err
		}
		return tx.PutCampaign(c)
	}))
	require.NoError(b, s.Update(b.Context(), func(tx store.Tx) error {
		if err := tx.AddTrial(&store.Trial{
			Campaign: c.ID, Index: index, Recipe: l.Recipe, Ended: t0,
			Outcome: &misstepv1.Outcome{Kind: misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN},
		}); err != nil {
			return err
		}
		if err := tx.DeleteLease(l.ID); err != nil {
			return err
		}
		return tx.PutCampaign(c)
	}))
}

func oneTrial(b *testing.B, s store.Store) {
	for index := uint64(0); b.Loop(); index++ {
		lifeOfTrial(b, s, index)
	}
}

func readCounts(b *testing.B, s store.Store) {
	read(b, s, func(tx store.Tx) error {
		_, err := tx.Counts()
		return err
	})
}

func readTrials(b *testing.B, s store.Store) {
	read(b, s, func(tx store.Tx) error {
		_, err := tx.Trials("C1", 0, 200)
		return err
	})
}

func read(b *testing.B, s store.Store, f func(store.Tx) error) {
	require.NoError(b, s.Update(b.Context(), func(tx store.Tx) error {
		for index := range uint64(stored) {
			if err := tx.AddTrial(&store.Trial{
				Campaign: "C1", Index: index, Recipe: &misstepv1.Recipe{Seed: index, FlagSet: "f"}, Ended: t0,
				Outcome: &misstepv1.Outcome{Kind: misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN},
			}); err != nil {
				return err
			}
		}
		return nil
	}))
	for b.Loop() {
		require.NoError(b, s.View(b.Context(), f))
	}
}
