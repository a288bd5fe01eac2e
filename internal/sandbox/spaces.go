package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// devices that programs may use.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

const (
	// workbench is a folder that every machine has, over which the new root is made.
	workbench = "/proc"
	// tempSize bounds /tmp and /dev/shm, which take memory, as do files without content there: trials have a folder of their own
	// for temporary files.
	tempSize = "size=64m,nr_inodes=16k,mode=1777"
)

// mount is a copy of a part of the file system that has not been attached yet.
type mount struct {
	tree int
	path string
	dir  bool
}

// enterSpaces gives the calling thread namespaces of mounts, IPC and, unless it is the host's, network, and a root of its own: only
// what is needed, at the same paths, so that a user who may not enter the folders above can use it.
func (b *Box) enterSpaces() error {
	flags := unix.CLONE_NEWNS | unix.CLONE_NEWIPC
	if !b.needs.Network {
		flags |= unix.CLONE_NEWNET
	}
	if err := unix.Unshare(flags); err != nil {
		return fmt.Errorf("make namespaces: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("keep mounts private: %w", err)
	}
	mounts, err := b.copyTrees()
	defer func() {
		for _, m := range mounts {
			_ = unix.Close(m.tree)
		}
	}()
	if err != nil {
		return err
	}
	if err := b.makeRoot(mounts); err != nil {
		return err
	}
	if b.needs.Network {
		return nil
	}
	return raiseLoopback()
}

// copyTrees copies what the new root will hold, before something covers it; nothing in it can be changed but in the folders to
// write to.
func (b *Box) copyTrees() (mounts []mount, err error) {
	const read, device = unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV,
		unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NOEXEC
	add := func(path string, attributes uint64) error {
		m, err := copyTree(path, attributes)
		if err == nil {
			mounts = append(mounts, m)
		}
		return err
	}
	folders, reads, err := b.sees()
	if err != nil {
		return nil, err
	}
	for _, path := range folders {
		if info, err := os.Lstat(path); err != nil || !info.IsDir() {
			continue // a link, which makeRoot makes again, or missing
		}
		if err := add(path, read); err != nil {
			return mounts, err
		}
	}
	for _, path := range devices {
		if err := add(path, device); err != nil {
			return mounts, err
		}
	}
	for _, path := range reads {
		if err := add(path, read); err != nil {
			return mounts, err
		}
	}
	for _, path := range b.needs.Write {
		if err := add(path, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV); err != nil {
			return mounts, err
		}
	}
	return mounts, nil
}

func copyTree(path string, attributes uint64) (mount, error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return mount{}, fmt.Errorf("copy the mount of %s: %w", path, err)
	}
	tree, err := unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return mount{}, fmt.Errorf("copy the mount of %s: %w", path, err)
	}
	err = unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: attributes})
	if err != nil {
		return mount{}, errors.Join(fmt.Errorf("set how %s is mounted: %w", path, err), unix.Close(tree))
	}
	return mount{tree: tree, path: path, dir: st.Mode&unix.S_IFMT == unix.S_IFDIR}, nil
}

// makeRoot makes the new root over the workbench and enters it.
func (b *Box) makeRoot(mounts []mount) error {
	if err := unix.Mount("tmpfs", workbench, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "size=1m,mode=0755"); err != nil {
		return fmt.Errorf("mount the new root: %w", err)
	}
	folders, _, err := b.sees()
	if err != nil {
		return err
	}
	for _, path := range folders {
		if target, err := os.Readlink(path); err == nil {
			if err := os.Symlink(target, workbench+path); err != nil {
				return fmt.Errorf("make the link %s: %w", path, err)
			}
		}
	}
	const plain = unix.MS_NOSUID | unix.MS_NODEV
	for _, m := range []struct {
		path, kind, options string
		flags               uintptr
	}{
		{"/proc", "proc", "hidepid=2", plain | unix.MS_NOEXEC},
		{"/tmp", "tmpfs", tempSize, plain},
		{"/dev/shm", "tmpfs", tempSize, plain},
	} {
		if err := os.MkdirAll(workbench+m.path, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(m.kind, workbench+m.path, m.kind, m.flags, m.options); err != nil {
			return fmt.Errorf("mount %s: %w", m.path, err)
		}
	}
	for _, m := range mounts {
		if err := place(m); err != nil {
			return fmt.Errorf("mount %s: %w", m.path, err)
		}
	}
	if err := errors.Join(b.nameUser(), b.nameHost()); err != nil {
		return err
	}
	if err := unix.Chdir(workbench); err != nil {
		return err
	}
	// The old root is mounted over the new one, and taken away: pivot_root(2).
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("enter the new root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leave the old root: %w", err)
	}
	if err := unix.Chdir("/"); err != nil {
		return err
	}
	return unix.MountSetattr(unix.AT_FDCWD, "/", 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
}

// place attaches a tree at its path below the workbench.
func place(m mount) error {
	target := workbench + m.path
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	if m.dir {
		if err := os.MkdirAll(target, 0o755); err != nil {
			return err
		}
	} else if f, err := os.OpenFile(target, os.O_CREATE|os.O_RDONLY, 0o444); err == nil {
		_ = f.Close()
	} else if !errors.Is(err, os.ErrExist) {
		return err
	}
	return unix.MoveMount(m.tree, "", unix.AT_FDCWD, target, unix.MOVE_MOUNT_F_EMPTY_PATH)
}

// nameUser adds the program's user to /etc/passwd, since some programs want a name.
func (b *Box) nameUser() error {
	if b.user == nil || !IsOwn(b.user.Uid) {
		return nil
	}
	known, err := os.ReadFile(workbench + "/etc/passwd")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	line := fmt.Sprintf("misstep:x:%d:%d::/:/usr/sbin/nologin\n", b.user.Uid, b.user.Gid)
	return cover("/etc/passwd", append(append(bytes.TrimRight(known, "\n"), '\n'), line...))
}

// nameHost lets this host's name mean the loopback interface, where there is no other: elsewhere it may be an address that the
// namespace does not have, which servers then cannot listen at.
func (b *Box) nameHost() error {
	if b.needs.Network {
		return nil
	}
	name, err := os.Hostname()
	if err != nil {
		return err
	}
	return cover("/etc/hosts", fmt.Appendf(nil, "127.0.0.1 localhost %s\n::1 localhost\n", name))
}

// cover puts another file over one in /etc, if that exists.
func cover(path string, content []byte) error {
	if _, err := os.Stat(workbench + path); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	file := workbench + "/." + filepath.Base(path)
	if err := os.WriteFile(file, content, 0o644); err != nil {
		return err
	}
	if err := unix.Mount(file, workbench+path, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("cover %s: %w", path, err)
	}
	return nil
}

// raiseLoopback brings up the loopback interface of a new network namespace.
func raiseLoopback() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("raise the loopback interface: %w", err)
	}
	defer unix.Close(s)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, request); err != nil {
		return fmt.Errorf("raise the loopback interface: %w", err)
	}
	return nil
}
