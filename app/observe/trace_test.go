package observe_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"log/slog"
	"net"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"

	"misstep/app/observe"
	"misstep/app/station"
	misstepv1 "misstep/proto/misstep/v1"
)

// collector keeps the spans that are exported to it.
type collector struct {
	collectorpb.UnimplementedTraceServiceServer
	mu       sync.Mutex
	spans    []*tracepb.Span
	services []string
}

func (c *collector) Export(
	_ context.Context, req *collectorpb.ExportTraceServiceRequest,
) (*collectorpb.ExportTraceServiceResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range req.GetResourceSpans() {
		for _, a := range r.GetResource().GetAttributes() {
			if a.GetKey() == "service.name" {
				c.services = append(c.services, a.GetValue().GetStringValue())
			}
		}
		for _, s := range r.GetScopeSpans() {
			c.spans = append(c.spans, s.GetSpans()...)
		}
	}
	return &collectorpb.ExportTraceServiceResponse{}, nil
}

func (c *collector) named(name string, kind tracepb.Span_SpanKind) (found []*tracepb.Span) {
	for _, s := range c.spans {
		if s.GetName() == name && s.GetKind() == kind {
			found = append(found, s)
		}
	}
	return found
}

func text(span *tracepb.Span, key string) string {
	for _, a := range span.GetAttributes() {
		if a.GetKey() == key {
			return a.GetValue().GetStringValue()
		}
	}
	return ""
}

// One submission leads to a trace for each trial: from the submission's span by a link, to what records the outcome by a parent.
func TestTracesFromSubmissionToOutcome(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var have collector
	server := grpc.NewServer()
	collectorpb.RegisterTraceServiceServer(server, &have)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+listener.Addr().String())
	stop, err := observe.StartTracing(t.Context(), "misstep-test", slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	s, campaign := play(t)
	finished, err := station.Trials(t.Context(), s.station, campaign)
	require.NoError(t, err)
	stop()

	have.mu.Lock()
	defer have.mu.Unlock()
	assert.Contains(t, have.services, "misstep-test")
	submissions := have.named("misstep.v1.AdminService/SubmitCampaign", tracepb.Span_SPAN_KIND_SERVER)
	require.Len(t, submissions, 1)
	client := have.named("misstep.v1.AdminService/SubmitCampaign", tracepb.Span_SPAN_KIND_CLIENT)
	require.Len(t, client, 1)
	assert.Equal(t, client[0].GetSpanId(), submissions[0].GetParentSpanId())

	runs := have.named("trial", tracepb.Span_SPAN_KIND_INTERNAL)
	require.Len(t, runs, trials)
	records := have.named("record outcome", tracepb.Span_SPAN_KIND_SERVER)
	require.Len(t, records, trials)
	for _, run := range runs {
		require.Len(t, run.GetLinks(), 1)
		assert.Equal(t, submissions[0].GetTraceId(), run.GetLinks()[0].GetTraceId())
		assert.Equal(t, submissions[0].GetSpanId(), run.GetLinks()[0].GetSpanId())
		assert.NotEqual(t, submissions[0].GetTraceId(), run.GetTraceId(), "a trace of its own")
		assert.Equal(t, campaign, text(run, "misstep.campaign"))
		assert.Equal(t, "clean", text(run, "misstep.outcome"))
		i := slices.IndexFunc(records, func(r *tracepb.Span) bool { return bytes.Equal(r.GetParentSpanId(), run.GetSpanId()) })
		require.GreaterOrEqual(t, i, 0, "its outcome was recorded")
		assert.Equal(t, run.GetTraceId(), records[i].GetTraceId())
		assert.Equal(t, text(run, "misstep.lease"), text(records[i], "misstep.lease"))
		id := hex.EncodeToString(run.GetTraceId())
		assert.Contains(t, s.log.String(), "trace_id="+id)
		assert.True(t, slices.ContainsFunc(finished, func(f *misstepv1.Trial) bool {
			return f.GetOutcome().GetTraceParent() == "00-"+id+"-"+hex.EncodeToString(run.GetSpanId())+"-01"
		}), "the outcome names its trace")
	}
	repeated := have.named("misstep.v1.LeaseService/Synchronize", tracepb.Span_SPAN_KIND_SERVER)
	assert.Empty(t, repeated, "calls that are repeated for ever")
}

// Without the variables of OpenTelemetry nothing is traced; a protocol that is not supported is an error.
func TestTracingIsOffByDefault(t *testing.T) {
	for _, name := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_TRACES_EXPORTER"} {
		t.Setenv(name, "")
	}
	logger := slog.New(slog.DiscardHandler)
	stop, err := observe.StartTracing(t.Context(), "misstep-test", logger)
	require.NoError(t, err)
	stop()
	assert.Empty(t, observe.TraceDialOptions())
	t.Setenv("OTEL_TRACES_EXPORTER", "otlp")
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")
	_, err = observe.StartTracing(t.Context(), "misstep-test", logger)
	require.ErrorContains(t, err, "OTEL_EXPORTER_OTLP_PROTOCOL: traces are exported by grpc only")
	t.Setenv("OTEL_SDK_DISABLED", "true")
	_, err = observe.StartTracing(t.Context(), "misstep-test", logger)
	require.NoError(t, err)
	assert.Empty(t, observe.TraceDialOptions())
	s, campaign := play(t)
	finished, err := station.Trials(t.Context(), s.station, campaign)
	require.NoError(t, err)
	for _, f := range finished {
		assert.Empty(t, f.GetOutcome().GetTraceParent())
	}
}
