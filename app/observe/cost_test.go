package observe_test

import (
	"context"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"misstep/app/observe"
	"misstep/coordinator"
	"misstep/coordinator/intake"
	"misstep/coordinator/store"
	"misstep/coordinator/store/memory"
	misstepv1 "misstep/proto/misstep/v1"
)

// BenchmarkCall measures what metrics and traces add to a call that reports a result and takes the next lease, in processor time of
// both sides: cpu-µs/op depends less on what else runs on the machine than the time of the call.
func BenchmarkCall(b *testing.B) {
	for _, observed := range []string{"nothing", "metrics", "metrics and traces"} {
		b.Run(observed, func(b *testing.B) { benchmarkCall(b, observed != "nothing", observed == "metrics and traces") })
	}
}

func benchmarkCall(b *testing.B, withMetrics, withTraces bool) {
	parent := ""
	if withTraces {
		parent = "00-00000000000000000000000000000001-0000000000000001-01"
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(b, err)
		exported := grpc.NewServer()
		collectorpb.RegisterTraceServiceServer(exported, dropping{})
		go func() { _ = exported.Serve(listener) }()
		b.Cleanup(exported.Stop)
		b.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+listener.Addr().String())
		stop, err := observe.StartTracing(b.Context(), "misstep-bench", slog.New(slog.DiscardHandler))
		require.NoError(b, err)
		b.Cleanup(stop)
	}
	var st store.Store = memory.New()
	config, options := coordinator.Config{}, append(coordinator.ServerOptions(), observe.TraceServerOptions()...)
	if withMetrics {
		metrics := observe.NewCoordinator()
		st, config.Metrics = metrics.Store(st), metrics
		options = append(options, metrics.ServerOptions()...)
	}
	config.Store = st
	c := coordinator.New(config)
	server := grpc.NewServer(options...)
	c.Register(intake.Registrar(server, observe.TraceMessages(st)))
	pipe := bufconn.Listen(1 << 20)
	go func() { _ = server.Serve(pipe) }()
	b.Cleanup(server.Stop)
	conn, err := grpc.NewClient("passthrough:pipe", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return pipe.DialContext(ctx) }))
	require.NoError(b, err)
	b.Cleanup(func() { _ = conn.Close() })
	_, err = c.SubmitCampaign(b.Context(), benchmarked())
	require.NoError(b, err)
	client := misstepv1.NewLeaseServiceClient(conn)
	request := &misstepv1.SynchronizeRequest{Runner: &misstepv1.Runner{Id: "r", Slots: 1}, FreeSlots: 1}
	before := processorTime()
	for b.Loop() {
		response, err := client.Synchronize(b.Context(), request)
		require.NoError(b, err)
		require.Len(b, response.GetDesired(), 1)
		request.Held = []*misstepv1.HeldLease{{
			LeaseId: response.GetDesired()[0].GetId(), State: &misstepv1.HeldLease_Outcome{Outcome: &misstepv1.Outcome{
				Kind: misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN, TraceParent: parent,
			}},
		}}
	}
	b.ReportMetric(float64((processorTime()-before).Microseconds())/float64(b.N), "cpu-µs/op")
}

// dropping takes spans and keeps none.
type dropping struct {
	collectorpb.UnimplementedTraceServiceServer
}

func (dropping) Export(
	context.Context, *collectorpb.ExportTraceServiceRequest,
) (*collectorpb.ExportTraceServiceResponse, error) {
	return &collectorpb.ExportTraceServiceResponse{}, nil
}

func benchmarked() *misstepv1.SubmitCampaignRequest {
	const digest = "sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
	return &misstepv1.SubmitCampaignRequest{
		Campaign: &misstepv1.Campaign{
			Name: "bench", Seed: 1, Jdks: []string{"jdk21"}, Workloads: []*misstepv1.CampaignWorkload{{Name: "w"}},
			Checks: []*misstepv1.Check{{Name: "gst-asgct"}}, Budget: &misstepv1.Budget{Trials: 1e9},
		},
		Jdks: []*misstepv1.Jdk{{Name: "jdk21", Digest: digest}}, Workloads: []*misstepv1.Workload{{Name: "w", Digest: digest}},
	}
}

func processorTime() time.Duration {
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
