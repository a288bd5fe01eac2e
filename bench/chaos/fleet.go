package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"misstep/internal/proxy"
	"misstep/internal/testenv/pgtest"
)

// fleet is a set of coordinators on one store and of runners that reach them through proxies. Faults are injected by one goroutine.
type fleet struct {
	// dir is the folder of the run; its part that disks of services are on may be made full.
	dir    string
	clocks clocks
	// ballast is a file that makes the disk full; empty if that is not possible here.
	ballast string

	// database is the server of the store; nil for a store without one.
	database *pgtest.Server
	// bucket has the blobs; nil when they are in the coordinators' folder.
	bucket *bucket

	coordinators, runners []*service
	proxies               []*proxy.Proxy

	under  sync.WaitGroup // faults that last
	busy   map[any]bool   // what a fault is under way for; only run's goroutine and its faults' ends use it, under mu
	mu     sync.Mutex
	broken error // what the injection itself could not repair; guarded by mu
	// Counts of the faults by kind. Skipped are those that could not be injected.
	Counts  map[kind]int
	Skipped map[kind]int
}

// inject injects faults until a time comes and there were at least so many of them, then ends all of them.
func (f *fleet) inject(random *rand.Rand, meanPause time.Duration, until time.Time, least int) error {
	f.Counts, f.Skipped, f.busy = map[kind]int{}, map[kind]int{}, map[any]bool{}
	for injected := 0; injected < least || time.Now().Before(until); {
		next := draw(random, f.choices(), meanPause)
		time.Sleep(next.Pause)
		if f.begin(next) {
			injected++
		}
	}
	f.under.Wait()
	return errors.Join(f.broken, f.heal())
}

// choices are the faults of this fleet.
func (f *fleet) choices() []choice {
	all := slices.Clone(choices)
	if f.bucket != nil {
		all = append(all, objectChoices...)
	}
	return slices.DeleteFunc(all, func(c choice) bool { return f.clocks == "" && ofClocks[c.kind] })
}

// begin injects a fault; its end is awaited elsewhere. It is skipped, as the result says, while another fault has the same target.
func (f *fleet) begin(x fault) bool {
	var target any
	var act func()
	wait := func() { time.Sleep(x.Lasts) }
	switch x.Kind {
	case killCoordinator, termCoordinator, stopCoordinator, killRunner, termRunner, stopRunner:
		s := f.service(x)
		target, act = s, func() { hit(s, x) }
	case massExpiry, reconnectStorm:
		target, act = x.Kind, func() { storm(f.half(x), x) }
	case partition, cut, reset, slow:
		p := f.proxies[x.Target%len(f.proxies)]
		target, act = p, func() { disturb(p, x, wait) }
	case killDatabase, stopDatabase:
		if f.database != nil {
			target, act = f.database, func() { f.restart(x) }
		}
	case clockJump, clockCoordinator, clockRunner:
		file := f.clock(x)
		target, act = file, func() { f.clocks.jump(x, file) }
	case killObjects:
		target, act = f.bucket.dir, func() { f.repair(f.bucket.again(wait)) }
	case objectErrors, objectSlowDown, objectReset, objectCut, objectSlow, objectExpired:
		target, act = f.bucket, func() { f.bucket.spoil(x, wait) }
	case fullDisk:
		if f.ballast != "" {
			target, act = f.ballast, func() { f.fill(wait) }
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if act == nil || f.busy[target] {
		f.Skipped[x.Kind]++
		return false
	}
	f.busy[target] = true
	f.Counts[x.Kind]++
	f.under.Go(func() {
		act()
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.busy, target)
	})
	return true
}

func (f *fleet) service(x fault) *service {
	all := f.runners
	switch x.Kind {
	case killCoordinator, termCoordinator, stopCoordinator:
		all = f.coordinators
	}
	return all[x.Target%len(all)]
}

// half are every second runner.
func (f *fleet) half(x fault) (half []*service) {
	for i := x.Target % 2; i < len(f.runners); i += 2 {
		half = append(half, f.runners[i])
	}
	return half
}

// storm ends runners silently at once, and returns when they are back. Each fault of one of them may start it earlier.
func storm(runners []*service, x fault) {
	down := func(lasts time.Duration) {
		var ending sync.WaitGroup
		for _, s := range runners {
			ending.Go(func() { s.down(syscall.SIGKILL, lasts) })
		}
		ending.Wait()
	}
	if x.Kind == massExpiry {
		down(x.Lasts)
		return
	}
	// They are back, have new leases, and are gone when the ones before end.
	const again = leaseTime * 5 / 6
	for until := time.Now().Add(x.Lasts); time.Now().Before(until); time.Sleep(again) {
		down(0)
	}
}

// clock is the file that shifts the clock that a fault hits.
func (f *fleet) clock(x fault) string {
	switch x.Kind {
	case clockCoordinator:
		return f.clocks.file("coordinator", x.Target%len(f.coordinators))
	case clockRunner:
		return f.clocks.file("runner", x.Target%len(f.runners))
	default:
		return f.clocks.all()
	}
}

// hit injects a fault into a service and returns at its end.
func hit(s *service, x fault) {
	switch x.Kind {
	case killCoordinator, killRunner:
		s.down(syscall.SIGKILL, x.Lasts)
	case termCoordinator, termRunner:
		s.down(syscall.SIGTERM, x.Lasts)
	default:
		s.signal(syscall.SIGSTOP, false)
		time.Sleep(x.Lasts)
		s.signal(syscall.SIGCONT, false)
	}
}

// disturb injects a fault into a part of the network and returns at its end.
func disturb(p *proxy.Proxy, x fault, wait func()) {
	switch x.Kind {
	case partition:
		p.Freeze()
		wait()
		p.Thaw()
	case cut:
		p.Cut()
		wait()
		p.Restore()
	case reset:
		p.Reset()
	default:
		p.Delay(5*time.Millisecond + time.Duration(x.Amount*float64(300*time.Millisecond)))
		wait()
		p.Delay(0)
	}
}

// restart ends the database's server and starts it after a while.
func (f *fleet) restart(x fault) {
	if x.Kind == killDatabase {
		f.database.Kill()
	} else {
		f.database.Stop()
	}
	time.Sleep(x.Lasts)
	f.repair(f.database.Run())
}

// repair notes what the end of a fault could not repair.
func (f *fleet) repair(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.broken = errors.Join(f.broken, err)
}

// fill makes the disk full for a while.
func (f *fleet) fill(wait func()) {
	file, err := os.OpenFile(f.ballast, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return
	}
	block := make([]byte, 1<<20)
	for err == nil {
		_, err = file.Write(block)
	}
	block = block[:1<<10]
	for err = nil; err == nil; {
		_, err = file.Write(block)
	}
	wait()
	_ = errors.Join(file.Close(), os.Remove(f.ballast))
}

// heal starts what does not run.
func (f *fleet) heal() error {
	var errs []error
	for _, s := range append(append([]*service(nil), f.coordinators...), f.runners...) {
		errs = append(errs, s.start())
	}
	return errors.Join(errs...)
}

// close ends runners, then coordinators, then proxies.
func (f *fleet) close() error {
	for _, group := range [][]*service{f.runners, f.coordinators} {
		var ending sync.WaitGroup
		for _, s := range group {
			ending.Go(func() { s.close(syscall.SIGTERM, 30*time.Second) })
		}
		ending.Wait()
	}
	var errs []error
	for _, p := range f.proxies {
		errs = append(errs, p.Close())
	}
	return errors.Join(errs...)
}

// surprises counts ends of services that no fault caused.
func (f *fleet) surprises() (n int) {
	for _, s := range append(append([]*service(nil), f.coordinators...), f.runners...) {
		s.mu.Lock()
		n += s.Surprises
		s.mu.Unlock()
	}
	return n
}

// smallDisk mounts a file system of its own on a folder, if this process may; unmount removes it.
func smallDisk(dir string, mib int) (unmount func() error, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dm,mode=0711", mib)); err != nil {
		return func() error { return nil }, fmt.Errorf("mount a small disk: %w (requires root)", err)
	}
	return func() error { return syscall.Unmount(dir, syscall.MNT_DETACH) }, nil
}

// freeAddress returns an address of the loopback interface at which nothing listens.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}
