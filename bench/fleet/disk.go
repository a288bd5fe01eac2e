package main

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// slowDisk makes fsync(2) and fdatasync(2) of this process, and of those that it starts, take longer: as on a disk that is busy, or
// away. It needs seccomp's notifications to user space (seccomp_unotify(2)), on x86-64. It stays until the process ends.
type slowDisk struct {
	listener uintptr
	// delay of each call in nanoseconds, also of those under way.
	delay atomic.Int64
}

// notification is struct seccomp_notif, answer struct seccomp_notif_resp of linux/seccomp.h.
type notification struct {
	id         uint64
	pid, flags uint32
	call       struct {
		number, arch uint32
		at           uint64
		arguments    [6]uint64
	}
}

type answer struct {
	id    uint64
	value int64
	error int32
	flags uint32
}

// newSlowDisk installs the filter in all threads of this process. Without a delay a call takes some microseconds longer.
func newSlowDisk() (*slowDisk, error) {
	if runtime.GOARCH != "amd64" {
		return nil, errors.New("slow disks are simulated on x86-64 only")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("simulate a slow disk: %w", err)
	}
	notify := bpf.RetConstant{Val: unix.SECCOMP_RET_USER_NOTIF}
	raw, err := bpf.Assemble([]bpf.Instruction{
		bpf.LoadAbsolute{Off: 4, Size: 4}, // the architecture in struct seccomp_data; the call's number is first
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.AUDIT_ARCH_X86_64, SkipTrue: 4},
		bpf.LoadAbsolute{Off: 0, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SYS_FSYNC, SkipTrue: 1},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_FDATASYNC, SkipTrue: 1},
		notify,
		bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW},
	})
	if err != nil {
		return nil, fmt.Errorf("simulate a slow disk: %w", err)
	}
	code := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		code[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	filter := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	// A call that waits is not interrupted by signals, which Go's runtime and PostgreSQL send often: it would begin anew.
	const flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_TSYNC |
		unix.SECCOMP_FILTER_FLAG_TSYNC_ESRCH | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&filter)))
	if errno != 0 {
		return nil, fmt.Errorf("simulate a slow disk: install a filter: %w", errno)
	}
	d := &slowDisk{listener: fd}
	go d.serve()
	return d, nil
}

// serve answers calls until the process ends.
func (d *slowDisk) serve() {
	for {
		var n notification
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, d.listener, unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&n)))
		switch {
		case errno == unix.EINTR || errno == unix.ENOENT: // a caller that was killed
			continue
		case errno != 0:
			return
		}
		if d.delay.Load() == 0 {
			d.permit(n.id)
			continue
		}
		go func() {
			const step = 2 * time.Millisecond
			for begin := time.Now(); time.Since(begin) < time.Duration(d.delay.Load()); {
				time.Sleep(step)
			}
			d.permit(n.id)
		}()
	}
}

// permit lets a call take place.
func (d *slowDisk) permit(id uint64) {
	a := answer{id: id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, d.listener, unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&a)))
}
