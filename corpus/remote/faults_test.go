package remote_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/stretchr/testify/require"

	"misstep/corpus"
	"misstep/corpus/corpustest"
	"misstep/corpus/direct"
	"misstep/corpus/patient"
	"misstep/corpus/remote"
	"misstep/internal/proxy/objects"
	"misstep/internal/testenv"
)

// The suite holds while the object store answers a fifth of all requests, the server's own included, with errors, resets
// connections and cuts bodies.
func TestStoreBySignedRequestsWhileTheObjectStoreFails(t *testing.T) {
	s := testenv.StartS3(t)
	for _, fault := range objects.All {
		t.Run(string(fault), func(t *testing.T) {
			proxy, err := objects.Listen(s.Endpoint, 1)
			require.NoError(t, err)
			defer func() { require.NoError(t, proxy.Close()) }()
			proxy.Delay = 50 * time.Millisecond
			behind := s
			behind.Endpoint = proxy.Endpoint()
			next := 0
			corpustest.TestStore(t, func(t *testing.T) corpus.Store {
				next++
				proxy.Heal() // a bucket is opened with nobody who waits
				store := bucket(t, behind, fmt.Sprintf("%s/%d", fault, next))
				proxy.Fail(fault, 0.2)
				client := remote.Client(serve(t, remote.NewServer(store, remote.Signing(store))), remote.WithHTTP(direct.Client{
					Backoff: func() backoff.BackOff { return backoff.NewConstantBackOff(5 * time.Millisecond) },
				}))
				return patient.New(client, nil)
			})
			require.Positive(t, proxy.Hits()[fault])
			t.Logf("%d requests were hit", proxy.Hits()[fault])
		})
	}
}

// What a real object store says of a signature that has expired is understood: the request is signed anew.
func TestAnExpiredSignatureIsRenewed(t *testing.T) {
	s := testenv.StartS3(t)
	store := bucket(t, s, "")
	d, size, err := store.Put(t.Context(), strings.NewReader("signed anew"), corpus.Digest{})
	require.NoError(t, err)
	signer, err := minio.New(strings.TrimPrefix(s.Endpoint, "http://"), &minio.Options{
		Creds: credentials.NewStaticV4(s.AccessKey, s.SecretKey, ""), Region: "us-east-1",
	})
	require.NoError(t, err)
	short, err := signer.PresignedGetObject(t.Context(), s.Bucket, d.Hex()[:2]+"/"+d.Hex(), time.Second, nil)
	require.NoError(t, err)
	time.Sleep(2100 * time.Millisecond) // times of signatures have whole seconds
	var requests []corpus.SignedRequest
	client := direct.Client{Backoff: func() backoff.BackOff { return backoff.NewConstantBackOff(time.Millisecond) }}
	r, _, err := client.Open(t.Context(), func(ctx context.Context) (corpus.SignedRequest, error) {
		signed, err := store.SignRead(ctx, d)
		if len(requests) == 0 {
			signed = corpus.SignedRequest{URL: short.String(), Size: size}
		}
		requests = append(requests, signed)
		return signed, err
	})
	require.NoError(t, err)
	text, err := io.ReadAll(r)
	require.NoError(t, err)
	require.NoError(t, r.Close())
	require.Equal(t, "signed anew", string(text))
	require.Len(t, requests, 2)
}

// A server that was killed between the metadata of an object and the object refuses it as one that it has: it is written through
// the coordinator then, and is there.
func TestABlobOfWhichOnlyMetadataIsThere(t *testing.T) {
	dir := t.TempDir()
	s, stop, err := testenv.LaunchS3(dir)
	if err != nil {
		t.Skip(err)
	}
	defer stop()
	store := bucket(t, s, "")
	client := remote.Client(serve(t, remote.NewServer(store, remote.Signing(store))), remote.WithHTTP(direct.Client{
		Backoff: func() backoff.BackOff { return backoff.NewConstantBackOff(time.Millisecond) },
	}))
	d, _, err := client.Put(t.Context(), strings.NewReader("evidence"), corpus.Digest{})
	require.NoError(t, err)
	require.NoError(t, os.Remove(filepath.Join(dir, "data", s.Bucket, d.Hex()[:2], d.Hex())))
	missing, err := client.Missing(t.Context(), []corpus.Digest{d})
	require.NoError(t, err)
	require.Len(t, missing, 1)
	_, _, err = client.Put(t.Context(), strings.NewReader("evidence"), corpus.Digest{})
	require.NoError(t, err)
	got, err := corpus.ReadAll(t.Context(), client, d, 100)
	require.NoError(t, err)
	require.Equal(t, "evidence", string(got))
}
