package remote_test

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
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"misstep/corpus"
	"misstep/corpus/blob"
	"misstep/corpus/corpustest"
	"misstep/corpus/direct"
	"misstep/corpus/memory"
	"misstep/corpus/overlay"
	"misstep/corpus/patient"
	"misstep/corpus/remote"
	"misstep/corpus/tree"
	"misstep/internal/testenv"
	misstepv1 "misstep/proto/misstep/v1"
)

// bucket opens a store in a bucket of s, under a prefix.
func bucket(t *testing.T, s testenv.S3, prefix string) *blob.Store {
	t.Helper()
	store, err := blob.Open(t.Context(), s.Bucket, prefix,
		blob.Options{Endpoint: s.Endpoint, Credentials: credentials.NewStaticV4(s.AccessKey, s.SecretKey, "")})
	require.NoError(t, err)
	return store
}

// throughOnly fails when a blob's bytes pass through the server.
type throughOnly struct {
	corpus.Store
	through atomic.Int64
}

func (s *throughOnly) Put(ctx context.Context, r io.Reader, d corpus.Digest) (corpus.Digest, int64, error) {
	s.through.Add(1)
	return s.Store.Put(ctx, r, d)
}

func (s *throughOnly) Open(ctx context.Context, d corpus.Digest) (io.ReadCloser, int64, error) {
	s.through.Add(1)
	return s.Store.Open(ctx, d)
}

// TestStoreBySignedRequests runs the suite on a client whose blobs go straight to a real S3-compatible server.
func TestStoreBySignedRequests(t *testing.T) {
	s := testenv.StartS3(t)
	next := 0
	var server *throughOnly
	corpustest.TestStore(t, func(t *testing.T) corpus.Store {
		next++
		store := bucket(t, s, fmt.Sprintf("test/%d", next))
		require.NoError(t, store.CheckSigned(t.Context()))
		server = &throughOnly{Store: store}
		return remote.Client(serve(t, remote.NewServer(server, remote.Signing(store))))
	})
	client := remote.Client(serve(t, remote.NewServer(&throughOnly{Store: memory.New()}, remote.Signing(bucket(t, s, "last")))))
	d, _, err := client.Put(t.Context(), strings.NewReader("straight"), corpus.Digest{})
	require.NoError(t, err)
	got, err := corpus.ReadAll(t.Context(), client, d, 100)
	require.NoError(t, err)
	assert.Equal(t, "straight", string(got))
}

// TestWhatASignedRequestAllows is what somebody with a signed request tries beyond what was signed.
func TestWhatASignedRequestAllows(t *testing.T) {
	s := testenv.StartS3(t)
	store := bucket(t, s, "blobs")
	service := misstepv1.NewCorpusServiceClient(serve(t, remote.NewServer(store, remote.Signing(store))))
	mine, others := []byte("my bytes"), []byte("others' bytes")
	other, _, err := store.Put(t.Context(), bytes.NewReader(others), corpus.Digest{})
	require.NoError(t, err)
	d := corpus.DigestBytes(mine)
	sign := func(d corpus.Digest, size int) *misstepv1.SignedRequest {
		r, err := service.SignWrites(t.Context(), &misstepv1.SignWritesRequest{
			Blobs: []*misstepv1.BlobSize{{Digest: d.String(), Size: uint64(size)}},
		})
		require.NoError(t, err)
		require.Len(t, r.GetRequests(), 1)
		return r.GetRequests()[0]
	}
	send := func(signed *misstepv1.SignedRequest, method, path string, data []byte, without ...string) int {
		request, err := http.NewRequestWithContext(t.Context(), method, signed.GetUrl(), bytes.NewReader(data))
		require.NoError(t, err)
		if path != "" {
			request.URL.Path = path
		}
		for name, value := range signed.GetHeaders() {
			request.Header.Set(name, value)
		}
		for _, name := range without {
			request.Header.Del(name)
		}
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		defer response.Body.Close()
		return response.StatusCode
	}
	assert.Empty(t, sign(other, len(others)).GetUrl(), "it is stored already")
	signed := sign(d, len(mine))
	u, err := url.Parse(signed.GetUrl())
	require.NoError(t, err)
	elsewhere := strings.ReplaceAll(u.Path, d.Hex(), other.Hex())
	for name, status := range map[string]int{
		"other bytes":                  send(signed, http.MethodPut, "", []byte("MY BYTES")),
		"more bytes":                   send(signed, http.MethodPut, "", append(bytes.Clone(mine), 'x')),
		"fewer bytes":                  send(signed, http.MethodPut, "", mine[1:]),
		"another blob's name":          send(signed, http.MethodPut, elsewhere, mine),
		"reading by a write":           send(signed, http.MethodGet, "", nil),
		"deleting by a write":          send(signed, http.MethodDelete, "", nil),
		"without the announced digest": send(signed, http.MethodPut, "", mine, "X-Amz-Checksum-Sha256"),
		"overwriting allowed":          send(signed, http.MethodPut, "", mine, "If-None-Match"),
	} {
		assert.GreaterOrEqual(t, status, 400, name)
	}
	missing, err := store.Missing(t.Context(), []corpus.Digest{d, other})
	require.NoError(t, err)
	assert.Equal(t, []corpus.Digest{d}, missing, "nothing was stored")

	assert.Equal(t, http.StatusOK, send(signed, http.MethodPut, "", mine))
	assert.Equal(t, http.StatusPreconditionFailed, send(signed, http.MethodPut, "", mine), "not a second time")
	got, err := corpus.ReadAll(t.Context(), store, d, 100)
	require.NoError(t, err)
	assert.Equal(t, mine, got)

	_, err = service.SignWrites(t.Context(), &misstepv1.SignWritesRequest{
		Blobs: []*misstepv1.BlobSize{{Digest: d.String(), Size: corpus.MaxBlob + 1}},
	})
	assert.Equal(t, codes.InvalidArgument, status.Code(err))
	reads, err := service.SignReads(t.Context(), &misstepv1.SignReadsRequest{
		Digests: []string{corpus.DigestBytes([]byte("absent")).String(), d.String()},
	})
	require.NoError(t, err)
	assert.Empty(t, reads.GetRequests()[0].GetUrl())
	read := reads.GetRequests()[1]
	assert.Equal(t, http.StatusOK, send(read, http.MethodGet, "", nil))
	assert.GreaterOrEqual(t, send(read, http.MethodGet, elsewhere, nil), 400, "another blob by the same signature")
	assert.GreaterOrEqual(t, send(read, http.MethodPut, "", mine), 400)
}

// TestCatalogueIsCopiedWhenItIsRead has a blob that the coordinator reads from elsewhere: many clients that want it cause one copy.
func TestCatalogueIsCopiedWhenItIsRead(t *testing.T) {
	store := bucket(t, testenv.StartS3(t), "")
	catalogue := &throughOnly{Store: memory.New()}
	data := corpustest.Blob(3, 1<<20)
	d, _, err := catalogue.Store.Put(t.Context(), bytes.NewReader(data), corpus.Digest{})
	require.NoError(t, err)
	client := remote.Client(serve(t, remote.NewServer(overlay.New(store, catalogue), remote.Signing(store))))
	failures := make(chan error, 8)
	for range cap(failures) {
		go func() {
			got, err := corpus.ReadAll(t.Context(), client, d, 2<<20)
			if err == nil && !bytes.Equal(got, data) {
				err = fmt.Errorf("other bytes")
			}
			failures <- err
		}()
	}
	for range cap(failures) {
		require.NoError(t, <-failures)
	}
	assert.LessOrEqual(t, catalogue.through.Load(), int64(2), "those that came while it was copied waited")
}

// lossy is a proxy that breaks off each response after a number of bytes, and answers some requests with an error.
type lossy struct {
	http.Handler
	after    int64
	requests atomic.Int64
}

func (l *lossy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodHead {
		l.Handler.ServeHTTP(w, r)
		return
	}
	switch n := l.requests.Add(1); {
	case n%5 == 2:
		w.WriteHeader(http.StatusServiceUnavailable)
	case n%5 == 3:
		panic(http.ErrAbortHandler)
	case r.Method == http.MethodGet:
		l.Handler.ServeHTTP(&cut{w, l.after}, r)
	default:
		l.Handler.ServeHTTP(w, r)
	}
}

// cut is a response that breaks off.
type cut struct {
	http.ResponseWriter
	left int64
}

func (c *cut) Write(p []byte) (int, error) {
	if c.left -= int64(len(p)); c.left < 0 {
		panic(http.ErrAbortHandler)
	}
	return c.ResponseWriter.Write(p)
}

// TestALossyLink breaks off every download many times: each continues where it was.
func TestALossyLink(t *testing.T) {
	s := testenv.StartS3(t)
	target, err := url.Parse(s.Endpoint)
	require.NoError(t, err)
	proxy := &lossy{after: 900 << 10, Handler: &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host // it is signed
	}}}
	front := httptest.NewServer(proxy)
	defer front.Close()
	s.Endpoint = front.URL
	store := bucket(t, s, "")
	client := remote.Client(serve(t, remote.NewServer(store, remote.Signing(store))))
	for i := range 3 {
		data := corpustest.Blob(i, 3<<20+i)
		d, _, err := client.Put(t.Context(), bytes.NewReader(data), corpus.Digest{})
		require.NoError(t, err)
		got, err := corpus.ReadAll(t.Context(), client, d, 4<<20)
		require.NoError(t, err)
		require.True(t, bytes.Equal(data, got))
	}
	assert.Greater(t, proxy.requests.Load(), int64(15))
}

// TestAnObjectStoreThatIsAway gives errors after which a patient user tries again.
func TestAnObjectStoreThatIsAway(t *testing.T) {
	s := testenv.StartS3(t)
	target, err := url.Parse(s.Endpoint)
	require.NoError(t, err)
	var away atomic.Bool
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host
	}}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if away.Load() && r.Method != http.MethodHead { // the coordinator, which signs, is nearer
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	defer front.Close()
	s.Endpoint = front.URL
	store := bucket(t, s, "")
	hasty := remote.WithHTTP(direct.Client{
		Tries: 2, Backoff: func() backoff.BackOff { return backoff.NewConstantBackOff(time.Millisecond) },
	})
	connection := serve(t, remote.NewServer(store, remote.Signing(store)))
	client := remote.Client(connection, hasty)
	d, _, err := client.Put(t.Context(), strings.NewReader("there"), corpus.Digest{})
	require.NoError(t, err)
	away.Store(true)
	_, _, err = client.Put(t.Context(), strings.NewReader("lost?"), corpus.Digest{})
	assert.Equal(t, codes.Unavailable, status.Code(err), err)
	_, _, err = client.Open(t.Context(), d)
	assert.Equal(t, codes.Unavailable, status.Code(err), err)

	waits := 0
	waiting := patient.New(client, func(error, time.Duration) {
		if waits++; waits == 2 {
			away.Store(false)
		}
	})
	_, _, err = waiting.Put(t.Context(), strings.NewReader("lost?"), corpus.Digest{})
	require.NoError(t, err)
	assert.Equal(t, 2, waits)
	assert.Implements(t, (*tree.Ranger)(nil), waiting)
}
