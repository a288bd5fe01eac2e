package runner

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"misstep/internal/logctx"
	misstepv1 "misstep/proto/misstep/v1"
)

const (
	// callTimeout bounds one Synchronize call: a coordinator that does not answer, behind a partition or overloaded, costs this
	// long before the next call goes to another one.
	callTimeout = 10 * time.Second
	// defaultNextCall is used when the coordinator omits next_call; maxNextCall bounds the value it may send.
	defaultNextCall = time.Second
	maxNextCall     = time.Minute
	// maxReport bounds the results in one report in bytes; gRPC's default limit for received messages is 4 MiB. Results that do not
	// fit are reported as running and sent with the next call.
	maxReport = 3 << 20
	// stopTries is how often a stopping runner tries to report its trials.
	stopTries = 2
)

// Parting is how long a stopping runner tries to hand its leases back.
const Parting = 4 * time.Second

// Config configures a Runner. Client, Executor and Slots are required, the other fields have defaults.
type Config struct {
	// Client of the coordinator.
	Client misstepv1.LeaseServiceClient
	// Executor that runs the trials. If it is a ReadinessChecker, it is checked before the runner asks for work.
	Executor Executor
	// Slots is the maximum number of concurrent trials, at least 1.
	Slots int
	// ID is unique to this process; by default host, pid and 32 random bits.
	ID string
	// Host name for display; by default the system's.
	Host string
	// AgentDigest is the digest of this machine's agent artefacts.
	AgentDigest string
	// Capabilities of this machine, e.g. "cgroup".
	Capabilities []string
	// Clock by default the system's.
	Clock Clock
	// Logger by default discards.
	Logger *slog.Logger
	// Backoff makes the retry policy for calls and readiness checks that failed; by default exponential from 0.2 s to 10 s with
	// jitter.
	Backoff func() backoff.BackOff
}

// Runner is the loop: it calls Synchronize repeatedly, starts desired leases, cancels those that are no longer desired, and reports
// results until they are acknowledged. While its executor is not ready, it reports the leases it holds and asks for no more. It
// survives restarts of the coordinator; its trials keep running.
type Runner struct {
	// Constant.
	config   Config
	identity *misstepv1.Runner
	finished chan finished // from the trials' goroutines to Run's

	// retire is closed by the first call of Drain; retireOnce guards that.
	retire     chan struct{}
	retireOnce sync.Once

	// Mutable, accessed by Run's goroutine only.
	held    map[string]*lease // by lease id
	running int               // trials that have not ended, those of cancelled leases included
	ready   readiness

	// Mutable, accessed by Run's goroutine only: set once and never reset.
	stopping bool

	// Mutable, accessed by Run's goroutine only: set by the last call.
	draining bool // the coordinator asked the runner to drain
	heldBack bool // the coordinator gives it less than it has slots for
	deferred bool // the report omitted results for their size

	// Mutable, accessed by Run's goroutine only: what is done about a report that the coordinator refuses.
	sent  []*lease // whose outcomes the last report had
	alone bool     // an outcome is reported without others, so that it is known which one is refused
}

// New validates config and returns a Runner.
func New(config Config) (*Runner, error) {
	switch {
	case config.Client == nil:
		return nil, errors.New("make runner: no client of the coordinator given; set Config.Client")
	case config.Executor == nil:
		return nil, errors.New("make runner: no executor given; set Config.Executor")
	case config.Slots < 1:
		return nil, fmt.Errorf("make runner: %d slots given, at least 1 is needed", config.Slots)
	}
	if config.Host == "" {
		host, err := os.Hostname()
		if err != nil {
			return nil, fmt.Errorf("make runner: read host name: %w", err)
		}
		config.Host = host
	}
	if config.ID == "" {
		var random [4]byte
		_, _ = rand.Read(random[:]) // never fails, see its documentation
		config.ID = fmt.Sprintf("%s-%d-%s", config.Host, os.Getpid(), hex.EncodeToString(random[:]))
	}
	if config.Clock == nil {
		config.Clock = SystemClock{}
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	if config.Backoff == nil {
		config.Backoff = func() backoff.BackOff {
			b := backoff.NewExponentialBackOff()
			b.InitialInterval = 200 * time.Millisecond
			b.MaxInterval = 10 * time.Second
			return b
		}
	}
	return &Runner{
		config: config,
		identity: &misstepv1.Runner{
			Id: config.ID, Host: config.Host, Slots: uint32(config.Slots), // at least 1, far below 2^32
			AgentDigest: config.AgentDigest, Capabilities: config.Capabilities,
		},
		held:     map[string]*lease{},
		finished: make(chan finished),
		retire:   make(chan struct{}),
	}, nil
}

// Drain makes the runner take no more leases: Run returns nil when the trials that run now have ended and are reported. Safe for
// concurrent use, before Run, too.
func (r *Runner) Drain() { r.retireOnce.Do(func() { close(r.retire) }) }

// retiring reports whether Drain was called.
func (r *Runner) retiring() bool {
	select {
	case <-r.retire:
		return true
	default:
		return false
	}
}

// Run loops until the coordinator or Drain has drained this runner (it returns nil), until ctx ends (it returns a *StoppedError
// with ctx's cause), or until the coordinator refuses its reports permanently. When ctx ends, running trials are cancelled, awaited
// and handed back, and finished trials are reported if a coordinator answers within Parting. Call it once.
func (r *Runner) Run(ctx context.Context) error {
	ctx = logctx.With(ctx, slog.String("runner", r.config.ID))
	trials, cancelTrials := context.WithCancel(context.WithoutCancel(ctx))
	defer r.await(cancelTrials)
	checks, endChecks := context.WithCancel(ctx)
	defer func() {
		endChecks()
		if r.ready.answers != nil {
			err := <-r.ready.answers // a check may be a JVM, which must not outlive Run
			r.config.Logger.DebugContext(ctx, "the last check of readiness ended", slog.Any("error", err))
		}
	}()
	policy := r.config.Backoff()
	admitted := false // a credential that ended later is waited for: whoever replaces it wants the trials to go on
	for {
		r.checkReadiness(checks)
		next, err := r.synchronize(ctx, trials)
		patient := false // during a backoff a finished trial does not cause an earlier call
		switch {
		case ctx.Err() != nil:
			return r.stop(ctx, cancelTrials)
		case len(r.held) == 0 && (r.retiring() || err == nil && r.draining):
			r.config.Logger.InfoContext(ctx, "drained")
			return nil
		case err == nil:
			policy.Reset()
			admitted = true
			r.alone = r.alone && r.deferred
		case r.giveUp(err):
		case isRefusal(err) && (!admitted || !isAboutTheCaller(err)):
			return fmt.Errorf("synchronize with the coordinator: %w", err)
		default:
			patient = true
			if next = policy.NextBackOff(); next < 0 { // the policy gives up, but the runner does not
				policy.Reset()
				next = maxNextCall
			}
			r.config.Logger.WarnContext(ctx, "no answer to act on from the coordinator; trials keep running",
				"error", err, "retry_in", next, "held", len(r.held))
		}
		if !r.wait(ctx, next, patient) {
			return r.stop(ctx, cancelTrials)
		}
	}
}

// giveUp reports whether a report was refused that may be accepted without one of its outcomes. That one is given up once it was
// reported without others: whatever a program made of its trial, it does not end the runner.
func (r *Runner) giveUp(err error) bool {
	if status.Code(err) != codes.InvalidArgument || len(r.sent) == 0 {
		return false
	}
	if r.alone = true; len(r.sent) > 1 {
		return true
	}
	l := r.sent[0]
	r.config.Logger.WarnContext(l.trial, "the coordinator refuses the outcome of a trial, which is given up", "error", err)
	refused := finished{lease: l, err: Permanent(fmt.Errorf("report the outcome: the coordinator refuses it: %w", err))}
	l.result = refused.report(false)
	return true
}

// isAboutTheCaller reports whether the coordinator refused the caller, not the call.
func isAboutTheCaller(err error) bool {
	code := status.Code(err)
	return code == codes.PermissionDenied || code == codes.Unauthenticated
}

// isRefusal reports whether an error of the coordinator is permanent, so that a retry cannot succeed.
func isRefusal(err error) bool {
	switch status.Code(err) {
	case codes.InvalidArgument, codes.Unimplemented, codes.PermissionDenied, codes.Unauthenticated:
		return true
	default:
		return false
	}
}

// wait settles finished trials until the next call is due. It returns false if ctx ended.
func (r *Runner) wait(ctx context.Context, d time.Duration, patient bool) bool {
	if r.deferred && !patient {
		return ctx.Err() == nil
	}
	due, release := r.config.Clock.After(d)
	defer release()
	retire := r.retire
	if patient || r.retiring() {
		retire = nil // it is heard of already, or with the next attempt
	}
	for {
		select {
		case <-ctx.Done():
			return false
		case <-due:
			return true
		case <-retire:
			r.config.Logger.InfoContext(ctx, "draining: no more work is asked for", "running", r.running)
			return true
		case f := <-r.finished:
			if r.settle(f); !patient {
				return true
			}
		case err := <-r.ready.answers:
			if r.noteReadiness(ctx, err); !patient { // it asks for work at once, or says why not
				return true
			}
		}
	}
}

// settle records the result of a finished trial; the result of a cancelled lease is dropped.
func (r *Runner) settle(f finished) {
	r.running--
	f.lease.cancel()
	if f.lease.cancelled {
		delete(r.held, f.lease.id)
		return
	}
	f.lease.result = f.report(r.stopping)
	if f.err != nil && !IsPermanent(f.err) {
		r.ready.due = time.Time{} // the machine may not be fit any more
	}
}

// synchronize makes one call and applies the response. It returns the time until the next call.
func (r *Runner) synchronize(ctx, trials context.Context) (time.Duration, error) {
	request := r.report()
	type answer struct {
		response *misstepv1.SynchronizeResponse
		err      error
	}
	answers := make(chan answer, 1)
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	go func() {
		response, err := r.config.Client.Synchronize(call, request)
		answers <- answer{response, err}
	}()
	for {
		select {
		case f := <-r.finished: // a trial that ends during the call must not wait for its response
			r.settle(f)
		case a := <-answers:
			if a.err != nil {
				return 0, a.err
			}
			early := r.apply(ctx, trials, request, a.response)
			if early {
				return 0, nil
			}
			return nextCall(a.response), nil
		}
	}
}

func nextCall(response *misstepv1.SynchronizeResponse) time.Duration {
	d := response.GetNextCall().AsDuration()
	if d <= 0 {
		return defaultNextCall
	}
	return min(d, maxNextCall)
}

// report returns the current state: every lease in order of its id, with as many results as fit.
func (r *Runner) report() *misstepv1.SynchronizeRequest {
	request := &misstepv1.SynchronizeRequest{Runner: r.identity, NotReady: r.notReady()}
	if r.asksForWork() && r.ready.problem == "" {
		request.FreeSlots = uint32(r.config.Slots - r.running) // bounded by slots
	}
	size := 0
	r.deferred, r.sent = false, nil
	for _, l := range r.leases() {
		held := l.running()
		if l.result != nil {
			n := proto.Size(l.result)
			if size > 0 && (r.alone || size+n > maxReport) {
				r.deferred = true
			} else {
				size += n
				held = l.result
				if held.GetOutcome() != nil {
					r.sent = append(r.sent, l)
				}
			}
		}
		request.Held = append(request.Held, held)
	}
	return request
}

// asksForWork reports whether the runner has free slots and is neither draining nor stopping.
func (r *Runner) asksForWork() bool {
	return !r.draining && !r.retiring() && !r.stopping && r.running < r.config.Slots
}

func (r *Runner) leases() []*lease {
	leases := make([]*lease, 0, len(r.held))
	for _, l := range r.held {
		leases = append(leases, l)
	}
	slices.SortFunc(leases, func(a, b *lease) int { return cmp.Compare(a.id, b.id) })
	return leases
}

// apply brings the runner to the desired state. It reports whether a trial ended during the call or a lease is declined, so that
// the next call should follow at once.
func (r *Runner) apply(
	ctx, trials context.Context, request *misstepv1.SynchronizeRequest, response *misstepv1.SynchronizeResponse,
) (early bool) {
	r.draining = response.GetDrain()
	r.noteHeldBack(ctx, response.GetHeldBack())
	desired := make(map[string]*misstepv1.Lease, len(response.GetDesired()))
	for _, d := range response.GetDesired() {
		desired[d.GetId()] = d
	}
	reported := make(map[string]bool, len(request.GetHeld())) // by lease id: whether the report had its result
	for _, h := range request.GetHeld() {
		_, running := h.GetState().(*misstepv1.HeldLease_Running)
		reported[h.GetLeaseId()] = !running
	}
	acknowledged := false
	for id, l := range r.held {
		switch {
		case desired[id] != nil:
			early = early || l.result != nil && !reported[id]
		case l.result != nil: // acknowledged, or no longer desired
			delete(r.held, id)
			acknowledged = true
		case !l.cancelled:
			r.config.Logger.InfoContext(l.trial, "lease withdrawn, trial cancelled")
			l.cancelled = true
			l.cancel()
		}
	}
	r.deferred = r.deferred && acknowledged // otherwise the next report would omit the same results
	for _, d := range response.GetDesired() {
		if r.held[d.GetId()] != nil || r.draining {
			continue
		}
		if r.retiring() {
			r.decline(d.GetId())
			early = true
			continue
		}
		if r.running >= r.config.Slots {
			r.config.Logger.WarnContext(withLease(ctx, d), "more leases desired than there are slots")
			continue
		}
		r.start(trials, d)
	}
	return early
}

// noteHeldBack logs once when the coordinator begins to give the runner less than it has slots for, and once when that ends.
func (r *Runner) noteHeldBack(ctx context.Context, why string) {
	switch before := r.heldBack; {
	case !before && why != "":
		r.config.Logger.WarnContext(ctx, "the coordinator holds work back", "why", why)
	case before && why == "":
		r.config.Logger.InfoContext(ctx, "the coordinator holds no work back any more")
	}
	r.heldBack = why != ""
}

func (r *Runner) start(trials context.Context, d *misstepv1.Lease) {
	trial, cancel := context.WithCancel(withLease(trials, d))
	l := &lease{id: d.GetId(), trial: trial, cancel: cancel}
	l.progress.Store(&misstepv1.Progress{Phase: "start"})
	r.held[l.id] = l
	r.running++
	go func() {
		f := finished{lease: l}
		if d.GetRecipe() == nil {
			f.err = Permanent(fmt.Errorf("run lease %s: it has no recipe", l.id))
		} else {
			f.outcome, f.err = r.config.Executor.Run(trial, d.GetRecipe(), func(p *misstepv1.Progress) { l.progress.Store(p) })
		}
		r.finished <- f
	}()
}

// decline hands back a lease that was granted while the runner began to drain.
func (r *Runner) decline(id string) {
	l := &lease{id: id, cancel: func() {}}
	l.result = &misstepv1.HeldLease{LeaseId: id, State: &misstepv1.HeldLease_Failure{Failure: &misstepv1.InfrastructureFailure{
		Message: "the runner drains", Interrupted: true,
	}}}
	r.held[id] = l
}

// await cancels the running trials and settles them, so that no goroutine and no process outlives Run.
func (r *Runner) await(cancelTrials context.CancelFunc) {
	cancelTrials()
	r.stopping = true
	for r.running > 0 {
		r.settle(<-r.finished)
	}
}

// StoppedError is the error of Run when its context ended.
type StoppedError struct {
	// Reported are the trials that had ended and whose results were reported; HandedBack are those that were cut short and given
	// back to the coordinator; Unreported are those of which the coordinator could not be told: their leases expire, and the trials
	// are repeated.
	Reported, HandedBack, Unreported int
	// Cause of the context.
	Cause error
}

func (e *StoppedError) Error() string {
	return fmt.Sprintf("stopped: %d trials handed back, %d results reported, %d leases left to expire: %v", e.HandedBack,
		e.Reported, e.Unreported, e.Cause)
}

func (e *StoppedError) Unwrap() error { return e.Cause }

// stop cancels the trials and reports the finished ones, if the coordinator answers.
func (r *Runner) stop(ctx context.Context, cancelTrials context.CancelFunc) error {
	r.await(cancelTrials)
	interrupted := map[string]bool{}
	for id, l := range r.held {
		interrupted[id] = l.result.GetFailure().GetInterrupted()
	}
	stopped := &StoppedError{Cause: context.Cause(ctx)}
	parting, end := context.WithTimeout(context.WithoutCancel(ctx), Parting)
	defer end()
	for tries := 0; len(r.held) > 0; {
		request := r.report()
		call, cancel := context.WithTimeout(parting, Parting/stopTries)
		response, err := r.config.Client.Synchronize(call, request)
		cancel()
		if err != nil {
			if tries++; tries < stopTries && !isRefusal(err) { // another coordinator may answer
				continue
			}
			r.config.Logger.WarnContext(ctx, "stopped without reporting all leases", "leases", len(r.held), "error", err)
			break
		}
		before := len(r.held)
		r.apply(ctx, ctx, request, &misstepv1.SynchronizeResponse{Desired: response.GetDesired(), Drain: true})
		if len(r.held) == before {
			break // the coordinator still desires leases that the runner has dropped: they expire at their deadline
		}
	}
	for id, cut := range interrupted {
		switch {
		case r.held[id] != nil:
			stopped.Unreported++
		case cut:
			stopped.HandedBack++
		default:
			stopped.Reported++
		}
	}
	r.config.Logger.InfoContext(ctx, "stopped", "handed_back", stopped.HandedBack, "reported", stopped.Reported,
		"left_to_expire", stopped.Unreported)
	return stopped
}
