package retention

import (
	"context"
	"log/slog"
	"path/filepath"
	"time"

	"misstep/coordinator/store"
	"misstep/corpus"
	"misstep/corpus/index"
)

// Plan is what a coordinator removes by itself. The zero value removes nothing.
type Plan struct {
	Rules
	// Every is the time between two rounds; 0 for none.
	Every time.Duration
	// Grace is the time for which a blob is kept after somebody put it or asked for it.
	Grace time.Duration
}

// cacheName is the folder, in that of a coordinator, for what trials refer to. It may be deleted: a round makes it again.
const cacheName = "marks"

// Keeper applies a plan to a store with its blobs, which may be in use by others.
type Keeper struct {
	Plan   Plan
	Store  store.Store
	Blobs  Blobs
	Shared index.Index
	Clock  func() time.Time
	Logger *slog.Logger
	// Dir is the folder of the coordinator. A backup of it and a round that removes wait for each other.
	Dir string
	// Gentle makes it rest between the pages of trials, three times as long as it has read, so that calls have the processor.
	Gentle bool
	// Owned returns an error unless the blobs belong to the store; nil for blobs that can only be the store's.
	Owned func(context.Context) error
}

// Run makes rounds until ctx ends, the first one after Every. An error is logged, and the next round tries again.
func (k *Keeper) Run(ctx context.Context) {
	if k.Plan.Every <= 0 {
		return
	}
	ticker := time.NewTicker(k.Plan.Every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		start := k.Clock()
		aged, swept, err := k.Round(ctx, true)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			k.Logger.Error("retention failed", slog.Any("error", err))
		default:
			k.Logger.Info("retention", slog.Int("trials_aged", aged.Trials), slog.Int64("evidence_bytes", aged.Evidence),
				slog.Int("entries_aged", aged.Entries), slog.Int("blobs_kept", swept.Kept),
				slog.Int("blobs_young", swept.Spared), slog.Int("blobs_removed", swept.Removed),
				slog.Int64("bytes_removed", swept.Bytes), slog.Duration("took", k.Clock().Sub(start)))
		}
	}
}

// Round applies the rules to the trials, removes entries of the shared catalogue whose time is over, then blobs that nobody needs;
// without remove it only counts. The blobs of trials that would age are not among those that it counts.
func (k *Keeper) Round(ctx context.Context, remove bool) (Aged, corpus.Swept, error) {
	if k.Owned != nil {
		if err := k.Owned(ctx); err != nil {
			return Aged{}, corpus.Swept{}, err
		}
	}
	if remove && k.Dir != "" {
		unlock, err := Lock(ctx, k.Dir)
		if err != nil {
			return Aged{}, corpus.Swept{}, err
		}
		defer unlock()
	}
	aged, err := Age(ctx, k.Store, k.Plan.Rules, k.Clock(), remove)
	if err != nil {
		return aged, corpus.Swept{}, err
	}
	old := &oldEntries{now: k.Clock(), remove: remove}
	m := marking{old: old}
	if k.Gentle {
		m.rest = func(read time.Duration) { time.Sleep(3 * read) }
	}
	if k.Dir != "" {
		m.cache = filepath.Join(k.Dir, cacheName)
	}
	swept, err := m.sweep(ctx, k.Store, k.Shared, k.Blobs, k.Plan.Grace, remove)
	aged.Entries = len(old.names)
	return aged, swept, err
}
