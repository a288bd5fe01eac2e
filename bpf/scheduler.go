package bpf

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/ringbuf"
	"github.com/cilium/ebpf/rlimit"
	"golang.org/x/sys/unix"

	"misstep/schedule"
)

// Options are the options of a scheduler.
type Options struct {
	schedule.Perturbation
	// Log receives every record if it is not nil; the caller closes it after Detach with the report's Lost.
	Log *schedule.LogWriter
	// Replay is the log whose decisions are replayed, nil for none.
	Replay *schedule.Log
	// Round, if not 0, is the number of threads that the program creates in each of its rounds: all rounds of the replay take the
	// decisions of the log's last one, not each those of its own.
	Round int
	// Stops are the places at which a replay stops threads, by breakpoints. They come from a log with FixedAddresses, see Log.Stops
	// and Choose.
	Stops []schedule.Stop
	// FixedAddresses loads programs and libraries at the same addresses each time, so that places of two runs are comparable.
	FixedAddresses bool
	// BufferBytes is the size of the kernel's buffer of records, a power of two; 0 means 8 MiB. When it is full, records are lost
	// and counted.
	BufferBytes uint32
}

// Scheduler is a loaded and attached perturbing scheduler. A host can have only one. The commands that it starts and all their
// descendants are its tree; nothing else is affected. Its methods must be called from one goroutine.
type Scheduler struct {
	options Options
	round   schedule.Round
	objects struct {
		schedMaps
		schedVariables
	}
	programs    *ebpf.Collection // all but the maps
	link        link.Link
	places      link.Link
	reader      *ringbuf.Reader
	read        sync.WaitGroup
	ended       chan struct{}
	once        sync.Once
	breakpoints []*breakpoint // of the started commands
	detaching   chan struct{}

	// written by the reading goroutine, read after it ended
	names      schedule.ThreadNames
	departures []schedule.Record
	departed   int
	known      map[uint64]int // decisions of a thread in the log that is replayed
	malformed  int
}

// Attach loads the scheduler and attaches it: from then on it schedules every task with the policy SCHED_EXT, so far none.
// The error wraps schedule.ErrInvalid for a wrong perturbation and ErrUnsupported if this kernel or user cannot load a scheduler.
func Attach(o Options) (*Scheduler, error) {
	config, err := o.Config()
	if err != nil {
		return nil, err
	}
	if err := Supported(); err != nil {
		return nil, err
	}
	if err := rlimit.RemoveMemlock(); err != nil {
		return nil, fmt.Errorf("load scheduler: %w", err)
	}
	if o.Round != 0 && o.Replay == nil {
		return nil, fmt.Errorf("%w: a round without a log to replay", schedule.ErrInvalid)
	}
	if len(o.Stops) > 0 && (o.Replay == nil || !o.FixedAddresses) {
		return nil, fmt.Errorf("%w: stops at places without a log to replay, or at random addresses", schedule.ErrInvalid)
	}
	config.LoaderTgid = int32(os.Getpid())
	if o.Log != nil {
		config.Flags |= uint32(schedule.FlagLog)
	}
	s := &Scheduler{
		options: o, ended: make(chan struct{}), detaching: make(chan struct{}), names: schedule.ThreadNames{},
		known: map[uint64]int{},
	}
	spec, err := loadSched()
	if err != nil {
		return nil, fmt.Errorf("load scheduler: %w", err)
	}
	if o.BufferBytes != 0 {
		spec.Maps[schedMapRecords].MaxEntries = o.BufferBytes
	}
	if o.Replay != nil {
		if s.round, err = o.Replay.LastRound(o.Round); err != nil {
			return nil, err
		}
		config.RoundParent, config.RoundFirst, config.RoundThreads = s.round.Parent, s.round.First, s.round.Threads
		config.Flags |= uint32(schedule.FlagReplay)
		spec.Maps[schedMapReplay].MaxEntries = uint32(max(1, len(o.Replay.Decisions)))
		spec.Maps[schedMapStops].MaxEntries = uint32(max(1, len(o.Stops)))
		for _, thread := range o.Replay.Threads {
			s.names.Add(thread)
		}
	}
	if err := spec.Variables[schedVarConfig].Set(config); err != nil {
		return nil, fmt.Errorf("load scheduler: %w", err)
	}
	if len(o.Stops) == 0 {
		delete(spec.Programs, schedProgOnPlace) // it needs more of the kernel than the other programs
	}
	if err := s.load(spec); err != nil {
		if refused, ok := errors.AsType[*ebpf.VerifierError](err); ok {
			return nil, fmt.Errorf("load scheduler: the kernel's verifier refused it: %w", refused)
		}
		return nil, fmt.Errorf("load scheduler: %w", err)
	}
	if err := s.attach(); err != nil {
		_ = s.unload()
		return nil, err
	}
	return s, nil
}

// load makes the kernel verify and load the programs.
func (s *Scheduler) load(spec *ebpf.CollectionSpec) (err error) {
	if s.programs, err = ebpf.NewCollection(spec); err != nil {
		return err
	}
	if err := s.programs.Assign(&s.objects); err != nil {
		s.programs.Close()
		return err
	}
	return nil
}

func (s *Scheduler) unload() error {
	s.programs.Close()
	return s.objects.Close()
}

func (s *Scheduler) attach() error {
	if s.options.Replay != nil {
		if err := errors.Join(s.feed(s.options.Replay.Decisions), s.feedStops()); err != nil {
			return err
		}
	}
	reader, err := ringbuf.NewReader(s.objects.Records)
	if err != nil {
		return fmt.Errorf("read the scheduler's records: %w", err)
	}
	s.reader = reader
	if len(s.options.Stops) > 0 {
		if s.places, err = link.AttachTracing(link.TracingOptions{Program: s.programs.Programs[schedProgOnPlace]}); err != nil {
			reader.Close()
			return fmt.Errorf("%w: watch breakpoints: %w", ErrPlaces, err)
		}
	}
	s.link, err = link.AttachStructOps(link.StructOpsOptions{Map: s.objects.Misstep})
	if err != nil {
		reader.Close()
		if s.places != nil {
			s.places.Close()
		}
		return fmt.Errorf("attach scheduler: %w", err)
	}
	s.read.Go(s.follow)
	return nil
}

// feedStops fills the map of places at which threads are stopped.
func (s *Scheduler) feedStops() error {
	for _, stop := range s.options.Stops {
		at := schedMisstepAt{Path: stop.Path, Counter: stop.Place}
		d := schedMisstepDecision{
			Delay: stop.Held, Slice: stop.Slice, Rank: stop.Rank,
			Marks: uint32(schedule.MarkDelayed | schedule.MarkPlaced), Event: uint32(schedule.EventExpiry),
		}
		if err := s.objects.Stops.Put(at, d); err != nil {
			return fmt.Errorf("replay: pass the places to the scheduler: %w", err)
		}
	}
	return nil
}

// feed fills the map of decisions to repeat.
func (s *Scheduler) feed(decisions []schedule.Record) error {
	const batch = 4096
	for chunk := range slices.Chunk(decisions, batch) {
		keys := make([]schedMisstepAt, len(chunk))
		values := make([]schedMisstepDecision, len(chunk))
		for i, d := range chunk {
			keys[i] = schedMisstepAt{Path: d.Path, Counter: uint64(d.Counter)}
			values[i] = schedMisstepDecision{
				Delay: d.Delay, Slice: d.Slice, Rank: d.Rank,
				Marks: uint32(d.Marks &^ (schedule.MarkReplayed | schedule.MarkDeparted)), Event: uint32(d.Event),
			}
			s.known[d.Path]++
		}
		if _, err := s.objects.Replay.BatchUpdate(keys, values, nil); err != nil {
			return fmt.Errorf("replay: pass the decisions to the scheduler: %w", err)
		}
	}
	return nil
}

// follow reads records until the reader is closed.
func (s *Scheduler) follow() {
	var raw ringbuf.Record
	for {
		if err := s.reader.ReadInto(&raw); err != nil {
			if errors.Is(err, ringbuf.ErrFlushed) {
				return
			}
			if errors.Is(err, os.ErrClosed) {
				return
			}
			continue
		}
		if len(raw.RawSample) < schedule.RecordSize {
			s.malformed++
			continue
		}
		r := schedule.ParseRecord(raw.RawSample)
		switch r.Kind {
		case schedule.RecordEnd:
			s.once.Do(func() { close(s.ended) })
			continue
		case schedule.RecordThread:
			s.names.Add(r)
		case schedule.RecordDecision:
			if r.Marks&schedule.MarkDeparted != 0 {
				s.departed++
				if len(s.departures) < 1000 { // records of several CPUs are not in the order of time
					s.departures = append(s.departures, r)
				}
			}
		}
		if s.options.Log != nil {
			s.options.Log.Add(r)
		}
	}
}

// Ended returns a channel that is closed when the scheduler is out of the kernel, by an ejection or by Detach.
func (s *Scheduler) Ended() <-chan struct{} { return s.ended }

// Start starts a command as a root of the tree: the command and all its threads and descendants are under the scheduler from their
// first instruction on, as the user of the command's credential if there is one.
func (s *Scheduler) Start(cmd *exec.Cmd) error {
	result := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		result <- s.StartHere(cmd)
		if len(s.options.Stops) == 0 { // otherwise the thread has the breakpoints, and ends with this goroutine
			runtime.UnlockOSThread()
		}
	}()
	return <-result
}

// StartHere is Start from the calling goroutine, which must be locked to its thread, and stay locked while the command runs if the
// command is to die with that thread (PR_SET_PDEATHSIG).
func (s *Scheduler) StartHere(cmd *exec.Cmd) error {
	// The first use of a pidfd in this process creates a child to test pidfds, which would be taken for a root.
	if p, err := os.FindProcess(os.Getpid()); err == nil {
		_ = p.Release()
	}
	undo := func() error { return nil }
	if s.options.FixedAddresses {
		var err error
		if undo, err = fixAddresses(); err != nil {
			return fmt.Errorf("start %s: %w", cmd.Path, err)
		}
	}
	// The policy is inherited: this thread sets it, forks, and resets it. As a thread of the loader it is left alone.
	if err := setPolicy(unix.SCHED_EXT); err != nil {
		return errors.Join(fmt.Errorf("start %s: enter the scheduler: %w", cmd.Path, err), undo())
	}
	breakpoints, err := openBreakpoints(s.options.Stops)
	if err == nil {
		s.breakpoints = append(s.breakpoints, breakpoints...)
		if len(breakpoints) > 0 {
			s.read.Go(func() { s.watch(breakpoints) })
		}
		err = cmd.Start()
	}
	if leaving := errors.Join(setPolicy(unix.SCHED_NORMAL), undo()); leaving != nil {
		err = errors.Join(err, fmt.Errorf("leave the scheduler: %w", leaving))
		runtime.LockOSThread() // the thread ends with this goroutine
	}
	if err != nil {
		err = fmt.Errorf("start: %w", err)
	}
	return err
}

// setPolicy sets the calling thread's scheduling policy, with priority 0.
func setPolicy(policy uintptr) error {
	var priority int32
	if _, _, errno := unix.Syscall(unix.SYS_SCHED_SETSCHEDULER, 0, policy, uintptr(unsafe.Pointer(&priority))); errno != 0 {
		return errno
	}
	return nil
}

// Detach removes the scheduler, after which every task is under the kernel's own again, and returns its report.
func (s *Scheduler) Detach() (*schedule.Report, error) {
	close(s.detaching)
	err := s.link.Close()
	if s.places != nil {
		err = errors.Join(err, s.places.Close())
	}
	// All records are in the buffer now. Flush makes the reader return once it has read them.
	if flush := s.reader.Flush(); flush != nil {
		err = errors.Join(err, flush)
		s.reader.Close()
	}
	s.read.Wait()
	err = errors.Join(err, closeBreakpoints(s.breakpoints))
	s.once.Do(func() { close(s.ended) })
	report, reading := s.report()
	err = errors.Join(err, reading, s.reader.Close(), s.unload())
	if err != nil {
		return report, fmt.Errorf("detach scheduler: %w", err)
	}
	return report, nil
}
