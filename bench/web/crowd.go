package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http/httptest"
	"os"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/metadata"

	"misstep/app/station"
	"misstep/app/web"
	"misstep/bench"
	"misstep/bundle/share"
	"misstep/coordinator"
	"misstep/coordinator/access"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner/sim/fleet"
	"misstep/signature"
)

const (
	standardViewers = 200
	// standardRounds have a turn with people and one without each.
	standardRounds = 6
	standardWindow = 15 * time.Second
	// standardPause is the length of a trial: of each runner's cycle the coordinator has the rest.
	standardPause = time.Second
	// standardPeople have pages open, each person several: whoever makes their tokens may have a hundred with the admin's.
	standardPeople = 99
	// leastLeft is the share of the leases that must be left to the runners while people look.
	leastLeft = 0.95
)

// crowd is how many pages are open to how many people, of a coordinator with how many runners, and for how long.
type crowd struct {
	viewers, people, runners, rounds int
	window, pause                    time.Duration
}

func crowdOf() (c crowd, err error) {
	var errs []error
	number := func(name string, standard int) int {
		n, err := sizeOf(name, standard)
		errs = append(errs, err)
		return n
	}
	length := func(name string, standard time.Duration) time.Duration {
		text := os.Getenv(name)
		if text == "" {
			return standard
		}
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 {
			errs = append(errs, fmt.Errorf("%s=%s: expected a duration such as 15s", name, text))
		}
		return d
	}
	c = crowd{
		viewers: number("VIEWERS", standardViewers), people: standardPeople, runners: number("RUNNERS", standardRunners),
		rounds: number("ROUNDS", standardRounds), window: length("WINDOW", standardWindow), pause: length("PAUSE", standardPause),
	}
	return c, errors.Join(errs...)
}

// turn is what was measured while people looked, or nobody did.
type turn struct {
	Viewers int
	// Leases are the results that runners handed in a second; P50 and P99 of their calls in ms.
	Leases, P50, P99 float64
	// Pages that people got, and how long each took in ms.
	Pages            uint64
	PageP50, PageP95 float64
}

// watched are the turns, and how long a change took until it was seen on a page, in seconds.
type watched struct {
	Turns                []turn
	Changes              uint64
	ChangeP50, ChangeP95 float64
	Failed               uint64
}

// left is the share of the leases that was left to the runners while people looked: the median of the rounds.
func (w watched) left() float64 {
	var shares []float64
	for round := range slices.Chunk(w.Turns, 2) {
		if len(round) < 2 {
			continue
		}
		with, without := round[0], round[1]
		if with.Viewers == 0 {
			with, without = without, with
		}
		shares = append(shares, with.Leases/without.Leases)
	}
	if len(shares) == 0 {
		return math.NaN()
	}
	slices.Sort(shares)
	return (shares[(len(shares)-1)/2] + shares[len(shares)/2]) / 2
}

func (w watched) goals() []bench.Goal {
	return []bench.Goal{
		{Name: "leases while people look, of those while nobody does", Goal: leastLeft, AtLeast: true, Measured: w.left()},
		{Name: "calls and pages that failed", Goal: 0, Measured: float64(w.Failed)},
	}
}

func (w watched) table() bench.Table {
	t := bench.Table{
		Title: fmt.Sprintf("people beside runners; %d times a change was seen on a page: after %.1f s (median), %.1f s (p95)",
			w.Changes, w.ChangeP50, w.ChangeP95),
		Columns: []string{"people", "leases/s", "call p50 ms", "call p99 ms", "pages", "page p50 ms", "page p95 ms"},
	}
	for _, one := range w.Turns {
		t.Rows = append(t.Rows, []string{
			fmt.Sprint(one.Viewers), bench.Figure(one.Leases), bench.Figure(one.P50), bench.Figure(one.P99), fmt.Sprint(one.Pages),
			bench.Figure(one.PageP50), bench.Figure(one.PageP95),
		})
	}
	return t
}

// measure lets runners work, beside people in every other turn. All are in this process, so that the coordinator has less of the
// machine than on one of its own.
func (c crowd) measure(ctx context.Context, place station.Place) (w watched, err error) {
	coordinator.TuneCollector()
	place.Accounts.Ask = true
	place.Access.Authenticators = []access.Authenticator{func(context.Context) (*access.Caller, error) {
		return &access.Caller{Name: "runner sim", Grants: []access.Grant{{Role: misstepv1.Role_ROLE_RUNNER}}}, nil
	}}
	serving, err := station.Open(ctx, place, coordinator.Config{}, share.Policy{})
	if err != nil {
		return w, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return w, errors.Join(err, serving.Close())
	}
	ctx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	var served error
	running.Go(func() { served = serving.Serve(ctx, listener) })
	defer func() {
		stop()
		running.Wait()
		err = errors.Join(err, served)
	}()
	st, err := serving.Connect()
	if err != nil {
		return w, err
	}
	defer st.Close()
	tokens, err := tokensOf(ctx, place, c.people+1)
	if err != nil {
		return w, err
	}
	admin := metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+tokens[0])
	if _, err := st.StopCampaign(admin, &misstepv1.StopCampaignRequest{CampaignId: campaignID}); err != nil {
		return w, err
	}
	if _, err := st.SubmitCampaign(admin, work()); err != nil {
		return w, err
	}
	site := httptest.NewServer(web.New(web.Options{Conn: st.Conn, Blobs: st.Blobs, Asks: true}))
	defer site.Close()
	var runners fleet.Fleet
	running.Go(func() {
		if err := runners.Run(ctx, fleet.Config{
			Addresses: []string{listener.Addr().String()}, Runners: c.runners, Seed: 1, Pause: c.pause,
		}); err != nil {
			bench.Note("runners: %v", err)
		}
	})
	for runners.Connected.Load() < int64(c.runners) {
		if err := wait(ctx, 50*time.Millisecond); err != nil {
			return w, err
		}
	}
	people := newAudience(site.URL, tokens[1:])
	for round := range c.rounds {
		order := []int{0, c.viewers}
		if round%2 == 1 {
			slices.Reverse(order)
		}
		for _, n := range order {
			one, err := c.turn(ctx, &runners, people, n, func() error { return people.change(admin, st) })
			if err != nil {
				return w, err
			}
			w.Turns = append(w.Turns, one)
		}
	}
	w.Changes, w.Failed = people.seen.Count(), people.failed.Load()+runners.Failed.Load()
	w.ChangeP50, w.ChangeP95 = people.seen.Quantile(0.5).Seconds(), people.seen.Quantile(0.95).Seconds()
	return w, nil
}

// turn measures for the length of a window at least, after everybody who looks has begun to. A finding changes when it begins, and
// it ends when all who look at that finding have seen it.
func (c crowd) turn(ctx context.Context, f *fleet.Fleet, people *audience, n int, change func() error) (one turn, err error) {
	leave, err := people.enter(ctx, n)
	if err != nil {
		return one, err
	}
	defer leave()
	if n > 0 {
		if err := change(); err != nil {
			return one, err
		}
	}
	f.Latencies.Reset()
	people.pages.Reset()
	before, begin := f.Results.Load(), time.Now()
	if err := errors.Join(wait(ctx, c.window), people.awaitChange(ctx)); err != nil {
		return one, err
	}
	return turn{
		Viewers: n, Leases: float64(f.Results.Load()-before) / time.Since(begin).Seconds(), P50: ms(f.Latencies.Quantile(0.5)),
		P99: ms(f.Latencies.Quantile(0.99)), Pages: people.pages.Count(), PageP50: ms(people.pages.Quantile(0.5)),
		PageP95: ms(people.pages.Quantile(0.95)),
	}, nil
}

// tokensOf makes the tokens of as many people; the first one may do everything, the others look.
func tokensOf(ctx context.Context, place station.Place, n int) ([]string, error) {
	url := place.Store
	if url == "" {
		url = place.Dir
	}
	people, done, err := station.OpenAccess(ctx, url, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	defer done()
	var tokens []string
	role := misstepv1.Role_ROLE_ADMIN
	for i := range n {
		made, err := people.CreateToken(ctx, &misstepv1.CreateTokenRequest{
			Name: fmt.Sprintf("bench-%d", i), Grants: []*misstepv1.Grant{{Role: role}},
		})
		if err != nil {
			return nil, err
		}
		tokens = append(tokens, made.GetSecret())
		role = misstepv1.Role_ROLE_VIEWER
	}
	return tokens, nil
}

// work is a campaign that does not end.
func work() *misstepv1.SubmitCampaignRequest {
	digest := digestOf("e")
	return &misstepv1.SubmitCampaignRequest{
		Campaign: &misstepv1.Campaign{
			Name: "beside-people", Seed: 1, Jdks: []string{"jdk17"}, Workloads: []*misstepv1.CampaignWorkload{{Name: "w"}},
			Checks: []*misstepv1.Check{{Name: "gst-asgct"}}, Budget: &misstepv1.Budget{Trials: 1_000_000_000},
		},
		Jdks:      []*misstepv1.Jdk{{Name: "jdk17", Digest: digest, Version: "17.0.15"}},
		Workloads: []*misstepv1.Workload{{Name: "w", Digest: digest}},
	}
}

// changed is the finding that changes.
func changed() string { return signature.ID(signatureOf(0)) }

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
