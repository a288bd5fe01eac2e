package bpf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"misstep/schedule"
)

// ErrPlaces says that this machine cannot stop threads at places, as when a debugger has its breakpoints.
var ErrPlaces = errors.New("cannot stop threads at places (without, as by --places 0, the replay works)")

// breakpoint of a tree: every thread and process that the opening thread creates inherits it, from its exec on.
type breakpoint struct {
	place uint64
	fd    int
	off   bool // it was taken away
}

const (
	breakpointExecute = 4          // HW_BREAKPOINT_X of linux/hw_breakpoint.h
	addrNoRandomize   = 0x0040000  // ADDR_NO_RANDOMIZE of linux/personality.h
	askPersonality    = 0xffffffff // tells it and changes nothing
	// mostPasses of a place, of all threads together, each some microseconds: one that comes oftener is in a loop that the program would crawl through.
	mostPasses = 100_000
	passesLook = 20 * time.Millisecond // how often passes are looked at
)

// openBreakpoints puts breakpoints before the instructions of the stops for what the calling thread will start.
func openBreakpoints(stops []schedule.Stop) (all []*breakpoint, err error) {
	for _, s := range stops {
		if slices.ContainsFunc(all, func(b *breakpoint) bool { return b.place == s.Place }) {
			continue
		}
		attr := unix.PerfEventAttr{
			Type: unix.PERF_TYPE_BREAKPOINT, Size: unix.PERF_ATTR_SIZE_VER5,
			Bp_type: breakpointExecute, Ext1: s.Place, Ext2: 8, // the length that x86 wants, that of a long
			Bits: unix.PerfBitDisabled | unix.PerfBitInherit | unix.PerfBitEnableOnExec | unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv,
		}
		fd, err := unix.PerfEventOpen(&attr, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%w: a breakpoint at %#x: %w", ErrPlaces, s.Place, err), closeBreakpoints(all))
		}
		all = append(all, &breakpoint{place: s.Place, fd: fd})
	}
	return all, nil
}

// closeBreakpoints takes them away, from running threads, too.
func closeBreakpoints(all []*breakpoint) (err error) {
	for _, b := range all {
		err = errors.Join(err, unix.Close(b.fd))
	}
	return err
}

// look takes a breakpoint away whose place is passed too often.
func (b *breakpoint) look() {
	var passes [8]byte
	if b.off {
		return
	}
	if n, err := unix.Read(b.fd, passes[:]); err == nil && n == len(passes) && binary.LittleEndian.Uint64(passes[:]) > mostPasses {
		b.off = unix.IoctlSetInt(b.fd, unix.PERF_EVENT_IOC_DISABLE, 0) == nil
	}
}

// watch looks at breakpoints until the scheduler is detached.
func (s *Scheduler) watch(all []*breakpoint) {
	tick := time.NewTicker(passesLook)
	defer tick.Stop()
	for {
		select {
		case <-s.detaching:
			return
		case <-tick.C:
			for _, b := range all {
				b.look()
			}
		}
	}
}

// fixAddresses has what the calling thread starts load programs and libraries at the same addresses each time, until it is undone.
func fixAddresses() (undo func() error, err error) {
	old, _, errno := unix.Syscall(unix.SYS_PERSONALITY, askPersonality, 0, 0)
	if errno == 0 {
		_, _, errno = unix.Syscall(unix.SYS_PERSONALITY, old|addrNoRandomize, 0, 0)
	}
	if errno != 0 {
		return nil, fmt.Errorf("fix addresses: personality: %w", errno)
	}
	return func() error {
		if _, _, errno := unix.Syscall(unix.SYS_PERSONALITY, old, 0, 0); errno != 0 {
			return fmt.Errorf("give back random addresses: personality: %w", errno)
		}
		return nil
	}, nil
}
