package sandbox

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Versions of Landlock's interface (Documentation/userspace-api/landlock.rst), by what they add.
const (
	landlockRefer    = 2
	landlockTruncate = 3
	landlockDevices  = 5
	landlockSignals  = 6 // and abstract sockets
)

const (
	accessRead = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	// accessFile is what can be allowed for a single file.
	accessFile = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	// accessAttach is what HotSpot needs in /tmp to listen to jcmd: it makes a socket and renames it (attachListener_posix.cpp).
	accessAttach = unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE
	accessFirst  = accessRead | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR |
		unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_DIR |
		unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO |
		unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK | unix.LANDLOCK_ACCESS_FS_MAKE_SYM
)

// landlockVersion is that of the kernel's interface, 0 if it has none.
func landlockVersion() int {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
}

// handled is every access to files that a version knows.
func handled(version int) uint64 {
	all := uint64(accessFirst)
	if version >= landlockRefer {
		all |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if version >= landlockTruncate {
		all |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if version >= landlockDevices {
		all |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	return all
}

// restrict puts the calling thread into a Landlock domain.
func (b *Box) restrict() error {
	version := b.sandbox.landlock
	attr := unix.LandlockRulesetAttr{Handled_access_fs: handled(version)}
	size := unsafe.Sizeof(attr.Handled_access_fs)
	if version >= landlockSignals {
		attr.Scoped = unix.LANDLOCK_SCOPE_SIGNAL | unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
		size = unsafe.Offsetof(attr.Quiet_access_fs)
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return fmt.Errorf("make the rules: %w", errno)
	}
	rules := int(fd)
	defer unix.Close(rules)
	folders, reads, err := b.sees()
	if err != nil {
		return err
	}
	for _, g := range []struct {
		paths  []string
		access uint64
	}{
		{folders, accessRead},
		{[]string{"/proc"}, accessRead | unix.LANDLOCK_ACCESS_FS_WRITE_FILE}, // /proc/self/coredump_filter
		{devices, accessRead | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV},
		{[]string{"/tmp"}, accessAttach},
		{reads, accessRead},
		{b.needs.Write, handled(version)},
	} {
		for _, path := range g.paths {
			if err := allow(rules, path, g.access&handled(version)); err != nil {
				return fmt.Errorf("allow %s: %w", path, err)
			}
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(rules), 0, 0); errno != 0 {
		return fmt.Errorf("enter the domain: %w", errno)
	}
	return nil
}

// allow adds a rule for what is at and below a path; one that does not exist needs none.
func allow(rules int, path string, access uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		access &= accessFile
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(fd)}
	if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(rules), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}
