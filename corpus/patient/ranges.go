package patient

import (
	"context"
	"io"

	"misstep/corpus"
	"misstep/corpus/chunk"
	"misstep/corpus/tree"
)

// ranging is a store whose files can be read in parts.
type ranging struct {
	*store
	far tree.Ranger
}

var _ tree.Ranger = (*ranging)(nil)

// Chunks implements tree.Ranger.
func (r *ranging) Chunks(ctx context.Context, digest corpus.Digest) ([]chunk.Chunk, error) {
	return retry(ctx, r.store, func() ([]chunk.Chunk, error) { return r.far.Chunks(ctx, digest) })
}

// OpenRange implements tree.Ranger. A range that breaks off is not continued: its reader fetches the whole file, patiently.
func (r *ranging) OpenRange(ctx context.Context, digest corpus.Digest, offset, length int64) (io.ReadCloser, error) {
	return retry(ctx, r.store, func() (io.ReadCloser, error) { return r.far.OpenRange(ctx, digest, offset, length) })
}
