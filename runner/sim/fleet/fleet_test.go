package fleet_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner/sim/fleet"
)

// granting leases trials until a number of results is there.
type granting struct {
	misstepv1.UnimplementedLeaseServiceServer
	mu      sync.Mutex
	next    int
	results map[string]int
	enough  func()
}

func (g *granting) Synchronize(_ context.Context, r *misstepv1.SynchronizeRequest) (*misstepv1.SynchronizeResponse, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, h := range r.GetHeld() {
		g.results[h.GetLeaseId()]++
	}
	if len(g.results) >= 300 {
		g.enough()
		return &misstepv1.SynchronizeResponse{}, nil
	}
	g.next++
	return &misstepv1.SynchronizeResponse{Desired: []*misstepv1.Lease{{
		Id: fmt.Sprint("L", g.next), Recipe: &misstepv1.Recipe{Checks: []*misstepv1.Check{{Name: "gst-asgct"}}},
	}}}, nil
}

func TestFleetReportsWhatItWasLeased(t *testing.T) {
	server, certificate, err := fleet.Certificate()
	require.NoError(t, err)
	client, err := fleet.Client(certificate)
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	g := &granting{results: map[string]int{}, enough: cancel}
	s := grpc.NewServer(grpc.Creds(credentials.NewTLS(server)))
	misstepv1.RegisterLeaseServiceServer(s, g)
	var serving sync.WaitGroup
	serving.Go(func() { _ = s.Serve(listener) })
	var f fleet.Fleet
	require.NoError(t, f.Run(ctx, fleet.Config{Addresses: []string{listener.Addr().String()}, TLS: client, Runners: 7, Seed: 1}))
	s.Stop()
	serving.Wait()
	g.mu.Lock() // a call may still be answered
	defer g.mu.Unlock()
	assert.GreaterOrEqual(t, len(g.results), 300)
	for id, n := range g.results {
		assert.Equal(t, 1, n, id)
	}
	assert.EqualValues(t, 7, f.Connected.Load())
	assert.InDelta(t, len(g.results), f.Results.Load(), 7, "the last answers may have been cut off")
	assert.Zero(t, f.Failed.Load())
	assert.Positive(t, f.Latencies.Quantile(0.5))
	assert.GreaterOrEqual(t, f.Latencies.Quantile(0.99), f.Latencies.Quantile(0.5))
}

// Each runner shows a certificate of its own, which names it; the coordinator is the authority.
func TestEachRunnerHasACertificate(t *testing.T) {
	certificate, key, err := fleet.NewAuthority()
	require.NoError(t, err)
	authority, err := fleet.ParseAuthority(certificate, key)
	require.NoError(t, err)
	pair, err := tls.X509KeyPair(certificate, key)
	require.NoError(t, err)
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(certificate)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var mu sync.Mutex
	named := map[string]string{}
	g := &granting{results: map[string]int{}, enough: cancel}
	s := grpc.NewServer(grpc.Creds(credentials.NewTLS(&tls.Config{
		Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS13, ClientCAs: trusted,
		ClientAuth: tls.RequireAndVerifyClientCert,
	})), grpc.UnaryInterceptor(func(ctx context.Context, r any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		p, _ := peer.FromContext(ctx)
		mu.Lock()
		defer mu.Unlock()
		id := r.(*misstepv1.SynchronizeRequest).GetRunner().GetId()
		named[id] = p.AuthInfo.(credentials.TLSInfo).State.PeerCertificates[0].URIs[0].String()
		return handle(ctx, r)
	}))
	misstepv1.RegisterLeaseServiceServer(s, g)
	go func() { _ = s.Serve(listener) }()
	defer s.Stop()
	var f fleet.Fleet
	require.NoError(t, f.Run(ctx, fleet.Config{
		Addresses: []string{listener.Addr().String()}, Authority: authority, Runners: 3, Seed: 1,
	}))
	mu.Lock()
	defer mu.Unlock()
	require.Len(t, named, 3)
	for id, uri := range named {
		assert.Equal(t, "misstep://runner/"+id, uri)
	}
}

func TestLatencies(t *testing.T) {
	var l fleet.Latencies
	assert.Zero(t, l.Quantile(0.5))
	for i := range 1000 {
		l.Add(time.Duration(i+1) * time.Millisecond)
	}
	assert.EqualValues(t, 1000, l.Count())
	assert.InEpsilon(t, 500*time.Millisecond, l.Quantile(0.5), 0.03)
	assert.InEpsilon(t, 990*time.Millisecond, l.Quantile(0.99), 0.03)
	l.Reset()
	assert.Zero(t, l.Count())
}
