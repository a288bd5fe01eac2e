package bpf

import (
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"
)

// ErrPlaces says that this machine cannot stop threads at places, as when a debugger has its breakpoints.
var ErrPlaces = errors.New("cannot stop threads at places (without, as by --places 0, the replay works)")

// breakpoints of a tree: every thread and process that the opening thread creates inherits them, from its exec on.
type breakpoints []int

const (
	breakpointExecute = 4          // HW_BREAKPOINT_X of linux/hw_breakpoint.h
	addrNoRandomize   = 0x0040000  // ADDR_NO_RANDOMIZE of linux/personality.h
	askPersonality    = 0xffffffff // tells it and changes nothing
)

// openBreakpoints puts breakpoints before the instructions of the stops for what the calling thread will start.
func openBreakpoints(stops []Stop) (breakpoints, error) {
	var b breakpoints
	var put []uint64
	for _, s := range stops {
		if slices.Contains(put, s.Place) {
			continue
		}
		put = append(put, s.Place)
		attr := unix.PerfEventAttr{
			Type: unix.PERF_TYPE_BREAKPOINT, Size: unix.PERF_ATTR_SIZE_VER5,
			Bp_type: breakpointExecute, Ext1: s.Place, Ext2: 8, // the length that x86 wants, that of a long
			Bits: unix.PerfBitDisabled | unix.PerfBitInherit | unix.PerfBitEnableOnExec | unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv,
		}
		fd, err := unix.PerfEventOpen(&attr, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%w: a breakpoint at %#x: %w", ErrPlaces, s.Place, err), b.Close())
		}
		b = append(b, fd)
	}
	return b, nil
}

// Close takes them away, from running threads, too.
func (b breakpoints) Close() (err error) {
	for _, fd := range b {
		err = errors.Join(err, unix.Close(fd))
	}
	return err
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
