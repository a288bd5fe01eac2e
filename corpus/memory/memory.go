// Package memory stores a corpus in the process's memory, for tests and for short-lived servers.
package memory

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"

	"misstep/corpus"
)

// Store is a corpus.Store without persistence. Make one with New.
type Store struct {
	mu    sync.RWMutex
	blobs map[corpus.Digest][]byte // values are never changed
}

var _ corpus.Store = (*Store)(nil)

// New returns an empty Store.
func New() *Store { return &Store{blobs: map[corpus.Digest][]byte{}} }

// Missing implements corpus.Source.
func (s *Store) Missing(ctx context.Context, digests []corpus.Digest) ([]corpus.Digest, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	var missing []corpus.Digest
	for _, d := range digests {
		if _, ok := s.blobs[d]; !ok {
			missing = append(missing, d)
		}
	}
	return missing, nil
}

// Open implements corpus.Source.
func (s *Store) Open(ctx context.Context, digest corpus.Digest) (io.ReadCloser, int64, error) {
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	s.mu.RLock()
	data, ok := s.blobs[digest]
	s.mu.RUnlock()
	if !ok {
		return nil, 0, fmt.Errorf("open blob %s in memory: %w", digest, corpus.ErrNotFound)
	}
	return corpus.VerifyReader(io.NopCloser(bytes.NewReader(data)), digest), int64(len(data)), nil
}

// Put implements corpus.Store.
func (s *Store) Put(ctx context.Context, r io.Reader, want corpus.Digest) (corpus.Digest, int64, error) {
	var buffer bytes.Buffer
	digest, size, err := corpus.Receive(ctx, &buffer, r, want, corpus.MaxBlob)
	if err != nil {
		return corpus.Digest{}, 0, fmt.Errorf("put blob in memory: %w", err)
	}
	s.mu.Lock()
	s.blobs[digest] = buffer.Bytes()
	s.mu.Unlock()
	return digest, size, nil
}
