package nomad

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Start starts the client, again if it was killed.
func (m *Client) Start() (err error) {
	m.process, err = m.cluster.agent(m.Name, m.index)
	return err
}

// Kill kills the client's agent, and nothing that it started: tasks live on, as when the agent of a machine crashes.
func (m *Client) Kill() { kill(&m.process) }

// PowerOff kills everything in the client's namespace at once, as when a machine loses its power.
func (m *Client) PowerOff() error {
	for {
		pids, err := m.Processes()
		if err != nil {
			return err
		}
		if len(pids) == 0 {
			kill(&m.process)
			return nil
		}
		for _, pid := range pids {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// Processes returns the pids of everything in the client's namespace.
func (m *Client) Processes() (all []int, err error) {
	out, err := exec.Command("ip", "netns", "pids", m.cluster.network.space(m.index)).Output()
	if err != nil {
		return nil, fmt.Errorf("list processes of %s: %w", m.Name, err)
	}
	for pid := range strings.FieldsSeq(string(out)) {
		if n, err := strconv.Atoi(pid); err == nil && !dead(n) {
			all = append(all, n)
		}
	}
	return all, nil
}

// dead reports whether nothing is left of a process but its entry.
func dead(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	after := bytes.LastIndexByte(text, ')')
	return err != nil || after+2 < len(text) && text[after+2] == 'Z'
}

// Cut takes the client's link down, so that nobody reaches it and it reaches nobody; Restore takes it up again.
func (m *Client) Cut() error { return m.cluster.network.link(m.index, "down") }

// Restore ends Cut.
func (m *Client) Restore() error { return m.cluster.network.link(m.index, "up") }

func kill(process **exec.Cmd) {
	if *process == nil {
		return
	}
	_ = (*process).Process.Kill()
	_ = (*process).Wait()
	*process = nil
}

// Logs returns the last lines of all agents' logs.
func (c *Cluster) Logs() string {
	var b strings.Builder
	logs, _ := filepath.Glob(c.path("*.log"))
	for _, log := range logs {
		text, _ := os.ReadFile(log)
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		fmt.Fprintf(&b, "--- %s\n%s\n", filepath.Base(log), strings.Join(lines[max(0, len(lines)-40):], "\n"))
	}
	return b.String()
}

// Remove ends the agents and all tasks, and removes what they made: mounts, control groups, namespaces, files.
func (c *Cluster) Remove() error {
	var errs []error
	for _, m := range c.Clients {
		kill(&m.process)
		errs = append(errs, m.PowerOff())
	}
	kill(&c.server)
	if c.network != nil {
		errs = append(errs, c.network.remove(), removeGroups(c.network.id))
	}
	if c.dir != "" {
		errs = append(errs, unmount(c.dir), os.RemoveAll(c.dir))
	}
	return errors.Join(errs...)
}

// unmount unmounts what clients have mounted for tasks below a folder, the last one first.
func unmount(dir string) (err error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	var points []string
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 4 && strings.HasPrefix(fields[4], dir+"/") {
			points = append(points, fields[4])
		}
	}
	for _, p := range slices.Backward(points) {
		err = errors.Join(err, syscall.Unmount(p, unix.MNT_DETACH))
	}
	return err
}

// removeGroups removes the control groups that clients made below a group of that name, those inside first.
func removeGroups(name string) (err error) {
	tops, _ := filepath.Glob("/sys/fs/cgroup/*/" + name)
	for _, top := range append(tops, "/sys/fs/cgroup/"+name) {
		var dirs []string
		_ = filepath.WalkDir(top, func(p string, d os.DirEntry, e error) error {
			if e == nil && d.IsDir() {
				dirs = append(dirs, p)
			}
			return nil
		})
		for _, d := range slices.Backward(dirs) {
			err = errors.Join(err, os.Remove(d))
		}
	}
	return err
}
