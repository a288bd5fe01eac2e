package runner

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/types/known/durationpb"

	misstepv1 "misstep/proto/misstep/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// coordinator is the other end of a bufconn whose answers the test gives call by call.
type coordinator struct {
	misstepv1.UnimplementedLeaseServiceServer
	calls chan call
}

type call struct {
	request *misstepv1.SynchronizeRequest
	answer  chan<- answer
}

type answer struct {
	response *misstepv1.SynchronizeResponse
	err      error
}

func (c *coordinator) Synchronize(
	ctx context.Context,
	request *misstepv1.SynchronizeRequest,
) (*misstepv1.SynchronizeResponse, error) {
	back := make(chan answer, 1)
	select {
	case c.calls <- call{request, back}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case a := <-back:
		return a.response, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// stepClock asks the test before any timer fires.
type stepClock struct{ asked chan asked }

type asked struct {
	d    time.Duration
	fire chan time.Time
}

func (stepClock) Now() time.Time { return time.Unix(1e9, 0) }

func (c stepClock) After(d time.Duration) (<-chan time.Time, func()) {
	a := asked{d, make(chan time.Time, 1)}
	gone := make(chan struct{})
	go func() {
		select {
		case c.asked <- a:
		case <-gone:
		}
	}()
	return a.fire, func() { close(gone) }
}

// manual is an Executor whose trials end when the test says so.
type manual struct{ started chan *trial }

type trial struct {
	ctx      context.Context
	recipe   *misstepv1.Recipe
	progress func(*misstepv1.Progress)
	end      chan end
}

type end struct {
	outcome *misstepv1.Outcome
	err     error
}

func (m manual) Run(ctx context.Context, recipe *misstepv1.Recipe, progress func(*misstepv1.Progress)) (*misstepv1.Outcome, error) {
	t := &trial{ctx, recipe, progress, make(chan end, 1)}
	m.started <- t
	select {
	case e := <-t.end:
		return e.outcome, e.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type bench struct {
	t      *testing.T
	server *coordinator
	clock  stepClock
	exec   manual
	runner *Runner
	cancel context.CancelFunc
	ended  chan error
}

func start(t *testing.T, slots int) *bench {
	t.Helper()
	return startWith(t, slots, func(*Config) {})
}

// startWith lets change replace what the runner is given.
func startWith(t *testing.T, slots int, change func(*Config)) *bench {
	t.Helper()
	b := &bench{
		t: t, server: &coordinator{calls: make(chan call)}, clock: stepClock{make(chan asked)},
		exec: manual{make(chan *trial, 16)}, ended: make(chan error, 1),
	}
	listener := bufconn.Listen(1 << 20)
	server := grpc.NewServer(grpc.MaxRecvMsgSize(4 << 20))
	misstepv1.RegisterLeaseServiceServer(server, b.server)
	go func() { _ = server.Serve(listener) }()
	conn, err := grpc.NewClient("passthrough:bench", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	require.NoError(t, err)
	config := Config{
		Client: misstepv1.NewLeaseServiceClient(conn), Executor: Recover(b.exec), Slots: slots, ID: "r1", Host: "h", Clock: b.clock,
		Backoff: func() backoff.BackOff { return backoff.NewConstantBackOff(7 * time.Second) },
	}
	change(&config)
	r, err := New(config)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	b.cancel, b.runner = cancel, r
	go func() { b.ended <- r.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		server.Stop()
		_ = conn.Close()
	})
	return b
}

func take[T any](t *testing.T, from <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(10 * time.Second):
		t.Fatalf("no %s within 10 s", what)
		panic("unreachable")
	}
}

func (b *bench) call() call { b.t.Helper(); return take(b.t, b.server.calls, "call of Synchronize") }

// sleep waits until the runner waits, and says for how long it wants to.
func (b *bench) sleep() asked { b.t.Helper(); return take(b.t, b.clock.asked, "wait of the runner") }

func (b *bench) trial() *trial { b.t.Helper(); return take(b.t, b.exec.started, "trial") }

func (b *bench) end() error { b.t.Helper(); return take(b.t, b.ended, "end of the runner") }

func (c call) reply(ids ...string) {
	response := &misstepv1.SynchronizeResponse{NextCall: durationpb.New(3 * time.Second)}
	for _, id := range ids {
		response.Desired = append(response.Desired, &misstepv1.Lease{Id: id, Recipe: &misstepv1.Recipe{}})
	}
	c.answer <- answer{response: response}
}

func (c call) fail(code codes.Code) { c.answer <- answer{err: status.Error(code, "no")} }

// held writes a report as text, e.g. "a=running b=clean free=1".
func (c call) held() string {
	var words []string
	for _, h := range c.request.GetHeld() {
		state := "?"
		switch s := h.GetState().(type) {
		case *misstepv1.HeldLease_Running:
			state = "running"
		case *misstepv1.HeldLease_Outcome:
			state = misstepv1.OutcomeName(s.Outcome.GetKind())
		case *misstepv1.HeldLease_Failure:
			state = "failed"
			if s.Failure.GetPermanent() {
				state += "!"
			}
			if s.Failure.GetInterrupted() {
				state += "~"
			}
		}
		words = append(words, h.GetLeaseId()+"="+state)
	}
	words = append(words, "free="+string(rune('0'+c.request.GetFreeSlots())))
	return strings.Join(words, " ")
}

func clean() end {
	return end{outcome: &misstepv1.Outcome{Kind: misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN}}
}

func TestResultIsReportedEarlyAndUntilAcknowledged(t *testing.T) {
	b := start(t, 2)
	c := b.call()
	require.Equal(t, "free=2", c.held())
	require.Equal(t, "r1", c.request.GetRunner().GetId())
	c.reply("a")
	a := b.trial()
	require.Equal(t, 3*time.Second, b.sleep().d)
	a.end <- clean() // calls early: nobody fires the timer
	c = b.call()
	require.Equal(t, "a=clean free=2", c.held())
	c.fail(codes.Unavailable) // the coordinator dies with the result
	wait := b.sleep()
	require.Equal(t, 7*time.Second, wait.d)
	wait.fire <- time.Time{}
	c = b.call()
	require.Equal(t, "a=clean free=2", c.held())
	c.reply("a") // it recorded nothing yet
	b.sleep().fire <- time.Time{}
	c = b.call()
	require.Equal(t, "a=clean free=2", c.held())
	c.reply("b") // acknowledged, and the next one
	b.trial()
	b.sleep().fire <- time.Time{}
	require.Equal(t, "b=running free=1", b.call().held())
}

func TestTrialsRunOnWhileCoordinatorIsAway(t *testing.T) {
	b := start(t, 2)
	b.call().reply("a", "b")
	one, two := b.trial(), b.trial()
	b.sleep().fire <- time.Time{}
	b.call().fail(codes.Unavailable)
	wait := b.sleep()
	one.end <- clean() // no reason to disturb a coordinator that is away
	select {
	case <-b.server.calls:
		t.Fatal("the runner called during its backoff")
	case <-b.clock.asked:
		t.Fatal("the runner began another wait")
	case <-time.After(50 * time.Millisecond):
	}
	require.NoError(t, two.ctx.Err())
	wait.fire <- time.Time{}
	require.Contains(t, []string{"a=clean b=running free=1", "a=running b=clean free=1"}, b.call().held())
}

func TestWithdrawnLeaseIsCancelledAndItsResultDropped(t *testing.T) {
	b := start(t, 1)
	b.call().reply("a")
	a := b.trial()
	b.sleep().fire <- time.Time{}
	b.call().reply("b") // desired in place of a, but the slot is not free yet
	<-a.ctx.Done()
	c := b.call()
	if c.held() == "a=running free=0" { // reported again while it winds down
		c.reply("b")
		c = b.call()
	}
	require.Equal(t, "free=1", c.held())
	c.reply("b")
	b.trial()
}

func TestProgressIsReported(t *testing.T) {
	b := start(t, 1)
	b.call().reply("a")
	b.trial().progress(&misstepv1.Progress{Phase: "run", Checks: []*misstepv1.CheckCount{{Check: "gst-asgct", Total: 5}}})
	b.sleep().fire <- time.Time{}
	require.Equal(t, uint64(5), b.call().request.GetHeld()[0].GetRunning().GetChecks()[0].GetTotal())
}

func TestFailuresAreNotOutcomes(t *testing.T) {
	b := start(t, 1)
	b.call().reply("a")
	b.trial().end <- end{err: Permanent(errors.New("no such\nJDK"))}
	c := b.call()
	for c.held() == "a=running free=0" { // the call was under way when it ended
		c.reply("a")
		c = b.call()
	}
	require.Equal(t, "a=failed! free=1", c.held())
	require.Equal(t, "no such JDK", c.request.GetHeld()[0].GetFailure().GetMessage())
}

// That the coordinator holds work back is logged when it begins and when it ends, not with every call.
func TestHeldBackIsLoggedOnce(t *testing.T) {
	var log strings.Builder
	b := startWith(t, 2, func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	for _, why := range []string{"", "24 of 24 slots", "23 of 24 slots", "", "24 of 24 slots", ""} {
		b.call().answer <- answer{response: &misstepv1.SynchronizeResponse{HeldBack: why}}
		b.sleep().fire <- time.Time{}
	}
	b.call().answer <- answer{response: &misstepv1.SynchronizeResponse{Drain: true}}
	require.NoError(t, b.end())
	require.Equal(t, 2, strings.Count(log.String(), `level=WARN msg="the coordinator holds work back" why="24 of 24 slots"`), log.String())
	require.Equal(t, 2, strings.Count(log.String(), `level=INFO msg="the coordinator holds no work back any more"`), log.String())
	require.NotContains(t, log.String(), "23 of 24")
}

func TestDrainFinishesWhatIsHeld(t *testing.T) {
	b := start(t, 2)
	b.call().reply("a")
	a := b.trial()
	b.sleep().fire <- time.Time{}
	drain := &misstepv1.SynchronizeResponse{Drain: true, Desired: []*misstepv1.Lease{{Id: "a"}}}
	b.call().answer <- answer{response: drain}
	wait := b.sleep()
	require.Equal(t, defaultNextCall, wait.d)
	a.end <- clean()
	c := b.call()
	require.Equal(t, "a=clean free=0", c.held())
	c.answer <- answer{response: &misstepv1.SynchronizeResponse{Drain: true}}
	require.NoError(t, b.end())
}

// A runner that drains by itself finishes what it holds, and releases what was granted meanwhile.
func TestDrainOfTheRunner(t *testing.T) {
	b := start(t, 2)
	b.call().reply("a")
	a := b.trial()
	b.sleep()
	b.runner.Drain()
	c := b.call() // at once: nobody fires the timer
	require.Equal(t, "a=running free=0", c.held())
	c.reply("a", "b") // b was granted in answer to an earlier call
	at := b.sleep()
	require.Zero(t, at.d)
	at.fire <- time.Time{}
	c = b.call()
	require.Equal(t, "a=running b=failed~ free=0", c.held())
	c.reply("a")
	b.sleep()
	a.end <- clean()
	c = b.call()
	require.Equal(t, "a=clean free=0", c.held())
	c.fail(codes.Unavailable)
	b.sleep().fire <- time.Time{}
	c = b.call()
	require.Equal(t, "a=clean free=0", c.held(), "a result is kept until it is acknowledged")
	c.reply()
	require.NoError(t, b.end())
}

func TestAnIdleRunnerDrainsWithoutACoordinator(t *testing.T) {
	b := start(t, 2)
	b.runner.Drain()
	b.call().fail(codes.Unavailable)
	require.NoError(t, b.end())
}

func TestStopSaysWhatBecameOfTheTrials(t *testing.T) {
	b := start(t, 3)
	b.call().reply("a", "b", "c")
	b.trial().end <- clean()
	b.trial()
	b.trial()
	b.call() // its answer never comes
	b.cancel()
	b.call().fail(codes.Unavailable)
	b.call().reply() // of another coordinator
	var stopped *StoppedError
	require.ErrorAs(t, b.end(), &stopped)
	require.Equal(t, [3]int{1, 2, 0}, [3]int{stopped.Reported, stopped.HandedBack, stopped.Unreported})
	require.ErrorIs(t, stopped, context.Canceled)

	b = start(t, 1)
	b.call().reply("a")
	b.trial()
	b.sleep()
	b.cancel()
	b.call().reply("a") // not recorded
	require.ErrorAs(t, b.end(), &stopped)
	require.Equal(t, 1, stopped.Unreported)
	require.ErrorContains(t, stopped, "0 trials handed back, 0 results reported, 1 leases left to expire")
}

func TestStopCancelsTrialsAndHandsOverResults(t *testing.T) {
	b := start(t, 2)
	b.call().reply("a", "b")
	one := b.trial()
	b.trial()
	one.end <- clean()
	b.call() // its answer never comes: the runner is stopped first
	b.cancel()
	c := b.call()
	require.Contains(t, []string{"a=clean b=failed~ free=0", "a=failed~ b=clean free=0"}, c.held())
	c.reply()
	require.ErrorIs(t, b.end(), context.Canceled)
}

func TestRefusalEndsTheRunner(t *testing.T) {
	b := start(t, 1)
	b.call().reply("a")
	a := b.trial()
	b.sleep().fire <- time.Time{}
	b.call().fail(codes.InvalidArgument)
	require.ErrorContains(t, b.end(), "synchronize with the coordinator")
	require.Error(t, a.ctx.Err(), "its trial is cancelled")
}

// An outcome that the coordinator refuses is given up, and only that one.
func TestARefusedOutcomeIsGivenUp(t *testing.T) {
	b := start(t, 2)
	b.call().reply("a", "b")
	one, two := b.trial(), b.trial()
	b.sleep()
	one.end <- clean()
	b.call().reply("a", "b") // it recorded nothing yet
	b.sleep()
	two.end <- clean()
	c := b.call()
	require.Equal(t, "a=clean b=clean free=2", c.held())
	c.fail(codes.InvalidArgument)
	b.sleep().fire <- time.Time{}
	c = b.call()
	require.Equal(t, "a=clean b=running free=2", c.held(), "one of them may be accepted")
	c.fail(codes.InvalidArgument)
	c = b.call() // at once: the other outcome waits
	require.Equal(t, "a=failed! b=running free=2", c.held())
	require.Contains(t, c.request.GetHeld()[0].GetFailure().GetMessage(), "the coordinator refuses it: ")
	c.reply("b")
	c = b.call()
	require.Equal(t, "b=clean free=2", c.held())
	c.reply("d")
	b.trial()
	b.sleep().fire <- time.Time{}
	c = b.call()
	require.Equal(t, "d=running free=1", c.held())
	c.fail(codes.InvalidArgument)
	require.ErrorContains(t, b.end(), "synchronize with the coordinator", "there is no outcome to give up")
}

// A token that expires, or is replaced by another one, does not end what runs; one that was never valid ends the runner at once.
func TestACredentialThatEndedIsWaitedFor(t *testing.T) {
	b := start(t, 1)
	b.call().reply("a")
	a := b.trial()
	for _, code := range []codes.Code{codes.Unauthenticated, codes.PermissionDenied} {
		b.sleep().fire <- time.Time{}
		b.call().fail(code)
	}
	b.sleep().fire <- time.Time{}
	b.call().reply("a")
	require.NoError(t, a.ctx.Err())
	b = start(t, 1)
	b.call().fail(codes.Unauthenticated)
	require.ErrorContains(t, b.end(), "synchronize with the coordinator")
}

func TestPanicIsAFailure(t *testing.T) {
	panicking := Recover(
		ExecutorFunc(func(context.Context, *misstepv1.Recipe, func(*misstepv1.Progress)) (*misstepv1.Outcome, error) {
			panic("defect")
		}),
	)
	outcome, err := panicking.Run(t.Context(), nil, nil)
	require.Nil(t, outcome)
	require.EqualError(t, err, "run trial: panic: defect")
}

// TestLargeResultsGoInTurn: gRPC refuses messages above 4 MiB, and a runner with many slots may finish many large trials at once.
func TestLargeResultsGoInTurn(t *testing.T) {
	b := start(t, 3)
	b.call().reply("a", "b", "c")
	trials := []*trial{b.trial(), b.trial(), b.trial()}
	b.sleep().fire <- time.Time{}
	c := b.call()
	for _, one := range trials {
		one.end <- end{outcome: &misstepv1.Outcome{
			Kind:   misstepv1.OutcomeKind_OUTCOME_KIND_VOID,
			Reason: strings.Repeat("x", 2<<20),
		}}
	}
	acknowledged := map[string]bool{}
	for len(acknowledged) < 3 {
		var still []string
		for _, id := range []string{"a", "b", "c"} {
			for _, h := range c.request.GetHeld() {
				if h.GetLeaseId() == id && h.GetOutcome() != nil {
					acknowledged[id] = true
				}
			}
			if !acknowledged[id] {
				still = append(still, id)
			}
		}
		c.reply(still...)
		if len(acknowledged) == 3 {
			break
		}
		select {
		case c = <-b.server.calls:
		case a := <-b.clock.asked:
			a.fire <- time.Time{}
			c = b.call()
		}
	}
}

func TestNewChecksItsConfig(t *testing.T) {
	_, err := New(Config{})
	require.ErrorContains(t, err, "no client")
	client := misstepv1.NewLeaseServiceClient(nil)
	_, err = New(Config{Client: client})
	require.ErrorContains(t, err, "no executor")
	_, err = New(Config{Client: client, Executor: manual{}})
	require.ErrorContains(t, err, "at least 1")
}
