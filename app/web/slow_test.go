package web_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"misstep/app/web"
	"misstep/coordinator/access"
	misstepv1 "misstep/proto/misstep/v1"
)

// knock sends the beginning of a request, and reads nothing.
func (s *scene) knock(request string) net.Conn {
	s.t.Helper()
	conn, err := new(net.Dialer).DialContext(s.t.Context(), "tcp", s.site.Listener.Addr().String())
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = conn.Close() })
	_, err = fmt.Fprintf(conn, request, s.site.Listener.Addr())
	require.NoError(s.t, err)
	require.NoError(s.t, conn.SetReadDeadline(time.Now().Add(time.Minute)))
	return conn
}

// A form that does not arrive is not waited for.
func TestFormsMustArriveInTime(t *testing.T) {
	s, _ := guarded(t, func(o *web.Options) { o.Patience = 200 * time.Millisecond })
	for _, path := range []string{"/login", "/logout", "/owners/trust"} {
		conn := s.knock("POST " + path + " HTTP/1.1\r\nHost: %v\r\nContent-Type: application/x-www-form-urlencoded\r\n" +
			"Content-Length: 100\r\n\r\ntoken=")
		r, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err, path)
		assert.Equal(t, http.StatusRequestTimeout, r.StatusCode, path)
		_, err = io.Copy(io.Discard, r.Body)
		require.NoError(t, err)
		require.NoError(t, r.Body.Close())
		_, err = conn.Read(make([]byte, 1))
		assert.ErrorIs(t, err, io.EOF, "the connection ends")
	}
}

// hugeBundle is a scene with a finding whose bundle no buffer of a connection holds, and how many of it were written.
func hugeBundle(t *testing.T, patience time.Duration) (s *scene, path string, written *atomic.Int64) {
	t.Setenv("TMPDIR", t.TempDir())
	written = new(atomic.Int64)
	s = newScene(t, func(o *web.Options) {
		o.Patience = patience
		o.Bundle = func(_ context.Context, _, path string) error {
			written.Add(1)
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				return err
			}
			return os.Truncate(path, 64<<20)
		}
	})
	s.run(20, usual()[0])
	found, err := s.st.ListFindings(t.Context(), &misstepv1.ListFindingsRequest{})
	require.NoError(t, err)
	return s, "/findings/" + found.GetFindings()[0].GetId() + "/bundle", written
}

const slowly = " HTTP/1.1\r\nHost: %v\r\n\r\n"

// Whoever takes a bundle slowly keeps nobody from having one written, and has only so many at a time.
func TestSlowReadersHoldNoTurns(t *testing.T) {
	s, path, written := hugeBundle(t, time.Hour)
	var slow []net.Conn
	for range 4 {
		slow = append(slow, s.knock("GET "+path+slowly))
	}
	require.Eventually(t, func() bool { return written.Load() == 4 }, time.Minute, 5*time.Millisecond)
	refused := s.get(path)
	assert.Equal(t, http.StatusTooManyRequests, refused.code)
	assert.Contains(t, refused.text, "4 downloads at a time already")
	assert.Equal(t, "30", refused.header.Get("Retry-After"))
	require.NoError(t, slow[0].Close())
	require.Eventually(t, func() bool {
		r, err := s.client.Head(s.site.URL + path)
		return err == nil && r.Body.Close() == nil && r.StatusCode == http.StatusOK
	}, time.Minute, 20*time.Millisecond, "one has ended")
}

// The connection of a reader who takes nothing is ended, and its bundle removed.
func TestReadersWhoTakeNothingAreLeft(t *testing.T) {
	s, path, written := hugeBundle(t, 200*time.Millisecond)
	conn := s.knock("GET " + path + slowly)
	require.Eventually(t, func() bool {
		left, err := filepath.Glob(filepath.Join(os.TempDir(), "misstep-web-*"))
		return err == nil && written.Load() == 1 && len(left) == 0
	}, time.Minute, 20*time.Millisecond)
	r, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	defer r.Body.Close()
	n, err := io.Copy(io.Discard, r.Body)
	require.Error(t, err, "it is not whole")
	assert.Less(t, n, int64(64<<20))

	whole, err := s.client.Get(s.site.URL + path) //nolint:noctx // within this test
	require.NoError(t, err)
	defer whole.Body.Close()
	n, err = io.Copy(io.Discard, whole.Body)
	require.NoError(t, err, "who takes it gets it")
	assert.Equal(t, strconv.Itoa(64<<20), strconv.FormatInt(n, 10))
	assert.Equal(t, http.StatusOK, s.get("/findings").code)
}

// One caller has only so many streams of events.
func TestStreamsOfOneCallerAreBounded(t *testing.T) {
	s := newScene(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	open := func() int {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.site.URL+"/events", nil)
		require.NoError(t, err)
		response, err := s.client.Do(request)
		require.NoError(t, err)
		t.Cleanup(func() { _ = response.Body.Close() })
		if response.StatusCode == http.StatusTooManyRequests {
			assert.Equal(t, "30", response.Header.Get("Retry-After"))
		}
		return response.StatusCode
	}
	for range 100 {
		require.Equal(t, http.StatusOK, open())
	}
	require.Equal(t, http.StatusTooManyRequests, open())
	cancel()
	require.Eventually(t, func() bool {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.site.URL+"/events", nil)
		require.NoError(t, err)
		response, err := s.client.Do(request)
		require.NoError(t, err)
		return response.Body.Close() == nil && response.StatusCode == http.StatusOK
	}, time.Minute, 20*time.Millisecond)
}

// stuck is a connection on which calls in the project "stuck" are answered once it is released.
type stuck struct {
	grpc.ClientConnInterface
	entered, release chan struct{}
}

func (c stuck) Invoke(ctx context.Context, method string, in, out any, options ...grpc.CallOption) error {
	headers, _ := metadata.FromOutgoingContext(ctx)
	if strings.HasSuffix(method, "/ListCampaigns") && slices.Contains(headers.Get(access.ProjectHeader), "stuck") {
		select {
		case c.entered <- struct{}{}:
		default: // not for the first time
		}
		<-c.release
	}
	return c.ClientConnInterface.Invoke(ctx, method, in, out, options...)
}

// Streams of a project whose state is not to be had hold up those of no other one.
func TestStreamsOfOneProjectWaitForNoOther(t *testing.T) {
	entered, release := make(chan struct{}, 1), make(chan struct{})
	asked := make(chan error, 1)
	s := newScene(t, func(o *web.Options) { o.Conn = stuck{o.Conn, entered, release} })
	go func() {
		r, err := s.client.Get(s.site.URL + "/p/stuck/events") //nolint:noctx // it ends with the site
		if err == nil {
			err = r.Body.Close()
		}
		asked <- err
	}()
	<-entered
	r, err := s.client.Get(s.site.URL + "/p/other/events") //nolint:noctx // it ends with the site
	require.NoError(t, err)
	assert.Equal(t, http.StatusOK, r.StatusCode)
	require.NoError(t, r.Body.Close())
	close(release)
	require.NoError(t, <-asked)
}
