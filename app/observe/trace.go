package observe

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.34.0"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/stats"

	misstepv1 "misstep/proto/misstep/v1"
)

// tracing is true while this process exports traces.
var tracing atomic.Bool

// flushTimeout bounds how long a process that ends waits until its last spans are exported.
const flushTimeout = 5 * time.Second

// StartTracing exports the traces of this process by OTLP over gRPC if the environment says so: OTEL_EXPORTER_OTLP_ENDPOINT or
// OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is set, or OTEL_TRACES_EXPORTER is otlp, unless OTEL_TRACES_EXPORTER is none or
// OTEL_SDK_DISABLED is true. The library reads the other variables of the OpenTelemetry specification, such as OTEL_TRACES_SAMPLER.
// stop exports what is left.
func StartTracing(ctx context.Context, service string, logger *slog.Logger) (stop func(), err error) {
	if !tracesWanted() {
		return func() {}, nil
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"} {
		if p := os.Getenv(name); p != "" && p != "grpc" {
			return nil, fmt.Errorf("%s: traces are exported by grpc only, got %q: set it to grpc, or OTEL_TRACES_EXPORTER to none",
				name, p)
		}
	}
	exporter, err := otlptracegrpc.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("export traces (OTEL_TRACES_EXPORTER=none turns it off): %w", err)
	}
	// The second one wins: OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES.
	named, err := resource.New(ctx, resource.WithAttributes(semconv.ServiceName(service)), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("describe this process in traces: %w", err)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(named))
	lost := func(err error) {
		logger.Warn("traces are not exported", "endpoint", tracesEndpoint(), "error", err,
			"remedy", "start the collector, correct OTEL_EXPORTER_OTLP_ENDPOINT, or set OTEL_TRACES_EXPORTER=none")
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(lost))
	otel.SetTracerProvider(provider)
	otel.SetTextMapPropagator(propagation.TraceContext{})
	tracing.Store(true)
	return func() {
		tracing.Store(false)
		flush, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
		defer cancel()
		if err := provider.Shutdown(flush); err != nil {
			lost(err)
		}
	}, nil
}

// tracesEndpoint is where the library exports to.
func tracesEndpoint() string {
	return cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT"), "localhost:4317")
}

func tracesWanted() bool {
	if strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") {
		return false
	}
	switch os.Getenv("OTEL_TRACES_EXPORTER") {
	case "otlp":
		return true
	case "":
		return os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
	}
	return false
}

// TraceDialOptions make the calls of a connection spans, if this process exports traces.
func TraceDialOptions() []grpc.DialOption {
	if !tracing.Load() {
		return nil
	}
	return []grpc.DialOption{grpc.WithStatsHandler(otelgrpc.NewClientHandler(otelgrpc.WithFilter(worthASpan)))}
}

// worthASpan leaves out the calls that are repeated for ever: what they do is in the spans of trials.
func worthASpan(call *stats.RPCTagInfo) bool {
	return call.FullMethodName != misstepv1.LeaseService_Synchronize_FullMethodName &&
		!strings.HasPrefix(call.FullMethodName, "/grpc.")
}

func tracer() trace.Tracer { return otel.Tracer("misstep") }

// traceParent returns the span of a context in the form of W3C Trace Context, "" for none.
func traceParent(ctx context.Context) string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier["traceparent"]
}

// remoteSpan returns the span that traceParent wrote; it is not valid for other texts.
func remoteSpan(parent string) trace.SpanContext {
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": parent})
	return trace.SpanContextFromContext(ctx)
}
