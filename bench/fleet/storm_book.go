package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner/sim/fleet"
)

// book notes the results that coordinators acknowledged, and how calls fared second by second.
type book struct {
	file  *os.File
	lines *bufio.Writer

	mu sync.Mutex
	// live leases by id; guarded by mu, as what follows.
	live map[string]*misstepv1.Lease
	// seconds since 1970.
	seconds map[int64]*counted
}

// second is what happened in a second of the day, since 1970 by its number.
type second struct {
	At int64
	// Results by group, and by tenths of the second those of the group that stays.
	Results [groups]uint64
	Tenths  [10]uint64
	// Failed calls, and the times of all calls of the group that stays.
	Failed   uint64
	P50, P99 time.Duration
}

type counted struct {
	second
	calls fleet.Latencies
}

func newBook(path string) (*book, error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("write the ledger: %w", err)
	}
	return &book{
		file: file, lines: bufio.NewWriter(file), live: map[string]*misstepv1.Lease{}, seconds: map[int64]*counted{},
	}, nil
}

// called notes a call. A result is in time if its lease had not ended when the answer came: then it must be in the store. That of a
// lease that was lost may be dropped.
func (b *book) called(
	group int, took time.Duration, request *misstepv1.SynchronizeRequest, response *misstepv1.SynchronizeResponse, err error,
) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	s := b.at(now)
	if group == staying {
		s.calls.Add(took)
	}
	if err != nil {
		s.Failed++
		return
	}
	desired := map[string]bool{}
	for _, l := range response.GetDesired() {
		desired[l.GetId()] = true
		b.live[l.GetId()] = l
	}
	for _, h := range request.GetHeld() {
		l := b.live[h.GetLeaseId()]
		if h.GetOutcome() == nil || l == nil || desired[h.GetLeaseId()] {
			continue
		}
		delete(b.live, h.GetLeaseId())
		s.Results[group]++
		if group == staying {
			s.Tenths[now.Nanosecond()/100_000_000]++
		}
		fmt.Fprintln(b.lines, l.GetId(), l.GetCampaignId(), l.GetTrial(), now.Before(l.GetDeadline().AsTime()))
	}
}

func (b *book) at(now time.Time) *counted {
	s := b.seconds[now.Unix()]
	if s == nil {
		s = &counted{}
		s.At = now.Unix()
		b.seconds[s.At] = s
	}
	return s
}

// series returns the seconds that have passed since the last call, and forgets them.
func (b *book) series() []second {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now().Unix()
	var all []second
	for at, s := range b.seconds {
		if at == now {
			continue
		}
		s.P50, s.P99 = s.calls.Quantile(0.5), s.calls.Quantile(0.99)
		all = append(all, s.second)
		delete(b.seconds, at)
	}
	slices.SortFunc(all, func(x, y second) int { return int(x.At - y.At) })
	return all
}

// close writes the ledger.
func (b *book) close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := errors.Join(b.lines.Flush(), b.file.Close()); err != nil {
		return fmt.Errorf("write the ledger: %w", err)
	}
	return nil
}
