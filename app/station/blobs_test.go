package station_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/app/station"
	"misstep/bundle/share"
	"misstep/coordinator"
	"misstep/corpus"
	"misstep/internal/testenv"
)

// location starts an S3-compatible server and returns the location of a bucket there.
func location(t *testing.T) string {
	t.Helper()
	s := testenv.StartS3(t)
	t.Setenv("AWS_ACCESS_KEY_ID", s.AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", s.SecretKey)
	return "s3://" + s.Bucket + "/hunt?endpoint=" + s.Endpoint
}

// serve serves a coordinator until the test ends, or until stop.
func serve(t *testing.T, place station.Place) (st *station.Station, stop func()) {
	t.Helper()
	c, err := station.Open(t.Context(), place, coordinator.Config{}, share.Policy{})
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Serve(ctx, listener) }()
	st, err = station.Dial(listener.Addr().String())
	require.NoError(t, err)
	_, err = st.Blobs.Missing(t.Context(), []corpus.Digest{corpus.DigestBytes(nil)})
	require.NoError(t, err, "it is ready from the first call on")
	return st, func() {
		st.Close()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func read(t *testing.T, source corpus.Opener, d corpus.Digest) string {
	t.Helper()
	text, err := corpus.ReadAll(t.Context(), source, d, 1000)
	require.NoError(t, err)
	return string(text)
}

// TestBlobsInABucket has a coordinator whose blobs were in its folder and then are in a bucket.
func TestBlobsInABucket(t *testing.T) {
	dir := t.TempDir()
	bucket := location(t)
	st, stop := serve(t, station.Place{Dir: dir})
	old, _, err := st.Blobs.Put(t.Context(), strings.NewReader("in the folder"), corpus.Digest{})
	require.NoError(t, err)
	stop()

	st, stop = serve(t, station.Place{Dir: dir, Blobs: bucket})
	young, _, err := st.Blobs.Put(t.Context(), strings.NewReader("in the bucket"), corpus.Digest{})
	require.NoError(t, err)
	assert.Equal(t, "in the folder", read(t, st.Blobs, old))
	stop()
	assert.NoFileExists(t, filepath.Join(station.BlobsPath(dir), young.Hex()[:2], young.Hex()))
	require.NoError(t, os.RemoveAll(station.BlobsPath(dir)))

	st, stop = serve(t, station.Place{Dir: dir}) // it is noted where they are
	assert.Equal(t, "in the bucket", read(t, st.Blobs, young))
	assert.Equal(t, "in the folder", read(t, st.Blobs, old), "it was copied when it was read")
	stop()

	_, err = station.Open(t.Context(), station.Place{Dir: dir, Blobs: strings.Replace(bucket, "/hunt?", "/other?", 1)}, coordinator.Config{},
		share.Policy{})
	require.ErrorContains(t, err, "are in "+bucket)
	_, err = station.Open(t.Context(), station.Place{Dir: t.TempDir(), Blobs: "/a/folder"}, coordinator.Config{}, share.Policy{})
	require.ErrorContains(t, err, station.BucketHelp)
}

// Keys in a location are refused before anybody writes them down, and no error repeats them.
func TestLocationsOfBuckets(t *testing.T) {
	for location, want := range map[string]string{
		"s3://key:hunter2@b/hunt":                      "it has keys",
		"s3://b/hunt?endpoint=http://key:hunter2@h:1":  "it has keys",
		"s3://b/hunt?endpint=http://127.0.0.1:1":       `unknown parameter "endpint"`,
		"s3://b/hunt?endpoint=http://h&secret=hunter2": `unknown parameter "secret"`,
		"/a/folder": station.BucketHelp,
	} {
		dir := t.TempDir()
		_, err := station.Open(t.Context(), station.Place{Dir: dir, Blobs: location}, coordinator.Config{}, share.Policy{})
		require.ErrorContains(t, err, want, location)
		require.NotContains(t, err.Error(), "hunter2")
		assert.NoFileExists(t, filepath.Join(dir, "blobs.url"))
	}
}
