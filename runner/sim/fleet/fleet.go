// Package fleet simulates many runners that call a coordinator over real connections: each runs no JVM, and reports
// the results of the trials that it was leased with its next call.
package fleet

import (
	"context"
	"crypto/tls"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner/sim"
)

// Config of a fleet.
type Config struct {
	// Addresses of the coordinators, HOST:PORT; the runners are shared out among them.
	Addresses []string
	// TLS of the connections; nil is plain text.
	TLS *tls.Config
	// Authority gives each runner a certificate of its own; nil takes the one of TLS, if any.
	Authority *Authority
	// Runners is their number; each has a connection of its own.
	Runners int
	// Seed of the outcomes.
	Seed uint64
	// Pause is the time between an answer and the next call of a runner, the duration of its trial.
	Pause time.Duration
	// Outcome returns what a trial gives; nil gives clean ones with the same counts for each check, and few with a mismatch.
	Outcome func(*misstepv1.Recipe, *rand.Rand) *misstepv1.Outcome
	// Slots of each runner; 0 is one.
	Slots uint32
	// Traced runners report a span of each trial, as those that export traces do.
	Traced bool
}

// Fleet is a number of runners at work. Its counts are read at any time.
type Fleet struct {
	// Latencies of the calls that succeeded.
	Latencies Latencies
	// Connected runners have had a first answer.
	Connected atomic.Int64
	// Results that a coordinator acknowledged; each call reports at most one for each slot.
	Results atomic.Uint64
	// Idle answers had no lease.
	Idle atomic.Uint64
	// Failed calls were repeated.
	Failed atomic.Uint64
}

// Run runs the runners until ctx ends.
func (f *Fleet) Run(ctx context.Context, c Config) error {
	var running sync.WaitGroup
	defer running.Wait()
	for i := range c.Runners {
		id := fmt.Sprintf("sim-%05d", i)
		secure, err := c.credentials(id)
		if err != nil {
			return fmt.Errorf("prepare runner %d: %w", i, err)
		}
		// One buffer for each direction of ten thousand connections would be most of the process.
		conn, err := grpc.NewClient("passthrough:"+c.Addresses[i%len(c.Addresses)],
			grpc.WithTransportCredentials(secure), grpc.WithReadBufferSize(4<<10), grpc.WithWriteBufferSize(4<<10),
			grpc.WithStaticStreamWindowSize(1<<20), grpc.WithStaticConnWindowSize(1<<20))
		if err != nil {
			return fmt.Errorf("prepare runner %d: %w", i, err)
		}
		running.Go(func() {
			defer conn.Close()
			random := rand.New(rand.NewPCG(c.Seed, uint64(i)))
			f.run(ctx, misstepv1.NewLeaseServiceClient(conn), id, c, random)
		})
	}
	return nil
}

// credentials are those of the connection of a runner.
func (c Config) credentials(id string) (credentials.TransportCredentials, error) {
	switch {
	case c.Authority != nil:
		own, err := c.Authority.Runner(id)
		return credentials.NewTLS(own), err
	case c.TLS != nil:
		return credentials.NewTLS(c.TLS), nil
	}
	return insecure.NewCredentials(), nil
}

// run is the life of one runner.
func (f *Fleet) run(ctx context.Context, client misstepv1.LeaseServiceClient, id string, c Config, random *rand.Rand) {
	slots, make := max(1, c.Slots), outcome
	if c.Outcome != nil {
		make = c.Outcome
	}
	request := &misstepv1.SynchronizeRequest{Runner: &misstepv1.Runner{Id: id, Host: "sim", Slots: slots}, FreeSlots: slots}
	for first := true; ctx.Err() == nil; {
		begin := time.Now()
		response, err := client.Synchronize(ctx, request, grpc.WaitForReady(true))
		if err != nil {
			if ctx.Err() == nil {
				f.Failed.Add(1)
				wait(ctx, 100*time.Millisecond)
			}
			continue // what is held is still held
		}
		f.Latencies.Add(time.Since(begin))
		f.Results.Add(uint64(len(request.GetHeld())))
		if first {
			f.Connected.Add(1)
			first = false
		}
		request.Held = nil
		for _, lease := range response.GetDesired() {
			o := make(lease.GetRecipe(), random)
			if c.Traced {
				o.TraceParent = fmt.Sprintf("00-%016x%016x-%016x-01", random.Uint64()|1, random.Uint64(), random.Uint64()|1)
			}
			request.Held = append(request.Held, &misstepv1.HeldLease{
				LeaseId: lease.GetId(), State: &misstepv1.HeldLease_Outcome{Outcome: o},
			})
		}
		pause := c.Pause
		if len(request.Held) == 0 {
			f.Idle.Add(1)
			pause = max(pause, 100*time.Millisecond)
		}
		wait(ctx, pause)
	}
}

func wait(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// bugs is the number of different findings that a fleet shows.
const bugs = 20

// outcome returns the outcome of a trial: one in five hundred shows one of the bugs, the others are clean.
func outcome(recipe *misstepv1.Recipe, random *rand.Rand) *misstepv1.Outcome {
	o := &misstepv1.Outcome{Kind: misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN}
	if random.IntN(500) == 0 {
		o = sim.Mismatch(fmt.Sprint("Bug", random.IntN(bugs)))(recipe, random)
	}
	const samples = 1000
	var found uint64
	for _, m := range o.GetMismatches() {
		found += m.GetCount()
	}
	for i, check := range recipe.GetChecks() {
		o.Checks = append(o.Checks, &misstepv1.CheckCount{Check: check.GetName(), Total: samples, Match: samples})
		if i == 0 { // all mismatches are of the first check
			o.Checks[i].Total, o.Checks[i].Mismatch = samples+found, found
		}
	}
	if found > 0 { // a coordinator holds it against the lease
		o.RecipeDigest, _ = misstepv1.RecipeDigest(recipe) // without one it is refused
	}
	o.Signals = &misstepv1.SignalCount{Sent: samples, Delivered: samples, Answered: samples}
	return o
}
