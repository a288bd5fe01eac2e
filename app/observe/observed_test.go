package observe_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"

	"misstep/app/observe"
	"misstep/app/station"
	"misstep/bundle/share"
	"misstep/coordinator"
	"misstep/internal/logctx"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner"
)

const trials = 5

// scene is a coordinator on a port, a runner of trials that do nothing, and what both serve over HTTP.
type scene struct {
	t                   *testing.T
	station             *station.Station
	conn                *grpc.ClientConn
	coordinator, runner string                 // addresses of HTTP
	metrics             [2]prometheus.Gatherer // the coordinator's and the runner's
	log                 syncBuffer
}

// syncBuffer is written by several goroutines.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// play submits a campaign and runs it to its end.
func play(t *testing.T) (s *scene, campaign string) {
	s = &scene{t: t}
	logger := slog.New(logctx.Handler(slog.NewTextHandler(&s.log, nil)))
	metrics := observe.NewCoordinator()
	metrics.Certificates(certificates)
	metrics.Limited("read")
	config := coordinator.Config{Logger: logger, SyncInterval: 10 * time.Millisecond, Metrics: metrics}
	c, err := station.Open(t.Context(), station.Place{Dir: t.TempDir()}, config, share.Policy{})
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	serving, stopServing := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- c.Serve(serving, listener) }()
	t.Cleanup(func() {
		stopServing()
		require.NoError(t, <-served)
	})
	s.coordinator = s.start(observe.Endpoints{Metrics: metrics.Registry, Ready: c.CheckReadiness})

	ofRunner := observe.NewRunner()
	ofRunner.Certificates(certificates)
	require.ErrorContains(t, ofRunner.CheckReadiness(t.Context()), "starting")
	s.station, err = station.DialWith(ofRunner.DialOptions(), listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(s.station.Close)
	s.conn, err = station.Connect(listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.conn.Close() })
	s.runner = s.start(observe.Endpoints{Metrics: ofRunner.Registry, Ready: ofRunner.CheckReadiness})

	broken := ofRunner.Executor(runner.Require(nil, runner.Requirement{
		Name: "disk", Check: func(context.Context) error { return io.ErrShortWrite },
	}), 1)
	require.ErrorIs(t, runner.CheckReadiness(t.Context(), broken), io.ErrShortWrite)
	code, text := get(t, s.runner+"/readyz")
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.Equal(t, "disk: short write\n", text)

	clean := runner.ExecutorFunc(func(context.Context, *misstepv1.Recipe, runner.ProgressFunc) (*misstepv1.Outcome, error) {
		return &misstepv1.Outcome{Kind: misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN}, nil
	})
	s.metrics = [2]prometheus.Gatherer{metrics.Registry, ofRunner.Registry}
	executor := ofRunner.Executor(runner.Log(clean, logger, runner.SystemClock{}), 2)
	r, err := runner.New(runner.Config{
		Client: s.station.Leases, Executor: observe.TraceTrials(executor), Slots: 2, ID: "r1", Logger: logger,
	})
	require.NoError(t, err)
	digest := "sha256:" + strings.Repeat("0", 64)
	response, err := s.station.SubmitCampaign(t.Context(), &misstepv1.SubmitCampaignRequest{
		Campaign: &misstepv1.Campaign{
			Name: "observed", Seed: 3, Jdks: []string{"jdk21"}, Workloads: []*misstepv1.CampaignWorkload{{Name: "w", Repetitions: 1}},
			Checks: []*misstepv1.Check{{Name: "gst-asgct"}}, Budget: &misstepv1.Budget{Trials: trials},
		},
		Jdks:      []*misstepv1.Jdk{{Name: "jdk21", Digest: digest}},
		Workloads: []*misstepv1.Workload{{Name: "w", Digest: digest}},
	})
	require.NoError(t, err)
	running, stopRunning := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- r.Run(running) }()
	err = station.WatchCampaign(t.Context(), s.station, response.GetCampaignId(), func(*misstepv1.CampaignStatus) {})
	stopRunning()
	require.ErrorIs(t, <-ran, context.Canceled)
	require.NoError(t, err)
	return s, response.GetCampaignId()
}

// certificates are one that ends in an hour, and two authorities in one file.
func certificates(show func(what, file string, at time.Time)) {
	show("certificate", "tls.crt", time.Now().Add(time.Hour))
	show("authority", "ca.crt", time.Now().Add(time.Hour))
	show("authority", "ca.crt", time.Now().Add(-time.Hour))
}

func (s *scene) start(e observe.Endpoints) string {
	at, stop, err := e.Start("127.0.0.1:0")
	require.NoError(s.t, err)
	s.t.Cleanup(stop)
	return at
}

func get(t *testing.T, url string) (int, string) {
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+url, nil)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(text)
}

func TestMetricsOverHTTP(t *testing.T) {
	const admin = `grpc_service="misstep.v1.AdminService",grpc_type="unary"} `
	s, _ := play(t)
	_, text := get(t, s.coordinator+"/metrics")
	lines := strings.Split(text, "\n")
	for _, want := range []string{
		"misstep_leases_granted_total 5", `misstep_results_total{kind="clean"} 5`, "misstep_runners 1", "misstep_fleet_slots 2",
		"misstep_campaigns_running 0", "misstep_trials_running 0", "misstep_trials_waiting 0",
		`grpc_server_handled_total{grpc_code="OK",grpc_method="SubmitCampaign",` + admin + "1",
		`grpc_server_handling_seconds_count{grpc_method="SubmitCampaign",` + admin + "1",
		`grpc_server_handled_total{grpc_code="NotFound",grpc_method="GetFinding",` + admin + "0",
	} {
		assert.True(t, slices.Contains(lines, want), "%s in\n%s", want, text)
	}
	assert.Regexp(t, `(?m)^misstep_certificate_expires_seconds\{file="tls.crt",what="certificate"\} 3[0-9]{3}`, text)
	assert.Regexp(t, `(?m)^misstep_certificate_expires_seconds\{file="ca.crt",what="authority"\} -3[0-9]{3}`, text, "the first to end")
	for _, want := range []string{
		`misstep_store_transaction_seconds_count{access="write",result="ok"} `, "misstep_store_batch_calls_sum ", "go_goroutines ",
		"process_open_fds ",
	} {
		assert.True(t, slices.ContainsFunc(lines, func(line string) bool {
			value, found := strings.CutPrefix(line, want)
			return found && value != "0"
		}), "%s in\n%s", want, text)
	}
	_, text = get(t, s.runner+"/metrics")
	lines = strings.Split(text, "\n")
	for _, want := range []string{
		"misstep_runner_slots 2", "misstep_runner_slots_busy 0", `misstep_trial_seconds_count{outcome="clean"} 5`,
		`grpc_client_handled_total{grpc_code="OK",grpc_method="SubmitCampaign",` + admin + "1",
	} {
		assert.True(t, slices.Contains(lines, want), "%s in\n%s", want, text)
	}
	for _, at := range []string{s.coordinator, s.runner} {
		for path, want := range map[string]string{
			"/healthz": "ok", "/readyz": "ready", "/debug/pprof/": "goroutine", "/debug/pprof/goroutine?debug=1": "goroutine profile: total",
			"/debug/pprof/cmdline": "observe.test",
		} {
			code, text := get(t, at+path)
			assert.Equal(t, http.StatusOK, code, path)
			assert.Contains(t, text, want, path)
		}
	}
}

// Each record about a trial has its ids, on both sides.
func TestRecordsHaveIds(t *testing.T) {
	s, campaign := play(t)
	var ends, submissions int
	for line := range strings.Lines(s.log.String()) {
		switch {
		case strings.Contains(line, "trial ended"):
			ends++
			assert.Regexp(t, `runner=r1 campaign=`+campaign+` trial=[0-4] lease=L[0-9a-f]{16}`, line)
		case strings.Contains(line, "campaign submitted"):
			submissions++
			assert.Contains(t, line, "campaign="+campaign)
		}
	}
	assert.Equal(t, trials, ends, s.log.String())
	assert.Equal(t, 1, submissions)
}

func TestHealthAndReflectionOverGRPC(t *testing.T) {
	s, _ := play(t)
	states := healthpb.NewHealthClient(s.conn)
	for _, service := range []string{"", "misstep.v1.AdminService", "misstep.v1.LeaseService", "misstep.v1.CorpusService"} {
		response, err := states.Check(t.Context(), &healthpb.HealthCheckRequest{Service: service})
		require.NoError(t, err, service)
		assert.Equal(t, healthpb.HealthCheckResponse_SERVING, response.GetStatus(), service)
	}
	stream, err := reflectionpb.NewServerReflectionClient(s.conn).ServerReflectionInfo(t.Context())
	require.NoError(t, err)
	require.NoError(t, stream.Send(&reflectionpb.ServerReflectionRequest{
		MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{},
	}))
	response, err := stream.Recv()
	require.NoError(t, err)
	require.NoError(t, stream.CloseSend())
	var names []string
	for _, service := range response.GetListServicesResponse().GetService() {
		names = append(names, service.GetName())
	}
	assert.Subset(t, names, []string{"misstep.v1.AdminService", "misstep.v1.LeaseService", "grpc.health.v1.Health"})
}
