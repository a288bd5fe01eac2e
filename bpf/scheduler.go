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

// Options of a scheduler.
type Options struct {
	schedule.Perturbation
	// Log gets every record when it is not nil; the caller closes it after Detach with the report's Lost.
	Log *schedule.LogWriter
	// Replay feeds these decisions back.
	Replay *schedule.Log
	// Round, when it is not 0, is how many threads the program creates in each of its rounds: all rounds of the replay take the
	// decisions of the log's last one, and not each those of its own.
	Round int
	// Stops of a replay: threads are stopped at these places, by breakpoints. They are of a log with FixedAddresses, see Log.Stops
	// and Choose.
	Stops []schedule.Stop
	// FixedAddresses loads programs and libraries at the same addresses each time; places of two runs are comparable then.
	FixedAddresses bool
	// BufferBytes of the kernel's buffer of records, a power of two; 0 is 8 MiB. When it is full, records are lost and counted.
	BufferBytes uint32
}

// Scheduler is a loaded and attached perturbing scheduler. There is one for a host. The commands that it starts and all their
// descendants are its tree; nothing else is touched. Its methods may be called from one goroutine.
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
	breakpoints []*breakpoint // of what was started
	detaching   chan struct{}

	// written by the reading goroutine, read after it ended
	names      schedule.ThreadNames
	departures []schedule.Record
	departed   int
	known      map[uint64]int // decisions of a thread in the log that is replayed
	malformed  int
}

// Attach loads the scheduler and puts it in charge of every task with the policy SCHED_EXT, which so far is none.
// The error wraps schedule.ErrInvalid for a wrong perturbation and ErrUnsupported where this kernel or user cannot.
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
		delete(spec.Programs, schedProgOnPlace) // what it needs of the kernel, the rest does not
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

// load has the kernel verify the programs and keeps what was loaded.
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
			return fmt.Errorf("replay: hand over places: %w", err)
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
			return fmt.Errorf("replay: hand over decisions: %w", err)
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

// Ended is closed when the kernel has taken the scheduler out, before or by Detach.
func (s *Scheduler) Ended() <-chan struct{} { return s.ended }

// Start starts a command as a root of the tree: it and all its threads and descendants are under the scheduler from their first
// instruction on, as an ordinary user if the command's credential says so.
func (s *Scheduler) Start(cmd *exec.Cmd) error {
	result := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		result <- s.StartHere(cmd)
		if len(s.options.Stops) == 0 { // else the thread has the breakpoints, and ends with this goroutine
			runtime.UnlockOSThread()
		}
	}()
	return <-result
}

// StartHere is Start from the calling goroutine, which must be locked to its thread, and stay so while the command runs when the
// command is to die with that thread (PR_SET_PDEATHSIG).
func (s *Scheduler) StartHere(cmd *exec.Cmd) error {
	// The first use of a pidfd in this process makes a child to try it out, which would be taken for a root.
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
	// The policy is inherited: this thread takes it, forks, and gives it back. It is of the loader and thus left alone.
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
	if back := errors.Join(setPolicy(unix.SCHED_NORMAL), undo()); back != nil {
		err = errors.Join(err, fmt.Errorf("leave the scheduler: %w", back))
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

// Detach takes the scheduler out, after which every task is under the kernel's own again, and reports what it did.
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
