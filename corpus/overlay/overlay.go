// Package overlay combines a writable corpus with read-only sources, so that blobs stored elsewhere are served without a copy.
//
// A coordinator lays its own store over the trees of the JDK and workload catalogues.
package overlay

import (
	"context"
	"errors"
	"fmt"
	"io"

	"misstep/corpus"
)

type store struct {
	writable corpus.Store
	sources  []corpus.Source
}

// New returns a store that writes to writable and reads from writable first, then from each source in order. An error of a
// source other than corpus.ErrNotFound ends the search.
func New(writable corpus.Store, sources ...corpus.Source) corpus.Store {
	return &store{writable: writable, sources: append([]corpus.Source{writable}, sources...)}
}

func (s *store) Missing(ctx context.Context, digests []corpus.Digest) ([]corpus.Digest, error) {
	missing := digests
	for _, source := range s.sources {
		if len(missing) == 0 {
			return nil, nil
		}
		var err error
		if missing, err = source.Missing(ctx, missing); err != nil {
			return nil, err
		}
	}
	return missing, nil
}

func (s *store) Open(ctx context.Context, digest corpus.Digest) (io.ReadCloser, int64, error) {
	for _, source := range s.sources {
		r, size, err := source.Open(ctx, digest)
		if err == nil || !errors.Is(err, corpus.ErrNotFound) {
			return r, size, err
		}
	}
	return nil, 0, fmt.Errorf("open blob %s: in none of %d sources: %w", digest, len(s.sources), corpus.ErrNotFound)
}

func (s *store) Put(ctx context.Context, r io.Reader, want corpus.Digest) (corpus.Digest, int64, error) {
	return s.writable.Put(ctx, r, want)
}
