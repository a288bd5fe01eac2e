package main

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
)

// What a coordinator observes of itself.
const (
	observedNothing = ""
	observedMetrics = "metrics"
	observedTraces  = "metrics and traces"
)

// observedRunners is the fleet with which the cost of observing is measured.
const observedRunners = 1000

// sink takes the spans that coordinators export, and drops them.
type sink struct {
	collectorpb.UnimplementedTraceServiceServer
	address string
	spans   atomic.Uint64
}

// Export implements the TraceService of OTLP.
func (s *sink) Export(
	_ context.Context, r *collectorpb.ExportTraceServiceRequest,
) (*collectorpb.ExportTraceServiceResponse, error) {
	for _, resource := range r.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			s.spans.Add(uint64(len(scope.GetSpans())))
		}
	}
	return &collectorpb.ExportTraceServiceResponse{}, nil
}

func (s *sink) count() uint64 { return s.spans.Load() }

// serve listens until stop is called.
func (s *sink) serve() (stop func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for spans: %w", err)
	}
	server := grpc.NewServer()
	collectorpb.RegisterTraceServiceServer(server, s)
	s.address = listener.Addr().String()
	go func() { _ = server.Serve(listener) }()
	return server.Stop, nil
}
