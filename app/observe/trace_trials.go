package observe

import (
	"context"
	"log/slog"
	"sync"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"

	"misstep/coordinator/store"
	"misstep/internal/logctx"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner"
)

// A trial is a trace of its own, which links to the trace of the submission of its campaign: a campaign may have millions. The
// submission keeps its span (trace_parent), leases carry it to runners, and an outcome carries the trial's span back, of which what
// the coordinator does with the outcome is a child.

// TraceServerOptions make the calls of a coordinator spans, if this process exports traces.
func TraceServerOptions() []grpc.ServerOption {
	if !tracing.Load() {
		return nil
	}
	return []grpc.ServerOption{grpc.StatsHandler(otelgrpc.NewServerHandler(otelgrpc.WithFilter(worthASpan)))}
}

// TraceMessages returns what connects the traces of submissions and trials, which needs the messages of calls; nil if this process
// does not export traces.
func TraceMessages(st store.Store) grpc.UnaryServerInterceptor {
	if !tracing.Load() {
		return nil
	}
	return (&trialTraces{store: st}).intercept
}

// trialTraces connects the traces of submissions and trials.
type trialTraces struct {
	store store.Store

	mu      sync.Mutex
	parents map[string]string // trace_parent by campaign; guarded by mu
}

// maxParents bounds the campaigns that are remembered.
const maxParents = 1000

func (t *trialTraces) intercept(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	switch req := req.(type) {
	case *misstepv1.SubmitCampaignRequest:
		req.TraceParent = traceParent(ctx)
	case *misstepv1.SynchronizeRequest:
		spans := startRecords(req)
		response, err := handle(ctx, req)
		for _, span := range spans {
			if err != nil {
				span.SetStatus(codes.Error, err.Error())
			}
			span.End()
		}
		if response, ok := response.(*misstepv1.SynchronizeResponse); ok && err == nil {
			t.link(ctx, response.GetDesired())
		}
		return response, err
	}
	return handle(ctx, req)
}

// startRecords starts a span for each outcome of a traced trial that a runner reports.
func startRecords(req *misstepv1.SynchronizeRequest) (spans []trace.Span) {
	for _, h := range req.GetHeld() {
		if parent := remoteSpan(h.GetOutcome().GetTraceParent()); parent.IsValid() {
			_, span := tracer().Start(trace.ContextWithRemoteSpanContext(context.Background(), parent), "record outcome",
				trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(attribute.String("misstep.lease", h.GetLeaseId()),
					attribute.String("misstep.runner", req.GetRunner().GetId())))
			spans = append(spans, span)
		}
	}
	return spans
}

// link sets the span of the submission in each lease.
func (t *trialTraces) link(ctx context.Context, leases []*misstepv1.Lease) {
	for _, l := range leases {
		l.TraceParent = t.parent(ctx, l)
	}
}

// parent returns the span of the submission of a lease's campaign, "" when it has none or the store does not answer.
func (t *trialTraces) parent(ctx context.Context, of *misstepv1.Lease) string {
	campaign := of.GetCampaignId()
	t.mu.Lock()
	parent, known := t.parents[campaign]
	t.mu.Unlock()
	if known {
		return parent
	}
	err := t.store.View(ctx, func(tx store.Tx) error {
		l, err := tx.Lease(of.GetId()) // which knows the project
		if err != nil {
			return err
		}
		c, err := tx.Campaign(l.Job.Campaign)
		if err == nil {
			parent = c.Submission.GetTraceParent()
		}
		return err
	})
	if err != nil {
		return ""
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.parents == nil || len(t.parents) >= maxParents {
		t.parents = map[string]string{}
	}
	t.parents[campaign] = parent
	return parent
}

// TraceTrials returns an executor that makes each trial a trace, if this process exports traces.
func TraceTrials(next runner.Executor) runner.Executor {
	return decorate(next, func(ctx context.Context, recipe *misstepv1.Recipe, progress runner.ProgressFunc) (outcome, error) {
		if !tracing.Load() {
			return next.Run(ctx, recipe, progress)
		}
		lease := runner.LeaseOf(ctx)
		options := []trace.SpanStartOption{trace.WithNewRoot(), trace.WithAttributes(
			attribute.String("misstep.campaign", lease.GetCampaignId()), attribute.Int64("misstep.trial", int64(lease.GetTrial())),
			attribute.String("misstep.lease", lease.GetId()), attribute.String("misstep.jdk", recipe.GetJdk().GetName()),
			attribute.String("misstep.workload", recipe.GetWorkload().GetName()),
		)}
		if submission := remoteSpan(lease.GetTraceParent()); submission.IsValid() {
			options = append(options, trace.WithLinks(trace.Link{SpanContext: submission}))
		}
		ctx, span := tracer().Start(ctx, "trial", options...)
		defer span.End()
		ctx = logctx.With(ctx, slog.String("trace_id", span.SpanContext().TraceID().String()))
		result, err := next.Run(ctx, recipe, progress)
		span.SetAttributes(attribute.String("misstep.outcome", endOf(ctx, result, err)))
		switch {
		case err != nil:
			span.SetStatus(codes.Error, err.Error())
		case result != nil:
			result.TraceParent = traceParent(ctx)
		}
		return result, err
	})
}
