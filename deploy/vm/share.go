package vm

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// share is a virtiofsd that serves the host's root, read-only, at a socket.
type share struct {
	socket  string
	process *process
	said    bytes.Buffer // must not be read before the process has ended
}

// findVirtiofsd finds the daemon; distributions install it outside PATH.
func findVirtiofsd() (string, error) {
	for _, name := range []string{"virtiofsd", "/usr/libexec/virtiofsd", "/usr/lib/qemu/virtiofsd", "/usr/lib/virtiofsd"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		if os.Getuid() != 0 && !newVirtiofsd(path) {
			return "", unavailable("sharing the host's root with "+path+" requires root",
				"run as root, or use the deterministic mode, which does not")
		}
		return path, nil
	}
	return "", unavailable("virtiofsd is not installed",
		"install the package virtiofsd, or before Debian trixie qemu-system-common (deploy/vm/install.sh does), or use the "+
			"deterministic mode, which does not need it")
}

// newVirtiofsd reports whether this is the daemon written in Rust with --readonly (1.11 and later). qemu's own daemon, until qemu
// 7.2, has other options.
func newVirtiofsd(path string) bool {
	out, _ := exec.Command(path, "--help").CombinedOutput()
	return strings.Contains(string(out), "--readonly")
}

// startShare starts a daemon in a mount namespace in which everything is read-only: even a daemon compromised by its guest could
// change nothing.
func startShare(path, scratch string) (s *share, err error) {
	s = &share{socket: filepath.Join(scratch, "share.sock")}
	// The daemon inherits the listening socket: qemu can connect at once, and the daemon needs nothing writable.
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: s.socket, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("starting virtiofsd: %w", err)
	}
	listener.SetUnlinkOnClose(false)
	socket, err := listener.File()
	_ = listener.Close()
	if err != nil {
		return nil, fmt.Errorf("starting virtiofsd: %w", err)
	}
	defer socket.Close()
	fd := "--fd=" + strconv.Itoa(firstExtraFD)
	l := launch{path: path, dir: "/", output: &s.said, files: []*os.File{socket}}
	if newVirtiofsd(path) {
		l.args = []string{fd, "--shared-dir", "/", "--cache", "always", "--readonly"}
		if os.Getuid() == 0 {
			l.args = append(l.args, "--sandbox", "chroot")
		}
	} else {
		// -f: it would otherwise leave its process group and escape supervision.
		l.args = []string{"-f", fd, "-o", "source=/", "-o", "cache=always", "-o", "sandbox=chroot", "-o", "log_level=warn"}
		l.before = readOnlyMounts
	}
	if s.process, err = start(l); err != nil {
		return nil, fmt.Errorf("starting virtiofsd: %w", err)
	}
	return s, nil
}

// end stops the daemon and returns the end of its output if it died before its machine.
func (s *share) end() string {
	died := s.process.ended()
	s.process.stop()
	if !died {
		return ""
	}
	if text := strings.TrimSpace(s.said.String()); text != "" {
		return "\nvirtiofsd: " + tail(text, 5)
	}
	return ""
}

// readOnlyMounts gives the calling thread a mount namespace of its own in which every mount is read-only.
func readOnlyMounts() error {
	if err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("making a mount namespace: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("separating the mount namespace: %w", err)
	}
	err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
	if errors.Is(err, unix.ENOSYS) {
		return fmt.Errorf("making the shared root read-only: %w; this requires Linux 5.12", err)
	}
	if err != nil {
		return fmt.Errorf("making the shared root read-only: %w", err)
	}
	return nil
}
