package vm

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
)

// share is a virtiofsd that serves the host's root, read-only, at a socket.
type share struct {
	socket  string
	process *process
}

// findVirtiofsd finds the daemon; distributions keep it outside PATH.
func findVirtiofsd() (string, error) {
	for _, name := range []string{"virtiofsd", "/usr/libexec/virtiofsd", "/usr/lib/qemu/virtiofsd", "/usr/lib/virtiofsd"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		if os.Getuid() != 0 && !newVirtiofsd(path) {
			return "", unavailable("sharing the host's root with "+path+" takes root", "run as root, or use the deterministic mode, which needs none")
		}
		return path, nil
	}
	return "", unavailable("virtiofsd is not here",
		"install the package virtiofsd, or before Debian trixie qemu-system-common (deploy/vm/install.sh does), or use the deterministic mode, which needs none")
}

// newVirtiofsd says whether this is the daemon written in Rust with --readonly (1.11 and later). qemu's own one, until qemu 7.2, has other
// options.
func newVirtiofsd(path string) bool {
	out, _ := exec.Command(path, "--help").CombinedOutput()
	return strings.Contains(string(out), "--readonly")
}

// startShare starts a daemon in a mount namespace in which the root and all mounted below it are read-only: even a daemon taken over by its
// guest could change nothing.
func startShare(ctx context.Context, path, scratch string) (*share, error) {
	s := &share{socket: filepath.Join(scratch, "share.sock")}
	l := launch{path: path, dir: "/", output: &bytes.Buffer{}}
	out, err := os.Create(filepath.Join(scratch, "virtiofsd.log"))
	if err != nil {
		return nil, fmt.Errorf("starting virtiofsd: %w", err)
	}
	defer out.Close()
	l.output = out
	if newVirtiofsd(path) {
		l.args = []string{"--socket-path", s.socket, "--shared-dir", "/", "--cache", "always", "--readonly"}
		if os.Getuid() == 0 {
			l.args = append(l.args, "--sandbox", "chroot")
		}
	} else {
		root := filepath.Join(scratch, "root")
		if err := os.Mkdir(root, 0o755); err != nil {
			return nil, fmt.Errorf("starting virtiofsd: %w", err)
		}
		// -f: it would leave its group and our sight otherwise.
		l.args = []string{"-f", "--socket-path=" + s.socket, "-o", "source=" + root, "-o", "cache=always", "-o", "sandbox=chroot", "-o", "log_level=warn"}
		l.before = func() error { return readOnlyRoot(root) }
	}
	if s.process, err = start(l); err != nil {
		return nil, fmt.Errorf("starting virtiofsd: %w", err)
	}
	for {
		if _, err := os.Stat(s.socket); err == nil {
			return s, nil
		}
		select {
		case <-ctx.Done():
			s.stop()
			return nil, context.Cause(ctx)
		case <-s.process.done:
			log, _ := os.ReadFile(out.Name())
			return nil, fmt.Errorf("virtiofsd ended at once (%s): %s", describe(s.process.err), tail(strings.TrimSpace(string(log)), 5))
		case <-time.After(10 * time.Millisecond): // it has no other way to say that it listens
		}
	}
}

func (s *share) stop() { s.process.stop() }

// readOnlyRoot gives the calling thread a mount namespace of its own and binds the root with all below it read-only to dir.
func readOnlyRoot(dir string) error {
	if err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("making a mount namespace: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("separating the mount namespace: %w", err)
	}
	if err := unix.Mount("/", dir, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("binding the root: %w", err)
	}
	err := unix.MountSetattr(unix.AT_FDCWD, dir, unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
	if errors.Is(err, unix.ENOSYS) {
		return fmt.Errorf("making the shared root read-only: %w; that takes Linux 5.12", err)
	}
	if err != nil {
		return fmt.Errorf("making the shared root read-only: %w", err)
	}
	return nil
}
