package sandbox

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// The filter's answers, by running it as a program of the Berkeley packet filter. Its data is in the byte order of the network
// there.
func TestAnswersOfTheFilter(t *testing.T) {
	const yes = unix.SECCOMP_RET_ALLOW
	no, lacks := unix.SECCOMP_RET_ERRNO|int(unix.EPERM), unix.SECCOMP_RET_ERRNO|int(unix.ENOSYS)
	raw, err := program(unix.AUDIT_ARCH_X86_64, false)
	require.NoError(t, err)
	code, decoded := bpf.Disassemble(raw)
	require.True(t, decoded)
	vm, err := bpf.NewVM(code)
	require.NoError(t, err)
	run := func(arch, number, first uint32) int {
		data := make([]byte, 64)
		binary.BigEndian.PutUint32(data[offsetNumber:], number)
		binary.BigEndian.PutUint32(data[offsetArch:], arch)
		binary.BigEndian.PutUint32(data[offsetFirst:], first)
		answer, err := vm.Run(data)
		require.NoError(t, err)
		return answer
	}
	for _, c := range []struct {
		name                string
		arch, number, first uint32
		want                int
	}{
		{"read", unix.AUDIT_ARCH_X86_64, unix.SYS_READ, 0, yes},
		{"timers of the agent", unix.AUDIT_ARCH_X86_64, unix.SYS_TIMER_CREATE, 0, yes},
		{"signals of the agent", unix.AUDIT_ARCH_X86_64, unix.SYS_TGKILL, 0, yes},
		{"mount", unix.AUDIT_ARCH_X86_64, unix.SYS_MOUNT, 0, no},
		{"ptrace", unix.AUDIT_ARCH_X86_64, unix.SYS_PTRACE, 0, no},
		{"its own limits", unix.AUDIT_ARCH_X86_64, unix.SYS_PRLIMIT64, 0, yes},
		{"limits of others", unix.AUDIT_ARCH_X86_64, unix.SYS_PRLIMIT64, 1, no},
		{"perf events", unix.AUDIT_ARCH_X86_64, unix.SYS_PERF_EVENT_OPEN, 0, no},
		{"a thread", unix.AUDIT_ARCH_X86_64, unix.SYS_CLONE, unix.CLONE_VM | unix.CLONE_THREAD, yes},
		{"a user namespace", unix.AUDIT_ARCH_X86_64, unix.SYS_CLONE, unix.CLONE_NEWUSER, no},
		{"a mount namespace", unix.AUDIT_ARCH_X86_64, unix.SYS_CLONE, unix.CLONE_NEWNS | unix.CLONE_VM, no},
		{"clone3", unix.AUDIT_ARCH_X86_64, unix.SYS_CLONE3, 0, lacks},
		{"TCP", unix.AUDIT_ARCH_X86_64, unix.SYS_SOCKET, unix.AF_INET, yes},
		{"unix sockets", unix.AUDIT_ARCH_X86_64, unix.SYS_SOCKET, unix.AF_UNIX, yes},
		{"sockets to the hypervisor", unix.AUDIT_ARCH_X86_64, unix.SYS_SOCKET, unix.AF_VSOCK, no},
		{"a pair of sockets", unix.AUDIT_ARCH_X86_64, unix.SYS_SOCKETPAIR, unix.AF_UNIX, yes},
		{"a pair of TIPC sockets", unix.AUDIT_ARCH_X86_64, unix.SYS_SOCKETPAIR, unix.AF_TIPC, no},
		{"the call after sockets", unix.AUDIT_ARCH_X86_64, unix.SYS_CONNECT, unix.AF_VSOCK, yes},
		{"i386", unix.AUDIT_ARCH_I386, 3, 0, lacks},
		{"x32", unix.AUDIT_ARCH_X86_64, x32 | unix.SYS_READ, 0, lacks},
	} {
		assert.Equal(t, c.want, run(c.arch, c.number, c.first), c.name)
	}
	raw, err = program(unix.AUDIT_ARCH_X86_64, true)
	require.NoError(t, err)
	code, _ = bpf.Disassemble(raw)
	vm, err = bpf.NewVM(code)
	require.NoError(t, err)
	assert.Equal(t, yes, run(unix.AUDIT_ARCH_X86_64, unix.SYS_PERF_EVENT_OPEN, 0))
}
