// Package observe shows what running coordinators and runners do: metrics for Prometheus, health and profiles over HTTP, health and
// reflection over gRPC, and traces by OpenTelemetry. All of it is decorators and interceptors at the edge; what is observed knows
// nothing of it.
package observe

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"misstep/internal/serverlog"
)

// namespace begins the names of Misstep's own metrics.
const namespace = "misstep"

// newRegistry returns a registry that has what each process has.
func newRegistry() *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		collectors.NewBuildInfoCollector())
	return r
}

// Endpoints are what a process serves over HTTP for its operators: /metrics, /healthz (the process answers), /readyz (it can do its
// work) and /debug/pprof/.
type Endpoints struct {
	Metrics prometheus.Gatherer
	// Ready returns an error that says why the process cannot do its work.
	Ready func(context.Context) error
	// Logger takes the errors of connections; nil is none.
	Logger *slog.Logger
}

// readyTimeout bounds how long Ready may take.
const readyTimeout = 5 * time.Second

// Handler serves the endpoints.
func (e Endpoints) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(e.Metrics, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
		defer cancel()
		if err := e.Ready(ctx); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ready")
	})
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}

// Start serves the endpoints on an address until stop is called, and returns the address with its port.
func (e Endpoints) Start(address string) (at string, stop func(), err error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return "", nil, fmt.Errorf("serve metrics on %s: %w; choose another --http", address, err)
	}
	logger := e.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	server := &http.Server{
		Handler: e.Handler(), ReadHeaderTimeout: 10 * time.Second, ErrorLog: serverlog.New(logger, "metrics"),
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	stop = func() {
		_ = server.Close()
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			panic(fmt.Sprintf("serve metrics: %v", err)) // Serve ends with no other error after Close
		}
	}
	return listener.Addr().String(), stop, nil
}
