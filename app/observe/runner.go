package observe

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	grpcprom "github.com/grpc-ecosystem/go-grpc-middleware/providers/prometheus"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner"
)

// Runner has the metrics of one runner.
type Runner struct {
	// Registry holds all of them.
	Registry *prometheus.Registry

	calls   *grpcprom.ClientMetrics
	slots   prometheus.Gauge
	seconds *prometheus.HistogramVec
	counts  runner.Counts
	// ready is what the runner's last look at its readiness found; nil before the first one.
	ready atomic.Pointer[readiness]
}

type readiness struct{ err error }

// NewRunner returns metrics that are all zero.
func NewRunner() *Runner { return runnerIn(newRegistry()) }

// NewRunner returns metrics of a runner in the coordinator's process, which are in the same registry.
func (c *Coordinator) NewRunner() *Runner { return runnerIn(c.Registry) }

func runnerIn(registry *prometheus.Registry) *Runner {
	r := &Runner{
		Registry: registry,
		calls:    grpcprom.NewClientMetrics(grpcprom.WithClientHandlingTimeHistogram(ofCalls)),
		slots: prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: namespace, Name: "runner_slots", Help: "Maximum number of concurrent trials.",
		}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Name: "trial_seconds", Help: "Trials that ended, by kind of outcome.",
			Buckets: prometheus.ExponentialBuckets(0.25, 2, 14),
		}, []string{"outcome"}),
	}
	running := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: namespace, Name: "runner_slots_busy", Help: "Trials that run.",
	}, func() float64 { return float64(r.counts.Totals().Running) })
	r.Registry.MustRegister(r.calls, r.slots, r.seconds, running)
	return r
}

// DialOptions make a connection count and time its calls.
func (r *Runner) DialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithChainUnaryInterceptor(r.calls.UnaryClientInterceptor()),
		grpc.WithChainStreamInterceptor(r.calls.StreamClientInterceptor()),
	}
}

// Executor returns an executor whose trials are counted and timed, and whose readiness is noted when the runner looks at it. slots
// is the maximum number of concurrent trials.
func (r *Runner) Executor(next runner.Executor, slots int) runner.Executor {
	r.slots.Set(float64(slots))
	counted := runner.Count(next, &r.counts)
	timed := decorate(counted, func(ctx context.Context, recipe *misstepv1.Recipe, progress runner.ProgressFunc) (outcome, error) {
		began := time.Now()
		result, err := counted.Run(ctx, recipe, progress)
		r.seconds.WithLabelValues(endOf(ctx, result, err)).Observe(time.Since(began).Seconds())
		return result, err
	})
	return noted{timed, &r.ready}
}

// noted is a runner.Executor that notes whether it was ready.
type noted struct {
	runner.Executor
	ready *atomic.Pointer[readiness]
}

// CheckReadiness implements runner.ReadinessChecker.
func (n noted) CheckReadiness(ctx context.Context) error {
	err := runner.CheckReadiness(ctx, n.Executor)
	n.ready.Store(&readiness{err})
	return err
}

// CheckReadiness returns what the runner found when it last looked whether it is ready: an error that says why it takes no work.
// The runner itself looks: that starts a JVM.
func (r *Runner) CheckReadiness(context.Context) error {
	last := r.ready.Load()
	if last == nil {
		return errors.New("the runner is starting: it has not looked yet whether it is ready")
	}
	return last.err
}

// endOf returns how a trial ended: the kind of its outcome, or why it has none.
func endOf(ctx context.Context, o outcome, err error) string {
	switch {
	case err != nil && ctx.Err() != nil:
		return "cancelled"
	case err != nil:
		return "infrastructure-failure"
	}
	return misstepv1.OutcomeName(o.GetKind())
}

type outcome = *misstepv1.Outcome

func decorate(next runner.Executor, run runner.ExecutorFunc) runner.Executor {
	return decorated{next, run}
}

// decorated is a runner.Executor that is ready when the decorated one is.
type decorated struct {
	next runner.Executor
	runner.ExecutorFunc
}

// CheckReadiness implements runner.ReadinessChecker.
func (d decorated) CheckReadiness(ctx context.Context) error {
	return runner.CheckReadiness(ctx, d.next)
}
