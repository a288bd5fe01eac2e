package transport

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"misstep/app/pki"
	"misstep/app/station"
	misstepv1 "misstep/proto/misstep/v1"
)

// join writes the authorities of several folders into one file.
func join(t *testing.T, to string, dirs ...string) {
	t.Helper()
	var all []byte
	for _, dir := range dirs {
		text, err := os.ReadFile(filepath.Join(dir, pki.CAFile))
		require.NoError(t, err)
		all = append(all, text...)
	}
	next := filepath.Join(t.TempDir(), "ca")
	require.NoError(t, os.WriteFile(next, all, 0o600))
	replace(t, next, to)
}

// All files of both ends are replaced while calls are made, on standing connections and on new ones: certificates, then the
// authorities, by way of a time in which both are trusted. No call is lost, and afterwards the old certificates are refused.
func TestReloadUnderLoad(t *testing.T) {
	old, oldDir := authority(t, time.Now())
	next, nextDir := authority(t, time.Now())
	server := issue(t, old, pki.Coordinator, time.Hour, "127.0.0.1")
	client := issue(t, old, pki.Runner, time.Hour, "a1")
	before := Files{CA: filepath.Join(nextDir, pki.CAFile)}
	before.Certificate, before.Key = filepath.Join(t.TempDir(), "crt"), filepath.Join(t.TempDir(), "key")
	replace(t, client.Certificate, before.Certificate)
	replace(t, client.Key, before.Key)
	s := serve(t, server)

	ctx, stop := context.WithCancel(t.Context())
	var calls, lost atomic.Int64
	var loading sync.WaitGroup
	load := func(connect func() (misstepv1.LeaseServiceClient, func())) {
		loading.Go(func() {
			for ctx.Err() == nil {
				leases, done := connect()
				request := &misstepv1.SynchronizeRequest{Runner: &misstepv1.Runner{Id: "r", Slots: 1}}
				_, err := leases.Synchronize(t.Context(), request)
				done()
				if calls.Add(1); err != nil {
					t.Errorf("a call is lost: %v", err)
					lost.Add(1)
					return
				}
			}
		})
	}
	own, err := Open(client, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	standing := connect(t, own, s.address)
	for range 2 {
		load(func() (misstepv1.LeaseServiceClient, func()) { return standing.Leases, func() {} })
		load(func() (misstepv1.LeaseServiceClient, func()) {
			st, err := station.DialWith([]grpc.DialOption{own.DialOption()}, s.address)
			require.NoError(t, err)
			return st.Leases, st.Close
		})
	}
	seen := func(what string, change func()) {
		t.Helper()
		generation := s.source.current.Load().generation
		change()
		require.Eventually(t, func() bool { return s.source.current.Load().generation > generation || lost.Load() > 0 },
			time.Minute, 10*time.Millisecond, what)
		from := calls.Load()
		require.Eventually(t, func() bool { return calls.Load() > from+50 || lost.Load() > 0 }, time.Minute, time.Millisecond,
			what)
		time.Sleep(2 * lookInterval) // the client's end looks too
	}
	pair := func(a *pki.Authority, kind pki.Kind, name string, to Files) {
		fresh := issue(t, a, kind, time.Hour, name)
		// One after the other: in between they do not fit together, and those from before stay in force.
		replace(t, fresh.Certificate, to.Certificate)
		time.Sleep(2 * lookInterval)
		replace(t, fresh.Key, to.Key)
	}
	seen("a new certificate of the coordinator", func() { pair(old, pki.Coordinator, "127.0.0.1", server) })
	assert.Contains(t, s.log.String(), "changed TLS files cannot be used; those from before stay in force")
	join(t, client.CA, oldDir, nextDir)
	seen("both authorities", func() { join(t, server.CA, oldDir, nextDir) })
	pair(next, pki.Runner, "a1", client)
	seen("certificates of the new authority", func() { pair(next, pki.Coordinator, "127.0.0.1", server) })
	join(t, client.CA, nextDir)
	stop()
	loading.Wait()
	standing.Close() // its certificate is of the old authority
	assert.Zero(t, lost.Load())
	t.Logf("%d calls", calls.Load())

	require.NoError(t, call(t, dial(t, before, s.address)), "the old authority is still trusted")
	join(t, server.CA, nextDir)
	require.Eventually(t, func() bool {
		return status.Code(call(t, dial(t, before, s.address))) == codes.Unauthenticated
	}, 10*time.Second, 100*time.Millisecond)
	require.NoError(t, call(t, dial(t, client, s.address)))
}

// A runner that is revoked is refused on its standing connection, too; another one is not.
func TestRevokedWhileConnected(t *testing.T) {
	a, dir := authority(t, time.Now())
	files := issue(t, a, pki.Coordinator, time.Hour, "127.0.0.1")
	files.CRL = filepath.Join(dir, pki.CRLFile)
	s := serve(t, files)
	bad := dial(t, issue(t, a, pki.Runner, time.Hour, "bad"), s.address)
	good := dial(t, issue(t, a, pki.Runner, time.Hour, "good"), s.address)
	require.NoError(t, call(t, bad))
	require.NoError(t, call(t, good))
	_, err := a.Revoke(t.Context(), "bad")
	require.NoError(t, err)
	revoked := time.Now()
	require.Eventually(t, func() bool { return status.Code(call(t, bad)) == codes.Unauthenticated }, 5*time.Second,
		10*time.Millisecond)
	assert.Less(t, time.Since(revoked), lookInterval+2*time.Second)
	require.NoError(t, call(t, good))
}

// What cannot be used is logged once and changes nothing.
func TestBrokenFilesChangeNothing(t *testing.T) {
	a, dir := authority(t, time.Now())
	other, otherDir := authority(t, time.Now())
	files := issue(t, a, pki.Coordinator, time.Hour, "127.0.0.1")
	files.CRL = filepath.Join(t.TempDir(), "crl")
	replace(t, filepath.Join(dir, pki.CRLFile), files.CRL)
	foreign := issue(t, other, pki.Coordinator, time.Hour, "127.0.0.1")
	delta := filepath.Join(t.TempDir(), "delta")
	for _, c := range []struct{ file, by, text string }{
		{files.Certificate, foreign.Certificate, "private key does not match public key"},
		{files.Certificate, files.Key, "failed to find"},
		{files.CA, files.CRL, `expected PEM with \"CERTIFICATE\"`},
		{files.CA, foreign.Certificate, "is none of an authority"},
		{files.CRL, filepath.Join(otherDir, pki.CRLFile), "is signed by none of the authorities in --tls-client-ca"},
		{files.CRL, delta, "no such file"},
	} {
		var l log
		now := time.Now()
		s, err := open(files, l.logger(), func() time.Time { return now })
		require.NoError(t, err)
		m := s.now()
		kept := filepath.Join(t.TempDir(), "kept")
		replace(t, c.file, kept)
		if c.by == delta {
			require.NoError(t, os.Remove(c.file))
		} else {
			replace(t, c.by, c.file)
		}
		assert.Same(t, m, s.now(), "it was just looked at")
		now = now.Add(lookInterval)
		assert.Same(t, m, s.now())
		assert.Contains(t, l.String(), c.text)
		length := len(l.String())
		now = now.Add(lookInterval)
		assert.Same(t, m, s.now())
		assert.Len(t, l.String(), length, "it is logged once")
		_, err = open(files, l.logger(), time.Now)
		require.Error(t, err, "at the start it is an error")
		replace(t, kept, c.file)
		now = now.Add(lookInterval)
		assert.NotSame(t, m, s.now())
		assert.Contains(t, l.String(), "TLS files changed")
	}
}

func TestWhatEndsIsWarnedOf(t *testing.T) {
	a, _ := authority(t, time.Now())
	files := issue(t, a, pki.Runner, 100*time.Hour, "a1")
	var l log
	now := time.Now()
	s, err := open(files, l.logger(), func() time.Time { return now })
	require.NoError(t, err)
	for _, c := range []struct {
		after time.Duration
		warns bool
	}{
		{time.Hour, false}, {79 * time.Hour, false}, {81 * time.Hour, true}, {90 * time.Hour, false}, {106 * time.Hour, true},
	} {
		length := len(l.String())
		now = time.Now().Add(c.after)
		s.now()
		assert.Equal(t, c.warns, len(l.String()) > length, "%v: %s", c.after, l.String())
	}
	assert.Contains(t, l.String(), "certificate ends soon or has ended")
	shown := map[string]time.Time{}
	s.EachExpiry(func(what, file string, at time.Time) { shown[what+" "+file] = at })
	assert.WithinDuration(t, time.Now().Add(100*time.Hour), shown["certificate "+files.Certificate], time.Minute)
	assert.WithinDuration(t, time.Now().Add(1000*time.Hour), shown["authority "+files.CA], time.Minute)
	assert.Len(t, shown, 2)
}

// With several coordinators the name of each certificate is that of its own address.
func TestFailoverBetweenNames(t *testing.T) {
	a, _ := authority(t, time.Now())
	one := serve(t, issue(t, a, pki.Coordinator, time.Hour, "127.0.0.1"))
	two := serve(t, issue(t, a, pki.Coordinator, time.Hour, "localhost"))
	wrong := serve(t, issue(t, a, pki.Coordinator, time.Hour, "elsewhere"))
	st := dial(t, issue(t, a, pki.Runner, time.Hour, "a1"), port("localhost", two.address), one.address, wrong.address)
	for range 20 {
		require.NoError(t, call(t, st))
	}
}
