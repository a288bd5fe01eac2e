package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
	"google.golang.org/grpc"

	"misstep/app/station"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner"
	"misstep/runner/sim"
)

// roleStormRunners runs real runners with simulated trials in one process, in groups that end and start anew.
const roleStormRunners = "storm-runners"

// The groups: those that stay, of which the measurement is, and those that come and go.
const (
	staying = iota
	returning
	groups
)

// stormSettings of the process with the runners.
type stormSettings struct {
	Addresses []string
	// Runners by group, each with stormSlots; they share Connections.
	Runners     [groups]int
	Connections int
	// Trial is the mean time of a trial.
	Trial time.Duration
	// Ledger is the file to which every acknowledged result is written.
	Ledger string
}

// stormSlots is the number of slots of each runner.
const stormSlots = 8

// order is what the process with the runners is told to do, a line of JSON; it answers with a line of JSON.
type order struct {
	// Start and End are groups, or -1. A group ends silently, and starts under new names.
	Start, End int
	// Series asks for the series of seconds since the last one.
	Series bool
}

// stormRunners are the groups at work.
type stormRunners struct {
	settings stormSettings
	conns    []*station.Station
	book     *book
	executor runner.Executor
	running  sync.WaitGroup
	// end of the groups that run, and their clients.
	end     [groups]context.CancelFunc
	clients [groups][]*bookedClient
	started int
}

func stormRunnersRole(ctx context.Context, in io.Reader, out io.Writer) error {
	lines, answers := bufio.NewScanner(in), json.NewEncoder(out)
	var s stormSettings
	if !lines.Scan() {
		return fmt.Errorf("expected settings on stdin: %w", lines.Err())
	}
	if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
		return fmt.Errorf("read the settings: %w", err)
	}
	r, err := newStormRunners(s)
	if err != nil {
		return err
	}
	err = answers.Encode(ready{})
	for err == nil && lines.Scan() {
		var o order
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			return fmt.Errorf("read an order: %w", err)
		}
		if o.End >= 0 {
			r.stop(o.End)
		}
		if o.Start >= 0 {
			r.start(ctx, o.Start)
		}
		var series []second
		if o.Series {
			series = r.book.series()
		}
		err = answers.Encode(series)
	}
	for g := range groups {
		r.stop(g)
	}
	return errors.Join(err, r.book.close())
}

func newStormRunners(s stormSettings) (*stormRunners, error) {
	simulated, err := sim.New(sim.Script{Seed: 51, Duration: s.Trial, Events: []sim.Event{
		{Rate: 0.002, Outcome: sim.Mismatch("A")},
	}}, runner.SystemClock{})
	if err != nil {
		return nil, err
	}
	r := &stormRunners{settings: s, executor: runner.ExecutorFunc(func(
		ctx context.Context, recipe *misstepv1.Recipe, _ runner.ProgressFunc,
	) (*misstepv1.Outcome, error) {
		return simulated.Run(ctx, recipe, nil)
	})}
	if r.book, err = newBook(s.Ledger); err != nil {
		return nil, err
	}
	for range s.Connections {
		st, err := station.Dial(s.Addresses...)
		if err != nil {
			return nil, err
		}
		r.conns = append(r.conns, st)
	}
	return r, nil
}

// start starts the runners of a group, as machines that were switched on.
func (r *stormRunners) start(ctx context.Context, group int) {
	ctx, r.end[group] = context.WithCancel(ctx)
	r.started++
	r.clients[group] = nil
	for i := range r.settings.Runners[group] {
		client := &bookedClient{
			LeaseServiceClient: r.conns[i%len(r.conns)].Leases, book: r.book, group: group,
		}
		r.clients[group] = append(r.clients[group], client)
		one, err := runner.New(runner.Config{
			Client: client, Executor: r.executor, Slots: stormSlots, Host: "sim", ID: fmt.Sprintf("sim-%d-%05d", r.started, i),
			Backoff: func() backoff.BackOff { // as real ones
				b := backoff.NewExponentialBackOff()
				b.InitialInterval, b.MaxInterval = 200*time.Millisecond, 10*time.Second
				return b
			},
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return
		}
		r.running.Go(func() { _ = one.Run(ctx) }) // it is stopped
	}
}

// stop ends a group silently: its leases expire.
func (r *stormRunners) stop(group int) {
	if r.end[group] == nil {
		return
	}
	for _, c := range r.clients[group] {
		c.dead.Store(true)
	}
	r.end[group]()
	r.end[group] = nil
}

// bookedClient notes what a runner is answered.
type bookedClient struct {
	misstepv1.LeaseServiceClient
	book  *book
	group int
	dead  atomic.Bool
}

var errDead = errors.New("this runner has ended")

// Synchronize implements the client's interface. Each outcome says of which lease it is.
func (c *bookedClient) Synchronize(
	ctx context.Context, request *misstepv1.SynchronizeRequest, options ...grpc.CallOption,
) (*misstepv1.SynchronizeResponse, error) {
	if c.dead.Load() {
		return nil, errDead
	}
	for _, h := range request.GetHeld() {
		if o := h.GetOutcome(); o != nil {
			o.Reason = h.GetLeaseId()
		}
	}
	begin := time.Now()
	response, err := c.LeaseServiceClient.Synchronize(ctx, request, options...)
	if c.dead.Load() {
		return nil, errDead
	}
	c.book.called(c.group, time.Since(begin), request, response, err)
	return response, err
}
