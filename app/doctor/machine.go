package doctor

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"misstep/bpf"
	"misstep/deploy/vm"
	"misstep/runner/guest"
	"misstep/runner/perturb"
	"misstep/runner/process"
)

func tool(name, use, remedy string) Diagnosis {
	path, err := exec.LookPath(name)
	if err != nil {
		return Diagnosis{name, Limited, "not found; it is used for " + use, remedy}
	}
	return Diagnosis{Name: name, State: OK, Detail: path}
}

func cgroups() Diagnosis {
	c := process.DetectCgroups()
	if unbounded := c.Unbounded(); len(unbounded) > 0 {
		return Diagnosis{
			"cgroups", Limited, c.String() + "; " + strings.Join(unbounded, ", ") + " of trials: bounded by polling only",
			process.Unit,
		}
	}
	return Diagnosis{Name: "cgroups", State: OK, Detail: c.String()}
}

// schedExt reports whether trials can be perturbed by a scheduler in this kernel.
func schedExt() Diagnosis {
	err := bpf.Supported()
	d := Diagnosis{
		"scheduler (sched_ext)", Limited, "",
		"campaigns can perturb without it: executor: vm runs their trials in a virtual machine that has one, " +
			"mechanism: agent in perturb works on any kernel",
	}
	switch {
	case err == nil:
		return Diagnosis{
			Name: d.Name, State: OK,
			Detail: "Linux " + perturb.Kernel() + " accepts a perturbing scheduler from this user",
		}
	case errors.Is(err, bpf.ErrBusy):
		d.Remedy = "stop the scheduler that is loaded; " + d.Remedy
	}
	d.Detail = err.Error()
	return d
}

// machines reports whether trials can be run in virtual machines.
func machines(checks []vm.Check) (all []Diagnosis) {
	for _, name := range []string{guest.Shared, guest.Deterministic} {
		d := Diagnosis{
			Name: "executor " + name, State: OK,
			Detail: "virtual machines with a perturbing scheduler can be booted here",
		}
		if name == guest.Deterministic {
			d.Detail += ", in virtual time"
		}
		if lacks := guest.Lacks(name, checks); len(lacks) > 0 {
			d.State, d.Detail, d.Remedy = Limited, lacks[0].Name+": "+lacks[0].Detail, lacks[0].Remedy+" (see misstep vm doctor)"
		}
		all = append(all, d)
	}
	return all
}

func btf() Diagnosis {
	if _, err := os.Stat("/sys/kernel/btf/vmlinux"); err != nil {
		return Diagnosis{
			"BTF", Limited, "no /sys/kernel/btf/vmlinux",
			"boot a kernel with CONFIG_DEBUG_INFO_BTF=y to load BPF programs",
		}
	}
	return Diagnosis{Name: "BTF", State: OK, Detail: "/sys/kernel/btf/vmlinux"}
}

func perfEvents() Diagnosis {
	text, err := os.ReadFile("/proc/sys/kernel/perf_event_paranoid")
	if err != nil {
		return Diagnosis{"perf events", Limited, "no perf_event_paranoid", "none needed: the agent's sampler uses signals"}
	}
	return Diagnosis{
		Name: "perf events", State: OK,
		Detail: "perf_event_paranoid " + strings.TrimSpace(string(text)) + " (the agent's sampler needs none)",
	}
}

func limit(name string, resource int, least uint64, remedy string) Diagnosis {
	var have unix.Rlimit
	if err := unix.Getrlimit(resource, &have); err != nil {
		return Diagnosis{name, Limited, err.Error(), remedy}
	}
	detail := fmt.Sprint(have.Cur)
	if have.Cur == unix.RLIM_INFINITY {
		detail = "unlimited"
	}
	if have.Cur < least {
		return Diagnosis{name, Limited, fmt.Sprintf("limit %s, below %d", detail, least), remedy}
	}
	return Diagnosis{Name: name, State: OK, Detail: "limit " + detail}
}

func disk(dir string) Diagnosis {
	for dir != "/" {
		if _, err := os.Stat(dir); err == nil {
			break
		}
		dir = filepath.Dir(dir)
	}
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		return Diagnosis{"disk", Limited, err.Error(), "choose another --home"}
	}
	free := stat.Bavail * uint64(stat.Bsize) >> 30
	if free < 2 {
		return Diagnosis{
			"disk", Limited, fmt.Sprintf("%d GiB free at %s", free, dir),
			"free some space, or choose another --home and --dir",
		}
	}
	return Diagnosis{Name: "disk", State: OK, Detail: fmt.Sprintf("%d GiB free at %s", free, dir)}
}
