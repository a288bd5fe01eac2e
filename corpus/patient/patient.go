// Package patient makes users of a corpus wait while it cannot be reached, so that an outage of coordinators delays trials and
// loses none: what a trial has found is put when somebody answers again.
package patient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/cenkalti/backoff/v5"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"misstep/corpus"
	"misstep/corpus/tree"
)

// maxPause bounds the time between two attempts.
const maxPause = 5 * time.Second

type store struct {
	next    corpus.Store
	waiting backoff.Notify
}

// New returns a store that repeats each operation of next that fails with the gRPC code Unavailable, or because the disk at the
// other end is full, after pauses that grow to five seconds, until the context of the call ends. Any other error is returned at
// once. A reader continues where it was. waiting is called before each pause, from any goroutine; nil is never called.
func New(next corpus.Store, waiting func(err error, pause time.Duration)) corpus.Store {
	s := &store{next, waiting}
	if far, ok := next.(tree.Ranger); ok {
		return &ranging{s, far}
	}
	return s
}

// passes reports whether an error is of an outage: nobody answers, or the disk at the other end is full.
func passes(err error) bool {
	switch status.Code(err) {
	case codes.Unavailable:
		return true
	case codes.ResourceExhausted: // also gRPC's code for a message that is too long
		return errors.Is(err, unix.ENOSPC)
	default:
		return false
	}
}

// retry calls f until it returns another error than one of an outage.
func retry[T any](ctx context.Context, s *store, f func() (T, error)) (T, error) {
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.MaxInterval = 100*time.Millisecond, maxPause
	return backoff.Retry(ctx, func() (T, error) {
		value, err := f()
		if err != nil && !passes(err) {
			err = backoff.Permanent(err)
		}
		return value, err
	}, backoff.WithBackOff(pauses), backoff.WithMaxElapsedTime(0), backoff.WithNotify(s.waiting))
}

func (s *store) Missing(ctx context.Context, digests []corpus.Digest) ([]corpus.Digest, error) {
	return retry(ctx, s, func() ([]corpus.Digest, error) { return s.next.Missing(ctx, digests) })
}

// opened is what Open returns.
type opened struct {
	io.ReadCloser
	size int64
}

func (s *store) Open(ctx context.Context, digest corpus.Digest) (io.ReadCloser, int64, error) {
	first, err := s.open(ctx, digest)
	if err != nil {
		return nil, 0, err
	}
	return &reader{ctx: ctx, store: s, digest: digest, now: first}, first.size, nil
}

func (s *store) open(ctx context.Context, digest corpus.Digest) (opened, error) {
	return retry(ctx, s, func() (opened, error) {
		r, size, err := s.next.Open(ctx, digest)
		return opened{r, size}, err
	})
}

// reader opens the blob again when it breaks off, and skips what it has returned.
type reader struct {
	ctx    context.Context // of the Open call, as all readers of a corpus
	store  *store
	digest corpus.Digest
	now    opened
	done   int64 // bytes returned
}

func (r *reader) Read(p []byte) (int, error) {
	n, err := r.now.Read(p)
	r.done += int64(n)
	if err == nil || !passes(err) {
		return n, err
	}
	if n > 0 {
		return n, nil // the next call gets the error again
	}
	if err := r.resume(); err != nil {
		return 0, err
	}
	return r.Read(p)
}

func (r *reader) resume() error {
	_ = r.now.Close()
	again, err := retry(r.ctx, r.store, func() (opened, error) {
		again, err := r.store.open(r.ctx, r.digest)
		if err != nil {
			return opened{}, err
		}
		if _, err := io.CopyN(io.Discard, again, r.done); err != nil {
			_ = again.Close()
			return opened{}, err
		}
		return again, nil
	})
	if err == nil {
		r.now = again
	}
	return err
}

func (r *reader) Close() error { return r.now.Close() }

// put is what Put returns.
type put struct {
	digest corpus.Digest
	size   int64
}

func (s *store) Put(ctx context.Context, from io.Reader, want corpus.Digest) (corpus.Digest, int64, error) {
	again, done, err := rewindable(ctx, from)
	if err != nil {
		return corpus.Digest{}, 0, err
	}
	defer done()
	start, err := again.Seek(0, io.SeekCurrent)
	if err != nil {
		return corpus.Digest{}, 0, fmt.Errorf("put blob: %w", err)
	}
	result, err := retry(ctx, s, func() (put, error) {
		if _, err := again.Seek(start, io.SeekStart); err != nil {
			return put{}, fmt.Errorf("put blob: %w", err)
		}
		digest, size, err := s.next.Put(ctx, again, want)
		return put{digest, size}, err
	})
	return result.digest, result.size, err
}

// rewindable returns the reader itself if it can seek, else a copy in a temporary file, which done removes.
func rewindable(ctx context.Context, from io.Reader) (again io.ReadSeeker, done func(), err error) {
	if seeker, ok := from.(io.ReadSeeker); ok {
		if _, err := seeker.Seek(0, io.SeekCurrent); err == nil { // fails for a pipe, which is an *os.File, too
			return seeker, func() {}, nil
		}
	}
	file, err := os.CreateTemp("", "misstep-put-*")
	if err != nil {
		return nil, nil, fmt.Errorf("put blob: %w", err)
	}
	// The file is unlinked at once, so that its bytes are freed however this process ends.
	err = os.Remove(file.Name())
	if err == nil {
		_, _, err = corpus.Receive(ctx, file, from, corpus.Digest{}, corpus.MaxBlob)
	}
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("put blob: %w", err), file.Close())
	}
	return file, func() { _ = file.Close() }, nil
}
