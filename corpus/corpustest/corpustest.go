// Package corpustest holds the suite of tests that each corpus.Store passes.
package corpustest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"misstep/corpus"
)

// TestStore runs the suite. open returns an empty store; it is called once per subtest.
func TestStore(t *testing.T, open func(t *testing.T) corpus.Store) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, corpus.Store){
		"put then open":                          putThenOpen,
		"put with unknown digest":                putUnknown,
		"put twice is harmless":                  putTwice,
		"empty blob":                             emptyBlob,
		"blob of several chunks":                 severalChunks,
		"wrong digest stores nothing":            wrongDigest,
		"failing reader stores nothing":          failingReader,
		"open what is not there":                 notFound,
		"missing keeps the order":                missingOrder,
		"missing of many":                        missingMany,
		"cancelled context":                      cancelled,
		"close before the end":                   closeEarly,
		"many writers and readers at once":       concurrent,
		"writers of one blob at once":            sameBlob,
		"cancel in the middle of a put":          cancelMidway,
		"put leaves the reader open":             leavesReaderOpen,
		"put of a reader that gives one byte":    oneByteReader,
		"a put that failed can be put once more": failThenPut,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

// Blob returns size pseudo-random bytes, the same for the same arguments.
func Blob(seed, size int) []byte {
	data := make([]byte, size)
	state := uint64(seed)*0x9e3779b97f4a7c15 + 1
	for i := range data {
		state ^= state << 13 // xorshift64, Marsaglia 2003
		state ^= state >> 7
		state ^= state << 17
		data[i] = byte(state)
	}
	return data
}

func read(t *testing.T, s corpus.Source, d corpus.Digest) []byte {
	t.Helper()
	r, size, err := s.Open(t.Context(), d)
	require.NoError(t, err)
	data, err := io.ReadAll(r)
	require.NoError(t, err)
	require.NoError(t, r.Close())
	assert.Equal(t, size, int64(len(data)), "size that Open gives")
	return data
}

func assertAbsent(t *testing.T, s corpus.Source, d corpus.Digest) {
	t.Helper()
	missing, err := s.Missing(t.Context(), []corpus.Digest{d})
	require.NoError(t, err)
	assert.Equal(t, []corpus.Digest{d}, missing)
	_, _, err = s.Open(t.Context(), d)
	assert.ErrorIs(t, err, corpus.ErrNotFound)
}

func putThenOpen(t *testing.T, s corpus.Store) {
	data := Blob(1, 1000)
	want := corpus.DigestBytes(data)
	assertAbsent(t, s, want)
	got, size, err := s.Put(t.Context(), bytes.NewReader(data), want)
	require.NoError(t, err)
	assert.Equal(t, want, got)
	assert.EqualValues(t, 1000, size)
	assert.Equal(t, data, read(t, s, want))
	missing, err := s.Missing(t.Context(), []corpus.Digest{want})
	require.NoError(t, err)
	assert.Empty(t, missing)
}

func putUnknown(t *testing.T, s corpus.Store) {
	data := Blob(2, 3000)
	for _, r := range []io.Reader{bytes.NewReader(data), struct{ io.Reader }{bytes.NewReader(data)}} { // seekable and not
		got, size, err := s.Put(t.Context(), r, corpus.Digest{})
		require.NoError(t, err)
		assert.Equal(t, corpus.DigestBytes(data), got)
		assert.EqualValues(t, 3000, size)
		assert.Equal(t, data, read(t, s, got))
	}
}

func putTwice(t *testing.T, s corpus.Store) {
	data := Blob(3, 10)
	for range 2 {
		_, _, err := s.Put(t.Context(), bytes.NewReader(data), corpus.DigestBytes(data))
		require.NoError(t, err)
	}
	assert.Equal(t, data, read(t, s, corpus.DigestBytes(data)))
}

func emptyBlob(t *testing.T, s corpus.Store) {
	want := corpus.DigestBytes(nil)
	got, size, err := s.Put(t.Context(), strings.NewReader(""), want)
	require.NoError(t, err)
	assert.Equal(t, want, got)
	assert.Zero(t, size)
	assert.Empty(t, read(t, s, want))
}

func severalChunks(t *testing.T, s corpus.Store) {
	for i, size := range []int{1<<20 - 1, 1 << 20, 1<<20 + 1, 5<<20 + 17} { // around the network's chunk of 1 MiB
		data := Blob(4+i, size)
		got, n, err := s.Put(t.Context(), bytes.NewReader(data), corpus.DigestBytes(data))
		require.NoError(t, err)
		assert.EqualValues(t, size, n)
		assert.True(t, bytes.Equal(data, read(t, s, got)), "%d bytes", size)
	}
}

func wrongDigest(t *testing.T, s corpus.Store) {
	data, other := Blob(9, 2<<20), corpus.DigestBytes([]byte("other"))
	_, _, err := s.Put(t.Context(), bytes.NewReader(data), other)
	var mismatch *corpus.MismatchError
	require.ErrorAs(t, err, &mismatch)
	assert.Equal(t, corpus.MismatchError{Want: other, Got: corpus.DigestBytes(data)}, *mismatch)
	assertAbsent(t, s, other)
	assertAbsent(t, s, corpus.DigestBytes(data))
}

func failingReader(t *testing.T, s corpus.Store) {
	data := Blob(10, 100)
	broken := errors.New("reader broke")
	for _, want := range []corpus.Digest{corpus.DigestBytes(data), {}} {
		_, _, err := s.Put(t.Context(), io.MultiReader(bytes.NewReader(data), iotest.ErrReader(broken)), want)
		require.ErrorIs(t, err, broken)
	}
	assertAbsent(t, s, corpus.DigestBytes(data))
}

func notFound(t *testing.T, s corpus.Store) {
	assertAbsent(t, s, corpus.DigestBytes([]byte("never stored")))
}

func missingOrder(t *testing.T, s corpus.Store) {
	var all, want []corpus.Digest
	for i := range 10 {
		data := Blob(20+i, 5)
		all = append(all, corpus.DigestBytes(data))
		if i%3 == 0 {
			_, _, err := s.Put(t.Context(), bytes.NewReader(data), corpus.Digest{})
			require.NoError(t, err)
			continue
		}
		want = append(want, corpus.DigestBytes(data))
	}
	got, err := s.Missing(t.Context(), all)
	require.NoError(t, err)
	assert.Equal(t, want, got)
	got, err = s.Missing(t.Context(), nil)
	require.NoError(t, err)
	assert.Empty(t, got)
}

func missingMany(t *testing.T, s corpus.Store) {
	const n = 25_000 // more than two of the network's calls of 10,000
	all := make([]corpus.Digest, n)
	for i := range all {
		all[i] = corpus.DigestBytes([]byte{byte(i), byte(i >> 8), 'm'})
	}
	got, err := s.Missing(t.Context(), all)
	require.NoError(t, err)
	assert.Equal(t, all, got)
}

func cancelled(t *testing.T, s corpus.Store) {
	data := Blob(31, 10)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := s.Put(ctx, bytes.NewReader(data), corpus.DigestBytes(data))
	require.ErrorIs(t, err, context.Canceled)
	_, err = s.Missing(ctx, []corpus.Digest{corpus.DigestBytes(data)})
	require.ErrorIs(t, err, context.Canceled)
	_, _, err = s.Open(ctx, corpus.DigestBytes(data))
	require.ErrorIs(t, err, context.Canceled)
	assertAbsent(t, s, corpus.DigestBytes(data))
}

func closeEarly(t *testing.T, s corpus.Store) {
	data := Blob(32, 4<<20)
	d, _, err := s.Put(t.Context(), bytes.NewReader(data), corpus.Digest{})
	require.NoError(t, err)
	r, _, err := s.Open(t.Context(), d)
	require.NoError(t, err)
	part := make([]byte, 100)
	_, err = io.ReadFull(r, part)
	require.NoError(t, err)
	assert.Equal(t, data[:100], part)
	require.NoError(t, r.Close())
	assert.True(t, bytes.Equal(data, read(t, s, d)))
}

func concurrent(t *testing.T, s corpus.Store) {
	var group errgroup.Group
	for i := range 32 {
		group.Go(func() error { return putAndRead(t.Context(), s, Blob(40+i, 10_000+i)) })
	}
	require.NoError(t, group.Wait())
}

func sameBlob(t *testing.T, s corpus.Store) {
	data := Blob(80, 300_000)
	var group errgroup.Group
	for range 8 {
		group.Go(func() error { return putAndRead(t.Context(), s, data) })
	}
	require.NoError(t, group.Wait())
}

func putAndRead(ctx context.Context, s corpus.Store, data []byte) error {
	d, _, err := s.Put(ctx, bytes.NewReader(data), corpus.DigestBytes(data))
	if err != nil {
		return err
	}
	got, err := corpus.ReadAll(ctx, s, d, 1<<20)
	if err == nil && !bytes.Equal(data, got) {
		err = fmt.Errorf("blob %s came back otherwise", d)
	}
	return err
}

// cancellingReader cancels after some bytes, and then continues without end.
type cancellingReader struct {
	cancel context.CancelFunc
	given  int
}

func (c *cancellingReader) Read(p []byte) (int, error) {
	if c.given += len(p); c.given > 100_000 {
		c.cancel()
	}
	return len(p), nil
}

func cancelMidway(t *testing.T, s corpus.Store) {
	for _, want := range []corpus.Digest{corpus.DigestBytes([]byte("endless")), {}} {
		ctx, cancel := context.WithCancel(t.Context())
		_, _, err := s.Put(ctx, &cancellingReader{cancel: cancel}, want)
		require.ErrorIs(t, err, context.Canceled)
		cancel()
	}
	assertAbsent(t, s, corpus.DigestBytes([]byte("endless")))
}

type closeSpy struct {
	*bytes.Reader
	closed bool
}

func (c *closeSpy) Close() error {
	c.closed = true
	return nil
}

func leavesReaderOpen(t *testing.T, s corpus.Store) {
	spy := &closeSpy{Reader: bytes.NewReader(Blob(90, 10))}
	_, _, err := s.Put(t.Context(), spy, corpus.Digest{})
	require.NoError(t, err)
	assert.False(t, spy.closed)
}

func oneByteReader(t *testing.T, s corpus.Store) {
	data := Blob(91, 2000)
	d, _, err := s.Put(t.Context(), iotest.OneByteReader(bytes.NewReader(data)), corpus.DigestBytes(data))
	require.NoError(t, err)
	assert.Equal(t, data, read(t, s, d))
}

func failThenPut(t *testing.T, s corpus.Store) {
	data := Blob(92, 2000)
	want := corpus.DigestBytes(data)
	_, _, err := s.Put(t.Context(), bytes.NewReader(data[:1999]), want)
	require.Error(t, err)
	_, _, err = s.Put(t.Context(), bytes.NewReader(data), want)
	require.NoError(t, err, fmt.Sprint("put of ", want))
	assert.Equal(t, data, read(t, s, want))
}
