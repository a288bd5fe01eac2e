package bpf

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/cilium/ebpf/btf"
	"golang.org/x/sys/unix"
)

// ErrUnsupported is wrapped by errors that tell why no scheduler can be loaded here, with the remedy.
var ErrUnsupported = errors.New("cannot perturb scheduling here")

// ErrBusy is also wrapped if this process could load a scheduler, but another one is active.
var ErrBusy = errors.New("there can be only one scheduler")

// ErrTurn is wrapped besides ErrBusy if that scheduler belongs to Misstep, and thus ends with its trial.
var ErrTurn = errors.New("another run of misstep uses it")

// opsName is the scheduler's name in the kernel (sched.bpf.c).
const opsName = "misstep"

const remedy = "use a machine or a virtual machine with Linux 7.2 or newer and CONFIG_SCHED_CLASS_EXT=y (`misstep vm run` has one)"

const otherBuild = "use another build of it (`misstep vm run` has one)"

// Supported reports whether this process can load the scheduler on this kernel: it returns nil, or an error that wraps
// ErrUnsupported with the reason and the remedy.
func Supported() error {
	var uname unix.Utsname
	_ = unix.Uname(&uname)
	release := unix.ByteSliceToString(uname.Release[:])
	state, err := os.ReadFile("/sys/kernel/sched_ext/state")
	if errors.Is(err, os.ErrNotExist) {
		if _, err := os.Stat("/sys/kernel"); err != nil {
			return fmt.Errorf("%w: /sys is not mounted: mount it", ErrUnsupported)
		}
		return fmt.Errorf("%w: kernel %s has no sched_ext: %s", ErrUnsupported, release, remedy)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	kernel, err := btf.LoadKernelSpec()
	if err != nil {
		return fmt.Errorf("%w: kernel %s has no type information (CONFIG_DEBUG_INFO_BTF): %w", ErrUnsupported, release, err)
	}
	var insert *btf.Func
	if err := kernel.TypeByName("scx_bpf_dsq_move_to_local___v2", &insert); err != nil {
		return fmt.Errorf("%w: the sched_ext of kernel %s is too old: %s", ErrUnsupported, release, remedy)
	}
	spec, err := loadSched()
	if err != nil {
		return fmt.Errorf("read the scheduler's object: %w", err)
	}
	if name := differs(spec.Types, kernel); name != "" {
		return fmt.Errorf("%w: the type information of this build of kernel %s has wrong arguments for %s, so no scheduler that "+
			"calls it can be loaded: %s", ErrUnsupported, release, name, otherBuild)
	}
	ops, _ := os.ReadFile("/sys/kernel/sched_ext/root/ops")
	return free(os.Geteuid(), strings.TrimSpace(string(state)), strings.TrimSpace(string(ops)))
}

// differs returns the name of a kernel function that the program calls and that has another number of arguments in the kernel's
// type information, "" if there is none. Some of Debian's builds kept an argument there that the verifier adds by itself
// (KF_IMPLICIT_ARGS; docs/figures/0007).
func differs(program, kernel *btf.Spec) string {
	for t, err := range program.All() {
		f, is := t.(*btf.Func)
		if err != nil || !is || f.Linkage != btf.ExternFunc {
			continue
		}
		var there *btf.Func
		if kernel.TypeByName(f.Name, &there) != nil {
			continue // weak, or loading fails with that reason
		}
		ours, is := f.Type.(*btf.FuncProto)
		theirs, isThere := there.Type.(*btf.FuncProto)
		if is && isThere && len(ours.Params) != len(theirs.Params) {
			return f.Name
		}
	}
	return ""
}

// free reports whether this user may load a scheduler, and if so whether none is active: state is the kernel's sched_ext state, ops
// the name of the active scheduler.
func free(uid int, state, ops string) error {
	switch {
	case uid != 0:
		return fmt.Errorf("%w: loading a scheduler needs root: run with sudo; the command itself then runs as you (--user)",
			ErrUnsupported)
	case state == "disabled":
		return nil
	case ops == opsName:
		return fmt.Errorf("%w: %w, and %q is %s (%w): end it first", ErrUnsupported, ErrBusy, ops, state, ErrTurn)
	default:
		return fmt.Errorf("%w: %w, and %q is %s: end it first", ErrUnsupported, ErrBusy, ops, state)
	}
}
