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

// ErrPlaces is wrapped by errors about breakpoints that this machine cannot set, for example because a debugger uses all of them.
var ErrPlaces = errors.New("cannot stop threads at places (without, as by --places 0, the replay works)")

// breakpoint is a breakpoint of a tree: every thread and process that the opening thread creates inherits it, from its exec on.
type breakpoint struct {
	place    uint64
	fd       int
	disabled bool
}

const (
	breakpointExecute = 4          // HW_BREAKPOINT_X of linux/hw_breakpoint.h
	addrNoRandomize   = 0x0040000  // ADDR_NO_RANDOMIZE of linux/personality.h
	askPersonality    = 0xffffffff // returns the personality and changes nothing
	// mostPasses is the largest number of hits of a breakpoint, by all threads together, each of which costs some microseconds: one
	// that is hit more often is in a loop, and would slow the program down too much.
	mostPasses     = 100_000
	passesInterval = 20 * time.Millisecond // between two readings of the hits
)

// openBreakpoints puts breakpoints before the instructions of the stops for what the calling thread will start.
func openBreakpoints(stops []schedule.Stop) (all []*breakpoint, err error) {
	for _, s := range stops {
		if slices.ContainsFunc(all, func(b *breakpoint) bool { return b.place == s.Place }) {
			continue
		}
		attr := unix.PerfEventAttr{
			Type: unix.PERF_TYPE_BREAKPOINT, Size: unix.PERF_ATTR_SIZE_VER5,
			Bp_type: breakpointExecute, Ext1: s.Place, Ext2: 8, // the length that x86 requires, that of a long
			Bits: unix.PerfBitDisabled | unix.PerfBitInherit | unix.PerfBitEnableOnExec | unix.PerfBitExcludeKernel |
				unix.PerfBitExcludeHv,
		}
		fd, err := unix.PerfEventOpen(&attr, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%w: a breakpoint at %#x: %w", ErrPlaces, s.Place, err), closeBreakpoints(all))
		}
		all = append(all, &breakpoint{place: s.Place, fd: fd})
	}
	return all, nil
}

// closeBreakpoints removes the breakpoints, from running threads, too.
func closeBreakpoints(all []*breakpoint) (err error) {
	for _, b := range all {
		err = errors.Join(err, unix.Close(b.fd))
	}
	return err
}

// disableIfBusy disables a breakpoint that is hit too often.
func (b *breakpoint) disableIfBusy() {
	var passes [8]byte
	if b.disabled {
		return
	}
	n, err := unix.Read(b.fd, passes[:])
	if err == nil && n == len(passes) && binary.LittleEndian.Uint64(passes[:]) > mostPasses {
		b.disabled = unix.IoctlSetInt(b.fd, unix.PERF_EVENT_IOC_DISABLE, 0) == nil
	}
}

// watch disables breakpoints that are hit too often, until the scheduler is detached.
func (s *Scheduler) watch(all []*breakpoint) {
	tick := time.NewTicker(passesInterval)
	defer tick.Stop()
	for {
		select {
		case <-s.detaching:
			return
		case <-tick.C:
			for _, b := range all {
				b.disableIfBusy()
			}
		}
	}
}

// fixAddresses makes processes that the calling thread starts load programs and libraries at the same addresses each time, until
// undo is called.
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
			return fmt.Errorf("restore random addresses: personality: %w", errno)
		}
		return nil
	}, nil
}
