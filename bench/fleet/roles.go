package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"misstep/runner/sim/fleet"
)

// The processes of a cell read their settings as a line of JSON, then commands; each answers with a line of JSON.
const (
	roleCoordinator = "coordinator"
	roleRunners     = "runners"
	commandMark     = "mark" // begin to measure, or report what was measured
)

// settings of a process.
type settings struct {
	Store        string        `json:",omitempty"`
	Addresses    []string      `json:",omitempty"`
	Certificates []byte        `json:",omitempty"` // of all coordinators, in PEM
	Runners      int           `json:",omitempty"`
	Size         uint64        `json:",omitempty"` // trials of each campaign; 0: there are campaigns already
	Observed     string        `json:",omitempty"` // what a coordinator observes of itself
	Spans        string        `json:",omitempty"` // address to which spans are exported
	Traced       bool          `json:",omitempty"` // runners report spans of their trials
	Profile      string        `json:",omitempty"` // file for a processor profile
	Pause        time.Duration `json:",omitempty"`
	Guarded      string        `json:",omitempty"` // whom a coordinator lets in, see guardedBy
	Authority    []byte        `json:",omitempty"` // that signs the certificates of runners, in PEM
	AuthorityKey []byte        `json:",omitempty"`
	Token        string        `json:",omitempty"` // of whoever submits campaigns
	Trials       string        `json:",omitempty"` // what trials are like, see trialsOfHunt
	Slots        uint32        `json:",omitempty"` // of each runner; 0 is one
}

// ready is the first answer of a process.
type ready struct {
	Address     string `json:",omitempty"`
	Certificate []byte `json:",omitempty"`
	Token       string `json:",omitempty"`
}

// usage is what a process used since it started, and what it measured since the last mark.
type usage struct {
	CPU       time.Duration
	Resident  uint64 // bytes
	Connected int64
	Results   uint64
	Idle      uint64
	Failed    uint64
	P50, P99  time.Duration
}

// role runs one of the processes until its input ends.
func role(ctx context.Context, name string, in io.Reader, out io.Writer) error {
	lines, answers := bufio.NewScanner(in), json.NewEncoder(out)
	lines.Buffer(nil, 1<<20)
	var s settings
	if !lines.Scan() {
		return fmt.Errorf("expected settings on stdin: %w", lines.Err())
	}
	if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
		return fmt.Errorf("read the settings: %w", err)
	}
	start := serve
	switch {
	case name == roleRunners:
		start = work
	case s.Guarded != "":
		start = serveGuarded
	}
	first, measure, stop, err := start(ctx, s)
	if err != nil {
		return err
	}
	err = answers.Encode(first)
	for err == nil && lines.Scan() {
		if command := lines.Text(); command != commandMark {
			err = fmt.Errorf("unknown command %q", command)
			break
		}
		err = answers.Encode(measure())
	}
	stop()
	return err
}

// work runs simulated runners.
func work(ctx context.Context, s settings) (ready, func() usage, func(), error) {
	config := fleet.Config{Addresses: s.Addresses, Runners: s.Runners, Seed: 1, Pause: s.Pause, Traced: s.Traced, Slots: s.Slots}
	campaign := submission
	if s.Trials == trialsOfHunt {
		config.Outcome, campaign = fleet.Hunt, huntSubmission
	}
	var err error
	if len(s.Certificates) > 0 {
		if config.TLS, err = fleet.Client(s.Certificates); err != nil {
			return ready{}, nil, nil, err
		}
	}
	if len(s.Authority) > 0 {
		if config.Authority, err = fleet.ParseAuthority(s.Authority, s.AuthorityKey); err != nil {
			return ready{}, nil, nil, err
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	var f fleet.Fleet
	var running sync.WaitGroup
	tasks := []func() error{func() error { return f.Run(ctx, config) }}
	if s.Size > 0 {
		tasks = append(tasks, func() error { return feed(ctx, config, s.Token, campaign(s.Size), f.Results.Load) })
	}
	for _, task := range tasks {
		running.Go(func() {
			if err := task(); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
		})
	}
	var before usage
	measure := func() usage {
		u := ownUsage()
		u.Connected, u.P50, u.P99 = f.Connected.Load(), f.Latencies.Quantile(0.5), f.Latencies.Quantile(0.99)
		total := usage{Results: f.Results.Load(), Idle: f.Idle.Load(), Failed: f.Failed.Load()}
		u.Results, u.Idle, u.Failed = total.Results-before.Results, total.Idle-before.Idle, total.Failed-before.Failed
		before = total
		f.Latencies.Reset()
		return u
	}
	return ready{}, measure, func() { cancel(); running.Wait() }, nil
}

// ownUsage returns the processor time and memory of this process.
func ownUsage() usage {
	var u usage
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err == nil {
		u.CPU = time.Duration(r.Utime.Nano() + r.Stime.Nano())
	}
	if data, err := os.ReadFile("/proc/self/statm"); err == nil {
		var size, resident uint64
		if _, err := fmt.Fscan(strings.NewReader(string(data)), &size, &resident); err == nil {
			u.Resident = resident * uint64(os.Getpagesize())
		}
	}
	return u
}
