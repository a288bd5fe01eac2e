package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"unsafe"

	"golang.org/x/sys/unix"

	"misstep/deploy/vm/wire"
)

// mount describes one mount of the guest.
type mount struct {
	source, target, kind string
	flags                uintptr
	data                 string
	optional             bool // the kernel may lack it
}

// mountFirst mounts the file systems that are needed to find the port and the job.
func mountFirst() error {
	return mountAll([]mount{
		{source: "proc", target: "/proc", kind: "proc", flags: unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC},
		{source: "sysfs", target: "/sys", kind: "sysfs", flags: unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC},
		{source: "devtmpfs", target: "/dev", kind: "devtmpfs", flags: unix.MS_NOSUID, data: "mode=0755"},
	})
}

// setUp turns the bare guest into a small Linux system.
func setUp(job wire.Job) error {
	if err := loadModules(); err != nil {
		return err
	}
	if job.Shared {
		if err := enterHostRoot(); err != nil {
			return err
		}
	}
	err := mountAll([]mount{
		{
			source: "devpts", target: "/dev/pts", kind: "devpts", flags: unix.MS_NOSUID | unix.MS_NOEXEC,
			data: "mode=0620,ptmxmode=0666",
		},
		{source: "tmpfs", target: "/dev/shm", kind: "tmpfs", flags: unix.MS_NOSUID | unix.MS_NODEV, data: "mode=1777"},
		{source: "tmpfs", target: "/run", kind: "tmpfs", flags: unix.MS_NOSUID | unix.MS_NODEV, data: "mode=0755"},
		{
			source: "cgroup2", target: "/sys/fs/cgroup", kind: "cgroup2", flags: unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC,
			optional: true,
		},
		{source: "bpf", target: "/sys/fs/bpf", kind: "bpf", optional: true},
		{source: "debugfs", target: "/sys/kernel/debug", kind: "debugfs", optional: true},
		{source: "tracefs", target: "/sys/kernel/tracing", kind: "tracefs", optional: true},
	})
	if err != nil {
		return err
	}
	for _, link := range [][2]string{
		{"/proc/self/fd", "/dev/fd"},
		{"fd/0", "/dev/stdin"},
		{"fd/1", "/dev/stdout"},
		{"fd/2", "/dev/stderr"},
	} {
		if err := os.Symlink(link[0], link[1]); err != nil && !errors.Is(err, os.ErrExist) {
			return fmt.Errorf("making %s: %w", link[1], err)
		}
	}
	if err := unix.Sethostname([]byte("misstep")); err != nil {
		return fmt.Errorf("setting the host name: %w", err)
	}
	if err := loopbackUp(); err != nil {
		return fmt.Errorf("bringing up the loopback device: %w", err)
	}
	return makeFolders(job)
}

// enterHostRoot makes the host's root the guest's. Writes go to a layer in memory above it: the host never sees them, and could not
// be changed anyway, since its side of the file system is read-only.
func enterHostRoot() error {
	err := mountAll([]mount{
		{source: "root", target: "/host", kind: "virtiofs", flags: unix.MS_RDONLY},
		{source: "tmpfs", target: "/written", kind: "tmpfs", data: "mode=0755"},
	})
	if err != nil {
		return err
	}
	for _, dir := range []string{"/written/upper", "/written/work"} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return fmt.Errorf("making the writable layer: %w", err)
		}
	}
	err = mountAll([]mount{{
		source: "overlay", target: "/root", kind: "overlay",
		data: "lowerdir=/host,upperdir=/written/upper,workdir=/written/work",
	}})
	if err != nil {
		return err
	}
	for _, dir := range []string{"proc", "sys", "dev"} {
		target := filepath.Join("/root", dir)
		if err := os.MkdirAll(target, 0o755); err != nil {
			return fmt.Errorf("making /%s: %w", dir, err)
		}
		if err := unix.Mount("/"+dir, target, "", unix.MS_MOVE, ""); err != nil {
			return fmt.Errorf("moving /%s: %w", dir, err)
		}
	}
	if err := errors.Join(os.Chdir("/root"), unix.Mount(".", "/", "", unix.MS_MOVE, ""), unix.Chroot("."),
		os.Chdir("/")); err != nil {
		return fmt.Errorf("entering the host's root: %w", err)
	}
	return nil
}

func mountAll(mounts []mount) error {
	for _, m := range mounts {
		err := os.MkdirAll(m.target, 0o755)
		if err == nil {
			err = unix.Mount(m.source, m.target, m.kind, m.flags, m.data)
		}
		if err != nil && !m.optional {
			return fmt.Errorf("mounting %s on %s: %w", m.kind, m.target, err)
		}
	}
	return nil
}

func loadModules() error {
	files, err := filepath.Glob(wire.ModulesPath + "/*.ko")
	if err != nil {
		return fmt.Errorf("listing modules: %w", err)
	}
	sort.Strings(files)
	for _, path := range files {
		file, err := os.Open(path)
		if err != nil {
			return fmt.Errorf("loading a module: %w", err)
		}
		err = unix.FinitModule(int(file.Fd()), "", 0)
		_ = file.Close()
		if err != nil && !errors.Is(err, unix.EEXIST) {
			return fmt.Errorf("loading module %s: %w", filepath.Base(path), err)
		}
	}
	return nil
}

// loopbackUp makes 127.0.0.1 work; the guest has no other network.
func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var request struct { // struct ifreq of netdevice(7)
		name  [unix.IFNAMSIZ]byte
		flags uint16
		_     [22]byte
	}
	copy(request.name[:], "lo")
	request.flags = unix.IFF_UP | unix.IFF_RUNNING
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCSIFFLAGS, uintptr(unsafe.Pointer(&request)))
	if errno != 0 {
		return errno
	}
	return nil
}

// evidencePath is the folder whose files are returned to the host; $MISSTEP_EVIDENCE in the command's environment.
const evidencePath = "/evidence"

// makeFolders creates the command's own folders and the job's files.
func makeFolders(job wire.Job) error {
	for dir, perm := range map[string]os.FileMode{"/tmp": 0o777 | os.ModeSticky, "/var/tmp": 0o777 | os.ModeSticky} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("making %s: %w", dir, err)
		}
		if err := os.Chmod(dir, perm); err != nil {
			return fmt.Errorf("making %s: %w", dir, err)
		}
	}
	for _, dir := range []string{evidencePath, "/tmp/home"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("making %s: %w", dir, err)
		}
		if err := os.Chown(dir, job.UID, job.GID); err != nil {
			return fmt.Errorf("making %s: %w", dir, err)
		}
	}
	for path, data := range job.Files {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("making the folder of %s: %w", path, err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return fmt.Errorf("writing a file of the job: %w", err)
		}
	}
	return nil
}
