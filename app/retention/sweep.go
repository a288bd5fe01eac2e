package retention

import (
	"context"
	"errors"
	"fmt"
	"time"

	"misstep/coordinator/store"
	"misstep/corpus"
	"misstep/corpus/index"
	"misstep/corpus/localdir"
)

// Blobs is a corpus whose garbage can be removed.
type Blobs interface {
	corpus.Store
	// Sweep removes the blobs for which keep is false and that nobody has put or asked about since before; without remove it only
	// counts them. Writers may work at the same time.
	Sweep(ctx context.Context, keep func(corpus.Digest) bool, before time.Time, remove bool) (corpus.Swept, error)
}

// Sweep removes the blobs that neither a store's rows (nil for none) nor the index of shared bundles refer to, and that were
// neither stored nor asked for within grace, at least localdir.MinGrace. Without remove it only counts them.
func Sweep(
	ctx context.Context, st store.Store, shared index.Index, blobs Blobs, grace time.Duration, remove bool,
) (corpus.Swept, error) {
	return marking{}.sweep(ctx, st, shared, blobs, grace, remove)
}

func (k marking) sweep(
	ctx context.Context, st store.Store, shared index.Index, blobs Blobs, grace time.Duration, remove bool,
) (swept corpus.Swept, err error) {
	if grace < localdir.MinGrace {
		return swept, fmt.Errorf("--grace %v: want at least %v, or blobs that are being written would be taken for garbage", grace,
			localdir.MinGrace)
	}
	before := time.Now().Add(-grace) // taken first: what is referred to from now on is younger
	marks, err := k.Mark(ctx, st, shared, blobs)
	if err != nil {
		return swept, err
	}
	defer func() { err = errors.Join(err, marks.Err(), marks.Close()) }()
	return blobs.Sweep(ctx, marks.Has, before, remove)
}
