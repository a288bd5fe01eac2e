package station_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/connectivity"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"misstep/app/station"
	"misstep/bundle/share"
	"misstep/coordinator"
	misstepv1 "misstep/proto/misstep/v1"
)

// A coordinator that is told to end does so within a few seconds, whoever is connected: those who have said nothing, such as
// Nomad's checks of a port, do not hold it up at all, those who stop in the middle of their handshake only as long as calls are
// answered.
func TestNobodyHoldsACoordinatorUp(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		says   string
		within time.Duration
	}{
		"silent":           {"", 3 * time.Second},
		"half a handshake": {"PRI * HTTP/2.0\r\n", 8 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, err := station.Open(t.Context(), station.Place{Dir: t.TempDir()}, coordinator.Config{}, share.Policy{})
			require.NoError(t, err)
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			ctx, end := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- server.Serve(ctx, listener) }()
			for range 3 {
				conn, err := net.Dial("tcp", listener.Addr().String())
				require.NoError(t, err)
				defer conn.Close()
				_, err = conn.Write([]byte(c.says))
				require.NoError(t, err)
			}
			client, err := station.Connect(listener.Addr().String()) // watches the coordinator's health
			require.NoError(t, err)
			defer client.Close()
			_, err = misstepv1.NewAdminServiceClient(client).ListCampaigns(t.Context(), &misstepv1.ListCampaignsRequest{})
			require.NoError(t, err)
			watching, stop := context.WithCancel(t.Context())
			defer stop()
			watch, err := healthpb.NewHealthClient(client).Watch(watching, &healthpb.HealthCheckRequest{})
			require.NoError(t, err)
			_, err = watch.Recv()
			require.NoError(t, err)

			began := time.Now()
			end()
			last, err := watch.Recv()
			require.NoError(t, err)
			require.Equal(t, healthpb.HealthCheckResponse_NOT_SERVING, last.GetStatus())
			require.Less(t, time.Since(began), time.Second, "clients are told at once")
			stop()
			select {
			case err := <-done:
				require.NoError(t, err)
			case <-time.After(30 * time.Second):
				t.Fatal("it still serves")
			}
			require.Less(t, time.Since(began), c.within)
			require.NotEqual(t, connectivity.Ready, client.GetState())
		})
	}
}
