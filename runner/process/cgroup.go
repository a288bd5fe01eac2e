package process

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// MaxTasks bounds the processes and threads of a trial in all.
const MaxTasks = 4096

// Cgroups are the folders in which this process may create control groups: version 2 to hold a trial's processes, and the
// controllers of memory and tasks (of either version) as a backstop behind the polled limits. All may be missing. See cgroups(7).
type Cgroups struct {
	unified string // folder of this process's version 2 group, empty if not usable
	memory  string // folder of this process's version 1 memory group, empty if not usable
	pids    string // folder of this process's version 1 pids group, empty if not usable
}

// DetectCgroups tests which control groups this process may create; it leaves nothing behind.
func DetectCgroups() Cgroups {
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return Cgroups{}
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return Cgroups{}
	}
	found := locate(string(own), string(mounts))
	return Cgroups{unified: usable(found.unified), memory: usable(found.memory), pids: usable(found.pids)}
}

// locate finds the folders of this process's groups from the contents of /proc/self/cgroup and /proc/self/mountinfo.
func locate(own, mounts string) (found Cgroups) {
	paths := map[string]string{} // by controller, "" is version 2
	for line := range strings.Lines(own) {
		parts := strings.SplitN(strings.TrimRight(line, "\n"), ":", 3)
		if len(parts) != 3 {
			continue
		}
		for controller := range strings.SplitSeq(parts[1], ",") {
			paths[controller] = parts[2]
		}
	}
	for line := range strings.Lines(mounts) {
		before, after, cut := strings.Cut(line, " - ")
		left, right := strings.Fields(before), strings.Fields(after)
		if !cut || len(left) < 5 || len(right) < 3 {
			continue
		}
		root, point := left[3], left[4]
		switch right[0] {
		case "cgroup2":
			found.unified = under(point, root, paths[""])
		case "cgroup":
			for option := range strings.SplitSeq(right[2], ",") {
				switch option {
				case "memory":
					found.memory = under(point, root, paths[option])
				case "pids":
					found.pids = under(point, root, paths[option])
				}
			}
		}
	}
	return found
}

func under(point, root, path string) string {
	if path == "" {
		return ""
	}
	relative, err := filepath.Rel(root, path)
	if err != nil || strings.HasPrefix(relative, "..") {
		return ""
	}
	return filepath.Join(point, relative)
}

func usable(folder string) string {
	if folder == "" {
		return ""
	}
	probe, err := os.MkdirTemp(folder, probePattern)
	if err != nil {
		return ""
	}
	_ = os.Remove(probe)
	return folder
}

// Tasks is the name of what pids.max bounds.
const Tasks = "processes and threads"

// Unit says how the kernel is made to bound trials where it does not bound each.
const Unit = "bound the runner as a whole by its systemd unit (MemoryMax=, TasksMax=), which also holds for a plain user's"

// Unbounded names what the kernel does not bound in the groups that can be created: memory, or processes and threads. A group of
// version 2 has controllers below it only if no process is in it, so the group of this process never has them, but the root.
func (c Cgroups) Unbounded() (all []string) {
	var delegated []string
	if c.unified != "" {
		text, _ := os.ReadFile(filepath.Join(c.unified, "cgroup.subtree_control")) // those that groups below have
		delegated = strings.Fields(string(text))
	}
	for _, one := range []struct{ controller, folder, name string }{
		{"memory", c.memory, "memory"}, {"pids", c.pids, Tasks},
	} {
		if one.folder == "" && !slices.Contains(delegated, one.controller) {
			all = append(all, one.name)
		}
	}
	return all
}

// Any reports whether groups can be created at all.
func (c Cgroups) Any() bool { return len(c.Parents()) > 0 }

// String names the available groups for display.
func (c Cgroups) String() string {
	var all []string
	for _, group := range []struct{ folder, name string }{{c.unified, "v2"}, {c.memory, "v1 memory"}, {c.pids, "v1 pids"}} {
		if group.folder != "" {
			all = append(all, group.name)
		}
	}
	if len(all) == 0 {
		return "no cgroups"
	}
	return "cgroup " + strings.Join(all, " and ")
}

// Cgroup holds the processes of one trial.
type Cgroup struct{ folders []string }

// New creates a group. limit in bytes is set if the memory controller is available; 0 sets none. MaxTasks is set if that of tasks
// is.
func (c Cgroups) New(name string, limit uint64) (*Cgroup, error) {
	g := &Cgroup{}
	for _, parent := range c.Parents() {
		folder := filepath.Join(parent, name)
		if err := os.Mkdir(folder, 0o755); err != nil {
			return nil, errors.Join(fmt.Errorf("make cgroup: %w", err), g.Remove())
		}
		g.folders = append(g.folders, folder)
		g.set("pids.max", MaxTasks)
		if limit != 0 {
			g.set("memory.max", limit)
			g.set("memory.limit_in_bytes", limit)
		}
	}
	return g, nil
}

// set writes a limit where the group has it. Version 2 does only if the parent delegates the controller; the polled limit holds in
// any case.
func (g *Cgroup) set(file string, limit uint64) {
	for _, folder := range g.folders {
		if path := filepath.Join(folder, file); exists(path) {
			_ = os.WriteFile(path, []byte(strconv.FormatUint(limit, 10)), 0o600)
		}
	}
}

// Parents are the folders in which the groups are created.
func (c Cgroups) Parents() (all []string) {
	for _, parent := range []string{c.unified, c.memory, c.pids} {
		if parent != "" {
			all = append(all, parent)
		}
	}
	return all
}

// IsCgroup reports whether a folder is a control group of either version.
func IsCgroup(folder string) bool {
	var s unix.Statfs_t
	if !filepath.IsAbs(folder) || unix.Statfs(folder, &s) != nil {
		return false
	}
	return s.Type == unix.CGROUP2_SUPER_MAGIC || s.Type == unix.CGROUP_SUPER_MAGIC
}

const probePattern = "misstep-probe-"

// ReapCgroups kills what runs in the groups of a parent whose names stale accepts and removes them, and probes that nobody removed.
// A parent that does not exist has none.
func ReapCgroups(parent string, stale func(name string) bool) error {
	entries, err := os.ReadDir(parent)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reap stale cgroups: %w", err)
	}
	var errs []error
	for _, e := range entries {
		folder := filepath.Join(parent, e.Name())
		switch {
		case !e.IsDir():
		case strings.HasPrefix(e.Name(), probePattern):
			_ = os.Remove(folder) // empty at any time; whoever made it a moment ago does the same
		case stale(e.Name()):
			g := &Cgroup{folders: []string{folder}}
			g.Kill()
			errs = append(errs, g.Remove())
		}
	}
	return errors.Join(errs...)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// open opens the folder of version 2, so that a process can be created in the group; nil if there is none.
func (g *Cgroup) open() *os.File {
	if g == nil {
		return nil
	}
	for _, folder := range g.folders {
		if exists(filepath.Join(folder, "cgroup.kill")) {
			if f, err := os.Open(folder); err == nil {
				return f
			}
		}
	}
	return nil
}

// add moves a process into the group; one that is in it already stays there.
func (g *Cgroup) add(pid int) {
	if g == nil {
		return
	}
	for _, folder := range g.folders {
		_ = os.WriteFile(filepath.Join(folder, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0o600)
	}
}

// OutOfMemory reports whether the kernel killed a process of the group for exceeding its limit.
func (g *Cgroup) OutOfMemory() bool {
	return g.counted("oom_kill", "memory.events", "memory.oom_control")
}

// OutOfTasks reports whether the kernel refused the group a process or thread for exceeding MaxTasks.
func (g *Cgroup) OutOfTasks() bool { return g.counted("max", "pids.events") }

// counted reports whether an event is counted in one of the files.
func (g *Cgroup) counted(event string, files ...string) bool {
	if g == nil {
		return false
	}
	for _, folder := range g.folders {
		for _, name := range files {
			data, err := os.ReadFile(filepath.Join(folder, name))
			if err != nil {
				continue
			}
			for line := range strings.Lines(string(data)) {
				if fields := strings.Fields(line); len(fields) == 2 && fields[0] == event && fields[1] != "0" {
					return true
				}
			}
		}
	}
	return false
}

// Kill kills every process in the group.
func (g *Cgroup) Kill() {
	if g == nil {
		return
	}
	g.set("pids.max", 0) // no more are born while they are killed
	for _, folder := range g.folders {
		if os.WriteFile(filepath.Join(folder, "cgroup.kill"), []byte("1"), 0o600) == nil {
			continue
		}
		f, err := os.Open(filepath.Join(folder, "cgroup.procs"))
		if err != nil {
			continue
		}
		for lines := bufio.NewScanner(f); lines.Scan(); {
			if pid, err := strconv.Atoi(lines.Text()); err == nil && pid > 1 && pid != os.Getpid() {
				_ = unix.Kill(pid, unix.SIGKILL)
			}
		}
		_ = f.Close()
	}
}

// Remove removes the group, whose processes are dead. It retries for a second, since the kernel may still count them.
func (g *Cgroup) Remove() error {
	if g == nil {
		return nil
	}
	var errs []error
	for _, folder := range g.folders {
		err := os.Remove(folder)
		for pause := time.Millisecond; errors.Is(err, unix.EBUSY) && pause < time.Second; pause *= 2 {
			time.Sleep(pause)
			err = os.Remove(folder)
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, fmt.Errorf("remove cgroup: %w", err))
		}
	}
	return errors.Join(errs...)
}
