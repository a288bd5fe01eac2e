package observe_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/test/bufconn"

	"misstep/app/observe"
	"misstep/coordinator"
	"misstep/coordinator/store"
	"misstep/coordinator/store/memory"
)

// broken is a store that does not answer while it is away.
type broken struct {
	store.Store
	away atomic.Bool
}

func (b *broken) View(ctx context.Context, f func(store.Tx) error) error {
	if b.away.Load() {
		return errors.New("the database is away")
	}
	return b.Store.View(ctx, f)
}

// A coordinator whose store does not answer is alive, but not ready: over HTTP, over gRPC and for a scrape.
func TestACoordinatorWithoutItsStoreIsNotReady(t *testing.T) {
	st := &broken{Store: memory.New()}
	metrics := observe.NewCoordinator()
	c := coordinator.New(coordinator.Config{Store: metrics.Store(st), Metrics: metrics})
	server := grpc.NewServer(metrics.ServerOptions()...)
	c.Register(server)
	run := observe.Health(server, server, health.NewServer(), c.CheckReadiness)
	metrics.Load(server, c.Load)
	pipe := bufconn.Listen(1 << 16)
	go func() { _ = server.Serve(pipe) }()
	t.Cleanup(server.Stop)
	conn, err := grpc.NewClient("passthrough:x", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return pipe.DialContext(ctx) }))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	at, stop, err := observe.Endpoints{Metrics: metrics.Registry, Ready: c.CheckReadiness}.Start("127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(stop)
	_, _, err = observe.Endpoints{}.Start(at)
	require.ErrorContains(t, err, "choose another --http")

	watching, cancel := context.WithCancel(t.Context())
	defer cancel()
	watch, err := healthpb.NewHealthClient(conn).Watch(watching, &healthpb.HealthCheckRequest{Service: "misstep.v1.LeaseService"})
	require.NoError(t, err)
	next := func(want healthpb.HealthCheckResponse_ServingStatus) {
		t.Helper()
		response, err := watch.Recv()
		require.NoError(t, err)
		require.Equal(t, want, response.GetStatus())
	}
	next(healthpb.HealthCheckResponse_SERVING)
	working, end := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		run(working)
	}()
	code, _ := get(t, at+"/metrics")
	assert.Equal(t, http.StatusOK, code)

	st.away.Store(true)
	next(healthpb.HealthCheckResponse_NOT_SERVING)
	code, text := get(t, at+"/readyz")
	assert.Equal(t, http.StatusServiceUnavailable, code)
	assert.Contains(t, text, "the database is away")
	code, _ = get(t, at+"/healthz")
	assert.Equal(t, http.StatusOK, code)
	code, text = get(t, at+"/metrics")
	assert.Equal(t, http.StatusInternalServerError, code)
	assert.Contains(t, text, "the database is away")

	st.away.Store(false)
	next(healthpb.HealthCheckResponse_SERVING)
	_, text = get(t, at+"/metrics")
	assert.Contains(t, text, `misstep_store_transaction_seconds_count{access="read",result="error"}`)
	end()
	<-ended
	next(healthpb.HealthCheckResponse_NOT_SERVING)
}
