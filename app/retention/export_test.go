package retention

import (
	"context"
	"testing"

	"misstep/coordinator/store"
	"misstep/corpus"
	"misstep/corpus/index"
)

// SetSegmentTrials makes segments small.
func SetSegmentTrials(t *testing.T, n int) {
	before := segmentTrials
	segmentTrials = n
	t.Cleanup(func() { segmentTrials = before })
}

// Mark finds what is needed, with a cache.
func Mark(ctx context.Context, cache string, st store.Store, shared index.Index, blobs corpus.Opener) (*Marks, error) {
	return marking{cache: cache}.Mark(ctx, st, shared, blobs)
}
