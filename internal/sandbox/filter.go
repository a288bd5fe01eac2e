package sandbox

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// refused are the system calls that no JVM needs and that have let programs out of sandboxes, or that change the machine.
var refused = []uint32{
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT,
	unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR,
	unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_PTRACE,
	unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE,
	unix.SYS_REBOOT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_ADD_KEY,
	unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL, unix.SYS_BPF, unix.SYS_USERFAULTFD, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER,
	unix.SYS_IO_URING_REGISTER, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_SETTIMEOFDAY,
	unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME,
	unix.SYS_SYSLOG, unix.SYS_VHANGUP,
}

// families of sockets that are allowed: among the others are those that no namespace confines, such as AF_VSOCK.
var families = []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}

// spacesFlags are clone(2)'s flags that make namespaces.
const spacesFlags = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER |
	unix.CLONE_NEWPID | unix.CLONE_NEWNET

// Offsets in struct seccomp_data (linux/seccomp.h): number, architecture, and the lower half of the first argument, which is the
// one that the kernel looks at in the calls here.
const (
	offsetNumber = 0
	offsetArch   = 4
	offsetFirst  = 16
)

// x32 marks calls of the x32 interface, which have amd64's architecture (asm/unistd.h).
const x32 = 0x40000000

// architectures are those of linux/audit.h, by Go's names.
var architectures = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}

// program makes the filter. Calls of another architecture's interface, such as i386's on amd64, are refused altogether, since they
// have other numbers. For those and for clone3 the answer is that the kernel does not have them: libraries then use the older
// calls, as for clone3, whose flags are in memory that a filter cannot read.
func program(arch uint32, perf bool) ([]bpf.RawInstruction, error) {
	no, lacks := bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)}
	code := []bpf.Instruction{
		bpf.LoadAbsolute{Off: offsetArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: arch, SkipTrue: 1},
		lacks,
		bpf.LoadAbsolute{Off: offsetNumber, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpLessThan, Val: x32, SkipTrue: 1},
		lacks,
	}
	answer := func(call uint32, with bpf.Instruction) {
		code = append(code, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: call, SkipTrue: 1}, with)
	}
	for _, call := range refused {
		answer(call, no)
	}
	if !perf {
		answer(unix.SYS_PERF_EVENT_OPEN, no)
	}
	answer(unix.SYS_CLONE3, lacks)
	allow := bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}
	code = append(code,
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_CLONE, SkipTrue: 4},
		bpf.LoadAbsolute{Off: offsetFirst, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: spacesFlags, SkipFalse: 1}, no, allow,
		// Its own limits only: those of the runner, which may have the same user, could end it.
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_PRLIMIT64, SkipTrue: 4},
		bpf.LoadAbsolute{Off: offsetFirst, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipFalse: 1}, allow, no,
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SYS_SOCKET, SkipTrue: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SYS_SOCKETPAIR, SkipTrue: 1}, allow,
		bpf.LoadAbsolute{Off: offsetFirst, Size: 4},
	)
	for _, family := range families {
		code = append(code, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: family, SkipTrue: 1}, allow)
	}
	return bpf.Assemble(append(code, no))
}

// install installs the filter on the calling thread, whose children inherit it; it requires no_new_privs.
func install(perf bool) error {
	arch, known := architectures[runtime.GOARCH]
	if !known {
		return fmt.Errorf("there is no filter for %s", runtime.GOARCH)
	}
	raw, err := program(arch, perf)
	if err != nil {
		return err
	}
	code := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		code[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	filter := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0,
		uintptr(unsafe.Pointer(&filter))); errno != 0 {
		return errno
	}
	return nil
}
