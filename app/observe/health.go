package observe

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"
)

// healthInterval is the time between two looks at what a server needs, and lookTimeout bounds one.
const (
	healthInterval = 2 * time.Second
	lookTimeout    = 2 * time.Second
)

// patience is the number of looks without an answer after which a server counts as not ready: a loaded store answers late.
const patience = 3

// Health adds grpc.health.v1.Health, through a registrar of its services, and server reflection to a gRPC server, whose other
// services are registered already. run looks whether the server is ready until its context ends, the first time before Health
// returns, so that calls right after the start find it ready. Afterwards each watcher is told that none of the services is serving.
// An error is believed at once, no answer in time the third time.
func Health(
	server *grpc.Server, registrar grpc.ServiceRegistrar, states *health.Server, ready func(context.Context) error,
) (run func(context.Context)) {
	services := []string{""} // the server as a whole
	for name := range server.GetServiceInfo() {
		services = append(services, name)
	}
	set := func(state healthpb.HealthCheckResponse_ServingStatus) {
		for _, name := range services {
			states.SetServingStatus(name, state)
		}
	}
	first := healthpb.HealthCheckResponse_SERVING
	if look(context.Background(), ready) != nil {
		first = healthpb.HealthCheckResponse_NOT_SERVING
	}
	set(first)
	healthpb.RegisterHealthServer(registrar, states)
	reflection.Register(server)
	return func(ctx context.Context) {
		defer states.Shutdown()
		ticker := time.NewTicker(healthInterval)
		defer ticker.Stop()
		for silent := 0; ; {
			switch err := look(ctx, ready); {
			case err == nil:
				silent = 0
				set(healthpb.HealthCheckResponse_SERVING)
			case isLate(err) && silent+1 < patience:
				silent++
			default:
				set(healthpb.HealthCheckResponse_NOT_SERVING)
			}
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
		}
	}
}

func look(ctx context.Context, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	return ready(ctx)
}

func isLate(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || status.Code(err) == codes.DeadlineExceeded
}
