package station_test

import (
	"bytes"
	"context"
	crand "crypto/rand"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"misstep/app/station"
	"misstep/bundle/share"
	"misstep/coordinator"
	"misstep/coordinator/access"
	"misstep/corpus"
	"misstep/corpus/remote"
	"misstep/corpus/tree"
	misstepv1 "misstep/proto/misstep/v1"
)

// hostile is how long each of them tries; go test ./app/station -run Hostile -hostile 1m tries longer.
var hostile = flag.Duration("hostile", 10*time.Second, "how long a hostile runner and a hostile hunter try")

// whoKey carries a caller's name to the authenticator of these tests, which believes it: what is tried is what holders of valid
// credentials can do.
const whoKey = "who"

var roles = map[string]misstepv1.Role{
	"admin": misstepv1.Role_ROLE_ADMIN, "hunter": misstepv1.Role_ROLE_HUNTER, "honest": misstepv1.Role_ROLE_RUNNER,
	"hostile": misstepv1.Role_ROLE_RUNNER, "viewer": misstepv1.Role_ROLE_VIEWER, "triager": misstepv1.Role_ROLE_TRIAGER,
}

func believe(ctx context.Context) (*access.Caller, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	if len(md.Get(whoKey)) != 1 || roles[md.Get(whoKey)[0]] == 0 {
		return nil, nil
	}
	who := md.Get(whoKey)[0]
	return &access.Caller{Name: who, Kind: access.Token, Grants: []access.Grant{{Role: roles[who]}}}, nil
}

// siege is a coordinator with a campaign on which an honest runner works, while others try what they can.
type siege struct {
	t        *testing.T
	dir      string
	address  string
	campaign string
	ctx      context.Context //nolint:containedctx // of the whole test
	jdk      corpus.Digest

	mu sync.Mutex
	// leases and evidence of the honest runner, which the hostile one gets to see, as if it had found them in a log.
	leases, evidence []string
	// acknowledged outcomes by their only piece of evidence.
	acknowledged map[string]bool
	// tried counts the attacks by name.
	tried map[string]int
	// leaks are what should not have been possible.
	leaks []string
}

func besiege(t *testing.T) *siege {
	s := &siege{t: t, dir: t.TempDir(), ctx: t.Context(), acknowledged: map[string]bool{}, tried: map[string]int{}}
	c, err := station.Open(t.Context(), station.Place{
		Dir: s.dir, Access: access.Options{Authenticators: []access.Authenticator{believe}},
	}, coordinator.Config{SyncInterval: 10 * time.Millisecond}, share.Policy{})
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s.address = listener.Addr().String()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Serve(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		assert.NoError(t, <-done)
	})

	admin := s.connect("admin")
	files := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(files, "release"), []byte("JAVA_VERSION=\"17\"\n"), 0o644))
	m, err := tree.Scan(files)
	require.NoError(t, err)
	require.NoError(t, tree.Push(t.Context(), remote.Client(admin), files, m))
	s.jdk = m.Digest()
	submitted, err := misstepv1.NewAdminServiceClient(admin).SubmitCampaign(t.Context(), s.submission(1_000_000))
	require.NoError(t, err)
	s.campaign = submitted.GetCampaignId()
	return s
}

func (s *siege) submission(trials uint64) *misstepv1.SubmitCampaignRequest {
	return &misstepv1.SubmitCampaignRequest{
		Campaign: &misstepv1.Campaign{
			Name: "siege", Jdks: []string{"17"}, Workloads: []*misstepv1.CampaignWorkload{{Name: "w"}},
			Checks: []*misstepv1.Check{{Name: "gst-asgct"}}, Budget: &misstepv1.Budget{Trials: trials},
		},
		Jdks:      []*misstepv1.Jdk{{Name: "17", Digest: s.jdk.String()}},
		Workloads: []*misstepv1.Workload{{Name: "w", Digest: s.jdk.String()}},
	}
}

// connect returns a connection whose calls have the credential of who.
func (s *siege) connect(who string) *grpc.ClientConn {
	conn, err := station.ConnectWith([]grpc.DialOption{
		grpc.WithChainUnaryInterceptor(func(
			ctx context.Context, method string, in, out any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, o ...grpc.CallOption,
		) error {
			return invoke(metadata.AppendToOutgoingContext(ctx, whoKey, who), method, in, out, cc, o...)
		}),
		grpc.WithChainStreamInterceptor(func(
			ctx context.Context, d *grpc.StreamDesc, cc *grpc.ClientConn, method string, stream grpc.Streamer, o ...grpc.CallOption,
		) (grpc.ClientStream, error) {
			return stream(metadata.AppendToOutgoingContext(ctx, whoKey, who), d, cc, method, o...)
		}),
	}, s.address)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// leak notes what should not have been possible.
func (s *siege) leak(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.leaks) < 20 {
		s.leaks = append(s.leaks, fmt.Sprintf(format, args...))
	}
}

func (s *siege) seen() (lease, evidence string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.leases); n > 0 {
		lease = s.leases[n-1]
	}
	if n := len(s.evidence); n > 0 {
		evidence = s.evidence[rand.IntN(n)]
	}
	return lease, evidence
}

// writer writes evidence and keeps the receipts.
type writer struct {
	corpus.Store
	mu       sync.Mutex
	receipts map[string][]byte
}

func newWriter(conn *grpc.ClientConn) *writer {
	w := &writer{receipts: map[string][]byte{}}
	w.Store = remote.Client(conn, remote.WithReceipts(func(d corpus.Digest, receipt []byte) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.receipts[d.String()] = receipt
	}))
	return w
}

func (w *writer) write(ctx context.Context, data []byte) (*misstepv1.Evidence, error) {
	d, size, err := w.Put(ctx, bytes.NewReader(data), corpus.Digest{})
	w.mu.Lock()
	defer w.mu.Unlock()
	return &misstepv1.Evidence{Name: "x.txt", Digest: d.String(), Size: uint64(size), Receipt: w.receipts[d.String()]}, err
}

func quiet(l *misstepv1.Lease, evidence ...*misstepv1.Evidence) *misstepv1.HeldLease {
	o := &misstepv1.Outcome{Kind: misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN, Evidence: evidence}
	for _, c := range l.GetRecipe().GetChecks() {
		o.Checks = append(o.Checks, &misstepv1.CheckCount{Check: c.GetName(), Total: 5, Match: 5})
	}
	return &misstepv1.HeldLease{LeaseId: l.GetId(), State: &misstepv1.HeldLease_Outcome{Outcome: o}}
}

func of(l *misstepv1.Lease) *misstepv1.Lease {
	if l == nil {
		return &misstepv1.Lease{Recipe: &misstepv1.Recipe{Checks: []*misstepv1.Check{{Name: "gst-asgct"}}}}
	}
	return l
}

// work is the honest runner: it takes a lease, writes evidence, reports, and takes the next one.
func (s *siege) work(ctx context.Context) {
	conn := s.connect("honest")
	blobs, leases := newWriter(conn), misstepv1.NewLeaseServiceClient(conn)
	request := &misstepv1.SynchronizeRequest{Runner: &misstepv1.Runner{Id: "r", Slots: 1}, FreeSlots: 1}
	reported := ""
	for n := 0; ctx.Err() == nil; n++ {
		answer, err := leases.Synchronize(s.ctx, request)
		if err != nil {
			s.leak("the honest runner is refused: %v", err)
			return
		}
		if reported != "" {
			s.mu.Lock()
			s.acknowledged[reported] = true
			s.mu.Unlock()
		}
		request.Held, reported = nil, ""
		if len(answer.GetDesired()) != 1 {
			s.leak("the honest runner holds %d leases, not 1", len(answer.GetDesired()))
			return
		}
		l := answer.GetDesired()[0]
		s.mu.Lock()
		s.leases = append(s.leases, l.GetId())
		s.mu.Unlock()
		secret := make([]byte, 64)
		_, _ = crand.Read(secret)
		e, err := blobs.write(s.ctx, secret)
		if err != nil {
			s.leak("the honest runner cannot write: %v", err)
			return
		}
		s.mu.Lock()
		s.evidence = append(s.evidence, e.GetDigest())
		s.mu.Unlock()
		time.Sleep(20 * time.Millisecond) // its trial
		request.Held = []*misstepv1.HeldLease{quiet(l, e)}
		if l.GetCampaignId() == s.campaign { // others are stopped meanwhile
			reported = e.GetDigest()
		}
	}
	if reported != "" {
		if _, err := leases.Synchronize(s.ctx, &misstepv1.SynchronizeRequest{Runner: request.Runner, Held: request.Held}); err == nil {
			s.mu.Lock()
			s.acknowledged[reported] = true
			s.mu.Unlock()
		}
	}
}
