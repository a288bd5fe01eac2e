package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"misstep/app/station"
	"misstep/bundle/share"
	"misstep/coordinator"
	"misstep/internal/tied"
)

// roleStormCoordinator serves a folder and a store as the command does, until SIGTERM.
const roleStormCoordinator = "storm-coordinator"

// stormCoordinatorRole has the arguments folder, store, address and lease time.
func stormCoordinatorRole(args []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if len(args) != 4 {
		return fmt.Errorf("expected a folder, a store, an address and a lease time, got %q", args)
	}
	lease, err := time.ParseDuration(args[3])
	if err != nil {
		return err
	}
	coordinator.TuneCollector()
	c, err := station.Open(ctx, station.Place{Dir: args[0], Store: args[1], Patience: time.Minute}, coordinator.Config{
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})), LeaseTime: lease,
	}, share.Policy{})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", args[2])
	if err != nil {
		return errors.Join(err, c.Close())
	}
	return c.Serve(ctx, listener)
}

// server is a coordinator that is started again and again at the same address.
type server struct {
	command []string
	address string
	log     string
	cmd     *exec.Cmd
	ended   chan error
	// Longest is the longest time from SIGTERM to the end, Memory the most that it had in MiB.
	Longest time.Duration
	Memory  float64
}

func (s *server) start() error {
	log, err := os.OpenFile(s.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("start a coordinator: %w", err)
	}
	defer log.Close()
	s.cmd = exec.Command(s.command[0], s.command[1:]...)
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if err := tied.Start(s.cmd); err != nil {
		return fmt.Errorf("start a coordinator: %w", err)
	}
	cmd, ended := s.cmd, make(chan error, 1)
	s.ended = ended
	go func() { ended <- cmd.Wait() }()
	return nil
}

// answers waits until it accepts connections.
func (s *server) answers(ctx context.Context) error {
	for {
		conn, err := net.DialTimeout("tcp", s.address, time.Second)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-s.ended:
			s.cmd = nil
			return fmt.Errorf("a coordinator ended (log in %s): %w", s.log, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// terminate ends it by SIGTERM.
func (s *server) terminate() error {
	if s.cmd == nil {
		return nil
	}
	s.Memory = max(s.Memory, peak(s.cmd.Process.Pid))
	begin := time.Now()
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	const patience = 2 * time.Minute
	defer func() { s.cmd = nil }()
	select {
	case err := <-s.ended:
		s.Longest = max(s.Longest, time.Since(begin))
		if err != nil {
			return fmt.Errorf("a coordinator ended by SIGTERM (log in %s): %w", s.log, err)
		}
		return nil
	case <-time.After(patience):
		_ = s.cmd.Process.Kill()
		<-s.ended //nolint:errcheck // how it ends does not matter
		s.Longest = patience
		return nil
	}
}

// peak returns the most memory that a process had in MiB, 0 where that is unknown.
func peak(pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if value, is := strings.CutPrefix(line, "VmHWM:"); is {
			kib, _ := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 64)
			return kib / 1024
		}
	}
	return 0
}

// crew is the process with the runners.
type crew struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	answers *json.Decoder
	// all are the seconds so far.
	all []second
}

// startCrew starts this program as the process with the runners.
func startCrew(self string, s stormSettings) (*crew, error) {
	c := &crew{cmd: exec.Command(self, roleStormRunners)}
	c.cmd.Stderr = os.Stderr
	in, err1 := c.cmd.StdinPipe()
	out, err2 := c.cmd.StdoutPipe()
	if err := errors.Join(err1, err2); err != nil {
		return nil, fmt.Errorf("start the runners: %w", err)
	}
	if err := tied.Start(c.cmd); err != nil {
		return nil, fmt.Errorf("start the runners: %w", err)
	}
	c.in, c.answers = in, json.NewDecoder(out)
	var first ready
	return c, errors.Join(json.NewEncoder(in).Encode(s), c.answers.Decode(&first))
}

func (c *crew) order(o order) error {
	var more []second
	if err := errors.Join(json.NewEncoder(c.in).Encode(o), c.answers.Decode(&more)); err != nil {
		return fmt.Errorf("order the runners: %w", err)
	}
	c.all = append(c.all, more...)
	return nil
}

func (c *crew) start(group int) error { return c.order(order{Start: group, End: -1}) }
func (c *crew) end(group int) error   { return c.order(order{Start: -1, End: group}) }
func (c *crew) again(group int) error { return c.order(order{Start: group, End: group}) }
func (c *crew) look() error           { return c.order(order{Start: -1, End: -1, Series: true}) }

// close ends the runners, whose ledger is whole then.
func (c *crew) close() error {
	if err := errors.Join(c.in.Close(), c.cmd.Wait()); err != nil {
		return fmt.Errorf("end the runners: %w", err)
	}
	return nil
}

// freeAddress returns an address of the loopback interface at which nothing listens.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free address: %w", err)
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// stormScene is a fleet on a store, which the storms hit one after the other.
type stormScene struct {
	dir, url string
	self     string
	// database is the server of the store; nil for a file.
	database pauser
	disk     *slowDisk
	lease    time.Duration
	// quiet is how long the fleet is watched before each storm.
	quiet time.Duration
	// stock is the number of leases of runners that are gone when the coordinators start.
	stock    uint64
	settings stormSettings
	servers  []*server
	crew     *crew
}

// pauser is a database that can be stopped for a while.
type pauser interface {
	Pause() error
	Resume()
}

// open starts the coordinators, and the process of the runners, without runners.
func (s *stormScene) open(ctx context.Context, coordinators int) error {
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return err
	}
	for range coordinators {
		address, err := freeAddress()
		if err != nil {
			return err
		}
		s.servers = append(s.servers, &server{
			address: address, log: filepath.Join(s.dir, "log"),
			command: []string{s.self, roleStormCoordinator, s.dir, s.url, address, s.lease.String()},
		})
		s.settings.Addresses = append(s.settings.Addresses, address)
	}
	if err := s.serve(ctx); err != nil {
		return err
	}
	s.settings.Ledger = filepath.Join(s.dir, "ledger")
	var err error
	s.crew, err = startCrew(s.self, s.settings)
	return err
}

// serve starts all coordinators and waits until they answer.
func (s *stormScene) serve(ctx context.Context) error {
	var errs []error
	for _, one := range s.servers {
		errs = append(errs, one.start())
	}
	for _, one := range s.servers {
		errs = append(errs, one.answers(ctx))
	}
	return errors.Join(errs...)
}

// terminate ends all coordinators at once.
func (s *stormScene) terminate() error {
	errs := make(chan error)
	for _, one := range s.servers {
		go func() { errs <- one.terminate() }()
	}
	var all []error
	for range s.servers {
		all = append(all, <-errs)
	}
	return errors.Join(all...)
}

// close ends all processes: the coordinators first, while all runners call.
func (s *stormScene) close() error {
	err := s.terminate()
	if s.crew != nil {
		err = errors.Join(err, s.crew.close())
	}
	return err
}
