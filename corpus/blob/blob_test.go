package blob_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/corpus"
	"misstep/corpus/blob"
	"misstep/corpus/corpustest"
	"misstep/internal/testenv"
)

func open(t *testing.T, s testenv.S3, prefix string) *blob.Store {
	t.Helper()
	store, err := blob.Open(
		t.Context(),
		s.Bucket,
		prefix,
		blob.Options{Endpoint: s.Endpoint, Credentials: credentials.NewStaticV4(s.AccessKey, s.SecretKey, "")},
	)
	require.NoError(t, err)
	return store
}

// TestStore runs the suite against a real S3-compatible server; each of its tests has a prefix of its own.
func TestStore(t *testing.T) {
	server := testenv.StartS3(t)
	next := 0
	corpustest.TestStore(t, func(t *testing.T) corpus.Store {
		next++
		return open(t, server, fmt.Sprintf("test/%d", next))
	})
}

func TestLayout(t *testing.T) {
	s := testenv.StartS3(t)
	for _, prefix := range []string{"", "a/b"} {
		store := open(t, s, prefix)
		_, _, err := store.Put(t.Context(), strings.NewReader("misstep\n"), corpus.Digest{})
		require.NoError(t, err)
		names, err := store.List(t.Context(), "a1")
		require.NoError(t, err)
		assert.Equal(t, []string{"a198d6f87c5038040cda251d3628af3c847c3efd5f636ab42101bf2851abbf7b"}, names)
	}
}

// TestManyDigests goes by a listing, and one blob in its midst is not overlooked.
func TestManyDigests(t *testing.T) {
	s := testenv.StartS3(t)
	for _, prefix := range []string{"", "many"} {
		store := open(t, s, prefix)
		d, _, err := store.Put(t.Context(), strings.NewReader("there"), corpus.Digest{})
		require.NoError(t, err)
		var digests []corpus.Digest
		for i := range 1000 {
			digests = append(digests, corpus.DigestBytes(corpustest.Blob(i, 8)))
		}
		missing, err := store.Missing(t.Context(), append(digests, d))
		require.NoError(t, err)
		assert.Equal(t, digests, missing)
	}
}

func TestWhatIsWrongIsSaid(t *testing.T) {
	s := testenv.StartS3(t)
	keys := credentials.NewStaticV4(s.AccessKey, s.SecretKey, "")
	for want, try := range map[string]func() error{
		"there is no bucket nowhere": func() error {
			_, err := blob.Open(t.Context(), "nowhere", "", blob.Options{Endpoint: s.Endpoint, Credentials: keys})
			return err
		},
		"expected a URL": func() error {
			_, err := blob.Open(t.Context(), s.Bucket, "", blob.Options{Endpoint: "127.0.0.1:1", Credentials: keys})
			return err
		},
		"you have no access to it": func() error {
			_, err := blob.Open(t.Context(), s.Bucket, "", blob.Options{
				Endpoint: s.Endpoint, Credentials: credentials.NewStaticV4("me", "wrong", ""),
			})
			return err
		},
	} {
		require.ErrorContains(t, try(), want)
	}
}

// cutting passes requests on to a server, and breaks off the connection in the middle of the body of one part of a large upload.
type cutting struct {
	http.Handler
	cut   atomic.Bool
	parts atomic.Int32
	sent  atomic.Int64
}

func (c *cutting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPut && r.URL.Query().Get("partNumber") != "" {
		if c.parts.Add(1) == 2 && c.cut.Load() {
			_, _ = io.CopyN(io.Discard, r.Body, 1<<20)
			panic(http.ErrAbortHandler)
		}
		c.sent.Add(r.ContentLength)
	}
	c.Handler.ServeHTTP(w, r)
}

// TestALargeBlobThatWasInterrupted shows nothing of it, and the blobs before and after it stay.
func TestALargeBlobThatWasInterrupted(t *testing.T) {
	s := testenv.StartS3(t)
	target, err := url.Parse(s.Endpoint)
	require.NoError(t, err)
	proxy := &cutting{Handler: &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host // it is signed
	}}}
	front := httptest.NewServer(proxy)
	defer front.Close()
	s.Endpoint = front.URL
	store := open(t, s, "")
	small, _, err := store.Put(t.Context(), strings.NewReader("small"), corpus.Digest{})
	require.NoError(t, err)

	data := corpustest.Blob(1, 40<<20) // three parts
	d := corpus.DigestBytes(data)
	proxy.cut.Store(true)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { // the client tries again by itself: its user interrupts it
		for proxy.parts.Load() < 2 {
			if ctx.Err() != nil {
				return
			}
		}
		cancel()
	}()
	_, _, err = store.Put(ctx, bytes.NewReader(data), d)
	require.Error(t, err)
	cancel()
	missing, err := store.Missing(t.Context(), []corpus.Digest{small, d})
	require.NoError(t, err)
	assert.Equal(t, []corpus.Digest{d}, missing)

	proxy.cut.Store(false)
	_, _, err = store.Put(t.Context(), bytes.NewReader(data), d)
	require.NoError(t, err)
	got, err := corpus.ReadAll(t.Context(), store, d, 64<<20)
	require.NoError(t, err)
	assert.True(t, bytes.Equal(data, got))

	// Once more: nothing is sent.
	sent := proxy.sent.Load()
	_, _, err = store.Put(t.Context(), bytes.NewReader(data), d)
	require.NoError(t, err)
	assert.Equal(t, sent, proxy.sent.Load())
}

// TestAServerThatIsAway gives errors that say so, whether nobody answers or a proxy says that nobody does.
func TestAServerThatIsAway(t *testing.T) {
	s := testenv.StartS3(t)
	target, err := url.Parse(s.Endpoint)
	require.NoError(t, err)
	front := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host // it is signed
	}})
	s.Endpoint = front.URL
	store := open(t, s, "")
	front.Close()
	_, err = store.SignRead(t.Context(), corpus.DigestBytes([]byte("x")))
	require.ErrorIs(t, err, corpus.ErrUnavailable)
	_, _, err = store.Put(t.Context(), strings.NewReader("x"), corpus.Digest{})
	require.ErrorIs(t, err, corpus.ErrUnavailable)
}
