package observe

import (
	"context"
	"time"

	grpcprom "github.com/grpc-ecosystem/go-grpc-middleware/providers/prometheus"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"

	"misstep/coordinator"
	"misstep/coordinator/store"
)

// Coordinator has the metrics of one coordinator. It is a coordinator.Metrics.
type Coordinator struct {
	// Registry holds all of them.
	Registry *prometheus.Registry

	calls        *grpcprom.ServerMetrics
	granted      prometheus.Counter
	limited      *prometheus.CounterVec
	results      *prometheus.CounterVec
	dropped      *prometheus.CounterVec
	batches      prometheus.Histogram
	transactions *prometheus.HistogramVec
}

// latencyBuckets are those of calls and transactions, 0.5 ms to 16 s.
var (
	latencyBuckets = prometheus.ExponentialBuckets(0.0005, 2, 16)
	ofCalls        = grpcprom.WithHistogramBuckets(latencyBuckets)
)

// NewCoordinator returns metrics that are all zero.
func NewCoordinator() *Coordinator {
	c := &Coordinator{
		Registry: newRegistry(),
		calls:    grpcprom.NewServerMetrics(grpcprom.WithServerHandlingTimeHistogram(ofCalls)),
		granted: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: namespace, Name: "leases_granted_total", Help: "Leases granted to runners.",
		}),
		results: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Name: "results_total", Help: "Results of live leases by kind of outcome.",
		}, []string{"kind"}),
		dropped: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Name: "results_dropped_total",
			Help: "Results that were not recorded: of leases that their runner does not hold, malformed, or unfit for their lease.",
		}, []string{"reason"}),
		limited: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Name: "calls_limited_total",
			Help: "Calls by class that were refused or had to wait, since their caller called too often; class credential: since " +
				"too many bad credentials came before.",
		}, []string{"class"}),
		batches: prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: namespace, Name: "store_batch_calls", Help: "Calls that one writing transaction served.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 11),
		}),
		transactions: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Name: "store_transaction_seconds",
			Help: "Transactions of the store from their request to their end, waiting included.", Buckets: latencyBuckets,
		}, []string{"access", "result"}),
	}
	for _, reason := range []string{coordinator.NotHeld, coordinator.Malformed, coordinator.Unfit} {
		c.dropped.WithLabelValues(reason)
	}
	c.Registry.MustRegister(c.calls, c.granted, c.limited, c.results, c.dropped, c.batches, c.transactions)
	return c
}

// Granted implements coordinator.Metrics.
func (c *Coordinator) Granted(leases int) { c.granted.Add(float64(leases)) }

// Result implements coordinator.Metrics.
func (c *Coordinator) Result(kind string) { c.results.WithLabelValues(kind).Inc() }

// Dropped implements coordinator.Metrics.
func (c *Coordinator) Dropped(reason string, results int) {
	c.dropped.WithLabelValues(reason).Add(float64(results))
}

// Limited counts a call that was refused or had to wait, since its caller called too often.
func (c *Coordinator) Limited(class string) { c.limited.WithLabelValues(class).Inc() }

// Batch implements coordinator.Metrics.
func (c *Coordinator) Batch(calls int) { c.batches.Observe(float64(calls)) }

// ServerOptions make a gRPC server count and time its calls by method and code.
func (c *Coordinator) ServerOptions() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(c.calls.UnaryServerInterceptor()),
		grpc.ChainStreamInterceptor(c.calls.StreamServerInterceptor()),
	}
}

// Load shows the load of a coordinator, which is asked at each scrape. server is the one whose calls are counted: each of its
// methods has a count from the start.
func (c *Coordinator) Load(server *grpc.Server, load func(context.Context) (coordinator.Load, error)) {
	c.calls.InitializeMetrics(server)
	c.Registry.MustRegister(loadCollector{load})
}

// Store returns a store whose transactions are timed.
func (c *Coordinator) Store(next store.Store) store.Store { return timedStore{next, c.transactions} }

type timedStore struct {
	store.Store
	seconds *prometheus.HistogramVec
}

// View implements store.Store.
func (s timedStore) View(ctx context.Context, f func(store.Tx) error) error {
	return s.time("read", func() error { return s.Store.View(ctx, f) })
}

// Update implements store.Store.
func (s timedStore) Update(ctx context.Context, f func(store.Tx) error) error {
	return s.time("write", func() error { return s.Store.Update(ctx, f) })
}

func (s timedStore) time(access string, f func() error) error {
	began := time.Now()
	err := f()
	result := "ok"
	if err != nil {
		result = "error"
	}
	s.seconds.WithLabelValues(access, result).Observe(time.Since(began).Seconds())
	return err
}

// loadCollector is a prometheus.Collector.
type loadCollector struct {
	load func(context.Context) (coordinator.Load, error)
}

var loadMetrics = []struct {
	desc  *prometheus.Desc
	value func(coordinator.Load) uint64
}{
	{gauge("runners", "Runners that called within the last lease time."), func(l coordinator.Load) uint64 { return l.Runners }},
	{gauge("fleet_slots", "Slots of these runners."), func(l coordinator.Load) uint64 { return l.Slots }},
	{
		gauge("runners_held_back", "Runners that get fewer leases than they have slots, by a limit of their owner."),
		func(l coordinator.Load) uint64 { return l.HeldBack },
	},
	{gauge("campaigns_running", "Campaigns that run."), func(l coordinator.Load) uint64 { return l.Campaigns }},
	{gauge("trials_running", "Trials that are leased."), func(l coordinator.Load) uint64 { return l.Running }},
	{gauge("trials_waiting", "Trials of running campaigns that wait."), func(l coordinator.Load) uint64 { return l.Waiting }},
	{
		gauge("repetitions_waiting", "Trials that wait for another owner's runner to run them once more."),
		func(l coordinator.Load) uint64 { return l.Repetitions },
	},
	{
		gauge("owners_set_aside", "Owners of runners who get no leases, as their results differ from the others' beyond chance."),
		func(l coordinator.Load) uint64 { return l.SetAside },
	},
}

func gauge(name, help string) *prometheus.Desc {
	return prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, nil, nil)
}

// Describe implements prometheus.Collector.
func (loadCollector) Describe(out chan<- *prometheus.Desc) {
	for _, m := range loadMetrics {
		out <- m.desc
	}
}

// Collect implements prometheus.Collector. A store that does not answer makes the scrape fail.
func (c loadCollector) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), readyTimeout)
	defer cancel()
	load, err := c.load(ctx)
	for _, m := range loadMetrics {
		if err != nil {
			out <- prometheus.NewInvalidMetric(m.desc, err)
			return
		}
		out <- prometheus.MustNewConstMetric(m.desc, prometheus.GaugeValue, float64(m.value(load)))
	}
}
