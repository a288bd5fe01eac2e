package transport

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"misstep/app/pki"
	"misstep/app/station"
	"misstep/bundle/share"
	"misstep/coordinator"
	"misstep/coordinator/access"
	misstepv1 "misstep/proto/misstep/v1"
)

// log is written by several goroutines.
type log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *log) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// authority makes one, whose certificates begin at a time.
func authority(t *testing.T, at time.Time) (*pki.Authority, string) {
	t.Helper()
	dir := t.TempDir()
	a, err := pki.Init(t.Context(), dir, "test", 1000*time.Hour, func() time.Time { return at })
	require.NoError(t, err)
	return a, dir
}

// issue returns the files of a new certificate for a client of this host, or for its coordinator.
func issue(t *testing.T, a *pki.Authority, kind pki.Kind, lifetime time.Duration, names ...string) Files {
	t.Helper()
	c, err := a.Issue(t.Context(), pki.Request{Kind: kind, Names: names, Lifetime: lifetime, Out: t.TempDir()})
	require.NoError(t, err)
	return filesIn(c.Dir)
}

func filesIn(dir string) Files {
	return Files{
		CA: filepath.Join(dir, pki.CAFile), Certificate: filepath.Join(dir, pki.CertificateFile),
		Key: filepath.Join(dir, pki.KeyFile),
	}
}

// serving is a coordinator that serves by TLS.
type serving struct {
	address string
	source  *Source
	log     log
}

// serve starts a coordinator that knows runners by the authority of its files, and no other caller.
func serve(t *testing.T, files Files) *serving {
	t.Helper()
	s := &serving{}
	var err error
	s.source, err = Open(files, s.log.logger())
	require.NoError(t, err)
	ids, err := ParseRunnerIDs([]string{OwnIDs, "spiffe://example.org/misstep/runner/*"})
	require.NoError(t, err)
	s.address = start(t, station.Place{
		Options: s.source.ServerOptions(coordinator.Ping),
		Access:  access.Options{Authenticators: []access.Authenticator{s.source.Authenticator(ids)}},
	})
	return s
}

// start serves a coordinator until the test ends.
func start(t *testing.T, place station.Place) (address string) {
	t.Helper()
	place.Dir = t.TempDir()
	c, err := station.Open(t.Context(), place, coordinator.Config{}, share.Policy{})
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	var served sync.WaitGroup
	served.Go(func() { _ = c.Serve(ctx, listener) })
	t.Cleanup(func() {
		stop()
		served.Wait()
	})
	return listener.Addr().String()
}

// dial connects with the files of a client.
func dial(t *testing.T, files Files, addresses ...string) *station.Station {
	t.Helper()
	if !files.Any() {
		return connect(t, nil, addresses...)
	}
	s, err := Open(files, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	return connect(t, s, addresses...)
}

// connect connects; nil is plain text.
func connect(t *testing.T, s *Source, addresses ...string) *station.Station {
	t.Helper()
	var options []grpc.DialOption
	if s != nil {
		options = append(options, s.DialOption())
	}
	st, err := station.DialWith(options, addresses...)
	require.NoError(t, err)
	t.Cleanup(st.Close)
	return st
}

// call is one that runners may make.
func call(t *testing.T, st *station.Station) error {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	_, err := st.Leases.Synchronize(ctx, &misstepv1.SynchronizeRequest{Runner: &misstepv1.Runner{Id: "r", Slots: 1}})
	return err
}

// port replaces the host of an address.
func port(host, address string) string { return host + address[strings.LastIndexByte(address, ':'):] }

// replace puts the file at from in the place of the one at to, at once.
func replace(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(to+".new", text, 0o600))
	require.NoError(t, os.Rename(to+".new", to))
}
