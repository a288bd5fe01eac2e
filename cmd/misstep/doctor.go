package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"misstep/agent"
	"misstep/bpf"
	"misstep/deploy/vm"
	"misstep/recipe"
	"misstep/runner/guest"
	"misstep/runner/perturb"
)

type doctorCommand struct {
	JSON bool `help:"Print a list of {name, state, detail, remedy}."`
}

// diagnosis is one line of `misstep doctor`.
type diagnosis struct {
	Name   string `json:"name"`
	State  string `json:"state"` // "ok", "limited" (works, with less) or "missing" (hunting cannot work)
	Detail string `json:"detail"`
	Remedy string `json:"remedy,omitempty"`
}

// Run examines the machine; exit 2 when something that hunting needs is missing.
func (c *doctorCommand) Run(ctx context.Context, e *env) error {
	all := e.diagnose(ctx)
	if c.JSON {
		if err := e.json(all); err != nil {
			return err
		}
	} else {
		t := table(e.stdout)
		for _, d := range all {
			fmt.Fprintf(t, "%s\t%s\t%s\n", d.State, d.Name, d.Detail)
			if d.Remedy != "" {
				fmt.Fprintf(t, "\t\t→ %s\n", d.Remedy)
			}
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	for _, d := range all {
		if d.State == "missing" {
			return &exitError{code: exitCannot}
		}
	}
	return nil
}

func (e *env) diagnose(ctx context.Context) []diagnosis {
	all := e.diagnoseJdks(ctx)
	all = append(all, e.diagnoseWorkloads())
	all = append(all, e.diagnoseMachines(ctx)...)
	return append(all, diagnoseTool("gdb", "native stacks of hung JVMs", "apt-get install gdb"),
		diagnoseTool("patchelf", "JDKs of other Debian suites", "apt-get install patchelf"),
		diagnoseTool("apt-get", "JDKs from Debian's packages", "import JDKs from folders or archives instead"),
		diagnoseCgroups(), diagnoseSchedExt(), diagnoseBTF(), diagnosePerf(),
		diagnoseLimit("open files", unix.RLIMIT_NOFILE, 1024, "ulimit -n 4096"),
		diagnoseLimit("processes and threads", unix.RLIMIT_NPROC, 1024, "ulimit -u 4096"),
		diagnoseDisk(e.home()))
}

// diagnoseJdks starts every JDK of the catalogue under the agent.
func (e *env) diagnoseJdks(ctx context.Context) []diagnosis {
	artefacts, err := e.agent()
	if err != nil {
		return []diagnosis{{"agent", "missing", err.Error(), "make agent"}}
	}
	all := []diagnosis{{"agent", "ok", artefacts.Dir, ""}}
	entries, err := e.jdks().List()
	if err != nil {
		return append(all, diagnosis{"JDK catalogue", "missing", err.Error(), "repair or remove " + filepath.Join(e.home(), "jdks")})
	}
	if len(entries) == 0 {
		return append(all, diagnosis{"JDK catalogue", "missing", "it is empty", "misstep jdk add jdk17 /usr/lib/jvm/java-17-openjdk-amd64"})
	}
	for _, entry := range entries {
		d := diagnosis{Name: "JDK " + entry.Name, State: "ok", Detail: fmt.Sprintf("%s, starts under the agent", entry.Version)}
		if err := tryAgent(ctx, artefacts, filepath.Join(entry.Path, "bin", "java"), entry.Feature, entry.Digest.String(), e.home()); err != nil {
			d.State, d.Detail = "limited", err.Error()
			d.Remedy = "leave this JDK out of campaigns, or import it again: misstep jdk rm " + entry.Name
		}
		all = append(all, d)
	}
	return all
}

// tryAgent starts `java -version` under the agent with one check.
func tryAgent(ctx context.Context, a agent.Artefacts, java string, feature int, jdkDigest, home string) error {
	out, err := os.MkdirTemp("", "misstep-doctor-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(out)
	patch, err := agent.Prepare(ctx, a, java, feature, filepath.Join(home, "cache", "patch"), jdkDigest)
	if err != nil {
		return err
	}
	args, err := agent.JVMArgs(a, patch, feature, agent.Options{Out: out, Ratio: 1, Checks: map[string]float64{recipe.GstAsgct: 1}})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, java, append(args, "-version")...)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		line, _, _ := strings.Cut(strings.TrimSpace(output.String()), "\n")
		return fmt.Errorf("java -version under the agent: %w: %s", err, line)
	}
	status, err := agent.ReadStatus(filepath.Join(out, "status.bin"))
	if err != nil {
		return err
	}
	if !status.Started {
		return fmt.Errorf("the agent did not start in %s", java)
	}
	return nil
}

func (e *env) diagnoseWorkloads() diagnosis {
	entries, err := e.workloads().List()
	switch {
	case err != nil:
		return diagnosis{"workloads", "missing", err.Error(), "repair or remove " + filepath.Join(e.home(), "workloads")}
	case len(entries) == 0:
		return diagnosis{"workloads", "missing", "the catalogue is empty", "make workloads, then misstep workload add build/workloads/NAME"}
	}
	var renaissance int
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name, "renaissance/") {
			renaissance++
		}
	}
	d := diagnosis{Name: "workloads", State: "ok", Detail: fmt.Sprintf("%d, %d of them Renaissance's", len(entries), renaissance)}
	if renaissance == 0 {
		d.State, d.Remedy = "limited", "for Renaissance: misstep workload add renaissance --jar PATH (or --url URL --sha256 HEX)"
	}
	return d
}

func diagnoseTool(name, use, remedy string) diagnosis {
	path, err := exec.LookPath(name)
	if err != nil {
		return diagnosis{name, "limited", "not found; it is used for " + use, remedy}
	}
	return diagnosis{Name: name, State: "ok", Detail: path}
}

func diagnoseCgroups() diagnosis {
	const remedy = "trials are then bounded by polling; run as root or delegate a cgroup to have the kernel do it"
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		if unix.Access("/sys/fs/cgroup", unix.W_OK) == nil {
			return diagnosis{Name: "cgroups", State: "ok", Detail: "version 2, writable"}
		}
		return diagnosis{"cgroups", "limited", "version 2, not writable", remedy}
	}
	for _, dir := range []string{"/sys/fs/cgroup/memory", "/sys/fs/cgroup/unified"} {
		if unix.Access(dir, unix.W_OK) == nil {
			return diagnosis{Name: "cgroups", State: "ok", Detail: "version 1, writable at " + dir}
		}
	}
	return diagnosis{"cgroups", "limited", "not writable", remedy}
}

// diagnoseSchedExt says whether trials can be perturbed by a scheduler of this kernel.
func diagnoseSchedExt() diagnosis {
	err := bpf.Supported()
	d := diagnosis{"scheduler (sched_ext)", "limited", "", "campaigns perturb without it, too: executor: vm runs their trials in a machine that has one, " +
		"mechanism: agent in perturb needs no kernel's help"}
	switch {
	case err == nil:
		return diagnosis{Name: d.Name, State: "ok", Detail: "Linux " + perturb.Kernel() + " can be given a perturbing scheduler, by this user"}
	case errors.Is(err, bpf.ErrBusy):
		d.Remedy = "end that one; " + d.Remedy
	}
	d.Detail = err.Error()
	return d
}

// diagnoseMachines says whether trials can be run in virtual machines.
func (e *env) diagnoseMachines(ctx context.Context) []diagnosis {
	return machinesOf(vm.Doctor(ctx, e.home()))
}

func machinesOf(checks []vm.Check) (all []diagnosis) {
	for _, name := range []string{guest.Shared, guest.Deterministic} {
		d := diagnosis{Name: "executor " + name, State: "ok", Detail: "machines that have a scheduler can be booted here"}
		if name == guest.Deterministic {
			d.Detail += ", in virtual time"
		}
		if lacks := guest.Lacks(name, checks); len(lacks) > 0 {
			d.State, d.Detail, d.Remedy = "limited", lacks[0].Name+": "+lacks[0].Detail, lacks[0].Remedy+" (misstep vm doctor tells all)"
		}
		all = append(all, d)
	}
	return all
}

func diagnoseBTF() diagnosis {
	if _, err := os.Stat("/sys/kernel/btf/vmlinux"); err != nil {
		return diagnosis{"BTF", "limited", "no /sys/kernel/btf/vmlinux", "boot a kernel with CONFIG_DEBUG_INFO_BTF=y to load BPF programs"}
	}
	return diagnosis{Name: "BTF", State: "ok", Detail: "/sys/kernel/btf/vmlinux"}
}

func diagnosePerf() diagnosis {
	text, err := os.ReadFile("/proc/sys/kernel/perf_event_paranoid")
	if err != nil {
		return diagnosis{"perf events", "limited", "no perf_event_paranoid", "none needed: the agent's sampler uses signals"}
	}
	return diagnosis{Name: "perf events", State: "ok", Detail: "perf_event_paranoid " + strings.TrimSpace(string(text)) + " (the agent's sampler needs none)"}
}

func diagnoseLimit(name string, resource int, least uint64, remedy string) diagnosis {
	var limit unix.Rlimit
	if err := unix.Getrlimit(resource, &limit); err != nil {
		return diagnosis{name, "limited", err.Error(), remedy}
	}
	detail := fmt.Sprint(limit.Cur)
	if limit.Cur == unix.RLIM_INFINITY {
		detail = "unlimited"
	}
	if limit.Cur < least {
		return diagnosis{name, "limited", fmt.Sprintf("limit %s, below %d", detail, least), remedy}
	}
	return diagnosis{Name: name, State: "ok", Detail: "limit " + detail}
}

func diagnoseDisk(dir string) diagnosis {
	for dir != "/" {
		if _, err := os.Stat(dir); err == nil {
			break
		}
		dir = filepath.Dir(dir)
	}
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		return diagnosis{"disk", "limited", err.Error(), "choose another --home"}
	}
	free := stat.Bavail * uint64(stat.Bsize) >> 30
	if free < 2 {
		return diagnosis{"disk", "limited", fmt.Sprintf("%d GiB free at %s", free, dir), "free some, or choose another --home and --dir"}
	}
	return diagnosis{Name: "disk", State: "ok", Detail: fmt.Sprintf("%d GiB free at %s", free, dir)}
}
