package vm

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"misstep/deploy/vm/initramfs"
	"misstep/deploy/vm/kernel"
	"misstep/deploy/vm/wire"
)

// prepare collects kernel, guest and programs and writes the initramfs below scratch.
func prepare(ctx context.Context, c Config, command []string, scratch string) (*machine, error) {
	qemu, err := findQEMU()
	if err != nil {
		return nil, err
	}
	k, err := c.kernels().Get(ctx)
	if err != nil {
		return nil, fmt.Errorf("getting a kernel with sched_ext: %w", err)
	}
	m := &machine{
		qemu: qemu, scratch: scratch, log: c.Log, mode: c.Mode, accel: c.Accel, cpus: c.CPUs, memory: c.Memory, seed: c.Seed,
		pin:    c.Pin - 1,
		kernel: k.Image(), release: k.Release, initrd: filepath.Join(scratch, "initrd"), debug: c.Debug,
		maxEvidence: c.MaxEvidence,
	}
	if m.mode == ModeDeterministic {
		// Always recorded: only the log's lock makes qemu's threads alternate, without which runs differ
		// (docs/figures/0006-vm-executor.md).
		m.replayFile = filepath.Join(scratch, replayFileName)
		if c.Record != "" {
			absolute, err := filepath.Abs(c.Record)
			if err != nil {
				return nil, fmt.Errorf("making the recording's folder: %w", err)
			}
			m.replayFile = filepath.Join(absolute, replayFileName)
		}
		if err := m.stopClock(ctx); err != nil {
			return nil, err
		}
	}
	if m.mode == ModeShared {
		if m.virtiofsd, err = findVirtiofsd(); err != nil {
			return nil, err
		}
		if m.accel == AccelAuto {
			m.accel, _ = probeAccel(ctx, c, qemu, k)
		}
	}
	job := wire.Job{
		Version: wire.Version, Shared: c.Mode == ModeShared, Command: command, Dir: c.Dir, Env: environment(c), UID: c.UID,
		GID:      c.UID,
		Evidence: c.Evidence, MaxEvidence: c.MaxEvidence, LimitNanos: c.GuestLimit.Nanoseconds(),
	}
	return m, writeInitrd(ctx, c, k, job, m.initrd)
}

// environment returns the command's environment: defaults, in the shared mode some variables of this process, then those of c.
func environment(c Config) []string {
	env := map[string]string{
		"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/tmp/home", "LANG": "C.UTF-8",
		"TERM": "dumb",
	}
	if c.Mode == ModeShared {
		for _, name := range []string{"PATH", "JAVA_HOME", "TZ"} {
			if value, ok := os.LookupEnv(name); ok {
				env[name] = value
			}
		}
	}
	for _, kv := range c.Env {
		if name, value, ok := strings.Cut(kv, "="); ok {
			env[name] = value
		}
	}
	out := make([]string, 0, len(env))
	for name, value := range env {
		out = append(out, name+"="+value)
	}
	sort.Strings(out)
	return out
}

// writeInitrd writes the guest's initial root: the whole file system in the deterministic mode, a step to the host's root in the
// shared one.
func writeInitrd(ctx context.Context, c Config, k kernel.Kernel, job wire.Job, path string) (err error) {
	guest, err := guestProgram(ctx, c)
	if err != nil {
		return err
	}
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("writing the initramfs: %w", err)
	}
	defer func() {
		if closeErr := file.Close(); err == nil && closeErr != nil {
			err = fmt.Errorf("writing the initramfs: %w", closeErr)
		}
	}()
	w := initramfs.NewWriter(file)
	// The kernel gives process 1 this console as its stdout and stderr.
	if err := w.CharDevice("dev/console", 0o600, 5, 1); err != nil {
		return err
	}
	if err := w.Bytes("init", 0o755, guest); err != nil {
		return err
	}
	if err := w.Bytes(wire.JobPath, 0o600, wire.Encode(job)); err != nil {
		return err
	}
	for i, name := range kernel.Modules {
		if c.Mode != ModeShared {
			break // only its overlay needs a module
		}
		if err := w.Host(fmt.Sprintf("%s/%02d-%s.ko", wire.ModulesPath, i, name), k.Module(name)); err != nil {
			return err
		}
	}
	if c.Mode == ModeDeterministic {
		if err := writeUserland(w, c.Trees); err != nil {
			return err
		}
	}
	return w.Close()
}

// writeUserland writes busybox with its applets, the trees, and the libraries that the programs in them need.
func writeUserland(w *initramfs.Writer, trees []Tree) error {
	busybox, applets, err := findBusybox()
	if err != nil {
		return err
	}
	libraries := newLibraries()
	for _, tree := range trees {
		if err := writeTree(w, tree, libraries); err != nil {
			return err
		}
	}
	for _, path := range libraries.closure() {
		if err := w.Host(path, path); err != nil {
			return err
		}
	}
	if err := w.Host("bin/busybox", busybox); err != nil {
		return err
	}
	for _, applet := range applets {
		if !w.Has("bin/" + applet) {
			if err := w.Symlink("bin/"+applet, "busybox"); err != nil {
				return err
			}
		}
	}
	// In a fixed order: a machine's run depends on the addresses of its files in memory.
	for _, file := range [][2]string{
		{"etc/passwd", "root:x:0:0:root:/tmp/home:/bin/sh\n" +
			"user:x:1000:1000:user:/tmp/home:/bin/sh\nnobody:x:65534:65534:nobody:/tmp/home:/bin/sh\n"},
		{"etc/group", "root:x:0:\nuser:x:1000:\nnogroup:x:65534:\n"},
		{"etc/hosts", "127.0.0.1 localhost misstep\n"},
	} {
		if !w.Has(file[0]) {
			if err := w.Bytes(file[0], 0o644, []byte(file[1])); err != nil {
				return err
			}
		}
	}
	return nil
}

func writeTree(w *initramfs.Writer, tree Tree, libraries *libraries) error {
	host, err := filepath.Abs(tree.Host)
	if err != nil {
		return fmt.Errorf("tree %s: %w", tree.Host, err)
	}
	guest := tree.Guest
	if guest == "" {
		guest = host
	}
	info, err := os.Stat(host)
	if err != nil {
		return fmt.Errorf("tree %s: %w", tree.Host, err)
	}
	if !info.IsDir() {
		libraries.add(host)
		return w.Host(guest, host)
	}
	skip := func(rel string) bool { return slices.Contains(tree.Skip, rel) }
	if err := libraries.addTree(host, skip); err != nil {
		return err
	}
	return w.Tree(guest, host, skip)
}

func unavailable(what, remedy string) error {
	return fmt.Errorf("%w: %s; %s", ErrUnavailable, what, remedy)
}
