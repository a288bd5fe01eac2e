package patient

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"misstep/corpus"
	"misstep/corpus/corpustest"
	"misstep/corpus/memory"
)

func TestStore(t *testing.T) {
	corpustest.TestStore(t, func(*testing.T) corpus.Store { return New(memory.New(), nil) })
}

// away is a store that fails a number of times before it answers, and whose readers break off after three bytes as often.
type away struct {
	corpus.Store
	err   error
	times int
}

func (a *away) fail() error {
	if a.times > 0 {
		a.times--
		return a.err
	}
	return nil
}

func (a *away) Missing(ctx context.Context, digests []corpus.Digest) ([]corpus.Digest, error) {
	if err := a.fail(); err != nil {
		return nil, err
	}
	return a.Store.Missing(ctx, digests)
}

func (a *away) Put(ctx context.Context, r io.Reader, want corpus.Digest) (corpus.Digest, int64, error) {
	if a.times > 0 { // it breaks off in the middle
		_, _ = io.CopyN(io.Discard, r, 2)
		return corpus.Digest{}, 0, a.fail()
	}
	return a.Store.Put(ctx, r, want)
}

func (a *away) Open(ctx context.Context, digest corpus.Digest) (io.ReadCloser, int64, error) {
	r, size, err := a.Store.Open(ctx, digest)
	if err == nil && a.times > 0 {
		r = io.NopCloser(io.MultiReader(io.LimitReader(r, 3), iotest.ErrReader(a.fail())))
	}
	return r, size, err
}

func TestAnOutageIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := &away{Store: memory.New(), err: status.Error(codes.Unavailable, "nobody answers")}
		pauses := 0
		s := New(down, func(err error, pause time.Duration) {
			pauses++
			require.ErrorContains(t, err, "nobody answers")
			require.LessOrEqual(t, pause, 2*maxPause)
		})
		down.times = 12
		began := time.Now()
		digest, size, err := s.Put(t.Context(), io.LimitReader(strings.NewReader("what was found"), 100), corpus.Digest{})
		require.NoError(t, err)
		require.EqualValues(t, 14, size)
		require.Equal(t, corpus.DigestBytes([]byte("what was found")), digest)
		require.Equal(t, 12, pauses)
		require.Greater(t, time.Since(began), 10*time.Second, "it gives the other end time")

		down.times = 2
		missing, err := s.Missing(t.Context(), []corpus.Digest{digest, corpus.DigestBytes(nil)})
		require.NoError(t, err)
		require.Equal(t, []corpus.Digest{corpus.DigestBytes(nil)}, missing)

		down.times = 3
		got, err := corpus.ReadAll(t.Context(), s, digest, 100)
		require.NoError(t, err)
		require.Equal(t, "what was found", string(got), "it goes on where it was")

		down.times = 1 << 30
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		_, _, err = s.Put(ctx, bytes.NewReader([]byte("x")), corpus.Digest{})
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

// The disk at the other end is waited for, this machine's own and messages that are too long are not.
func TestWhatPasses(t *testing.T) {
	require.True(t, passes(fmt.Errorf("put: %w", status.Error(codes.Unavailable, "no"))))
	require.True(t, passes(&remote{codes.ResourceExhausted, unix.ENOSPC}))
	require.False(t, passes(status.Error(codes.ResourceExhausted, "received message larger than max")))
	require.False(t, passes(unix.ENOSPC))
	require.False(t, passes(&remote{codes.NotFound, corpus.ErrNotFound}))
}

// remote is an error with a code and a cause, as those of corpus/remote.
type remote struct {
	code  codes.Code
	cause error
}

func (r *remote) Error() string              { return r.cause.Error() }
func (r *remote) Unwrap() error              { return r.cause }
func (r *remote) GRPCStatus() *status.Status { return status.New(r.code, r.cause.Error()) }

func TestOtherErrorsAreReturnedAtOnce(t *testing.T) {
	full := errors.New("the disk is full")
	s := New(&away{Store: memory.New(), err: full, times: 1}, func(error, time.Duration) { t.Error("it waits") })
	_, _, err := s.Put(t.Context(), strings.NewReader("x"), corpus.Digest{})
	require.Equal(t, full, err)
	_, _, err = s.Open(t.Context(), corpus.DigestBytes(nil))
	require.ErrorIs(t, err, corpus.ErrNotFound)
}
