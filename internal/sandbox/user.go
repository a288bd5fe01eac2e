package sandbox

import (
	"bufio"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"
	"syscall"
)

const (
	// Users of their own have numbers that no distribution assigns: systemd's UIDS-GIDS.md lists 1879048192 to 2147483647 as
	// unused.
	firstOwn = 1879048192
	ownUsers = 1 << 28
	// nobody is the kernel's overflow user, which every distribution has.
	nobody = 65534
)

// IsOwn reports whether a user is one of those that each program gets for itself.
func IsOwn(uid uint32) bool { return uid >= firstOwn && uid < firstOwn+ownUsers }

// ownUser returns a user that nobody else has: one of 2^28, at random.
func ownUser() *syscall.Credential {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails, see its documentation
	id := firstOwn + binary.NativeEndian.Uint32(b[:])%ownUsers
	return &syscall.Credential{Uid: id, Gid: id}
}

// chooseUser decides as whom programs run.
func (s *Sandbox) chooseUser(p Policy) error {
	switch {
	case p.AsRoot && p.User != "":
		return errors.New("--jvm-as-root and --jvm-user contradict each other: give one of them")
	case !isRoot() && p.User != "":
		return fmt.Errorf("--jvm-user %s: only root can start JVMs as another user; start this as that user instead", p.User)
	case !isRoot():
		s.parts = append(s.parts, Part{Name: "user", By: fmt.Sprintf("this process's own, %d", os.Geteuid())})
		return nil
	case p.AsRoot:
		s.parts = append(s.parts, Part{Name: "user", Missing: "--jvm-as-root asks for root"})
		return nil
	case p.User != "":
		c, err := lookUp(p.User)
		if err != nil {
			return err
		}
		s.user = c
	case mapped(firstOwn+ownUsers-1, "/proc/self/uid_map") && mapped(firstOwn+ownUsers-1, "/proc/self/gid_map"):
		s.own = true
		s.parts = append(s.parts, Part{Name: "user", By: "one of its own for each"})
		return nil
	case mapped(nobody, "/proc/self/uid_map") && mapped(nobody, "/proc/self/gid_map"):
		s.user = &syscall.Credential{Uid: nobody, Gid: nobody}
	default:
		return errors.New("this process is root of a user namespace with no other user, so JVMs could run as root only: " +
			"map more users (subuid(5)), start it as an ordinary user, or allow it with --jvm-as-root")
	}
	s.parts = append(s.parts, Part{Name: "user", By: fmt.Sprintf("user %d", s.user.Uid)})
	return nil
}

// lookUp finds a user by name or number.
func lookUp(name string) (*syscall.Credential, error) {
	u, err := user.Lookup(name)
	if err != nil {
		u, err = user.LookupId(name)
	}
	id, group := name, name // a number that no file lists
	if err == nil {
		id, group = u.Uid, u.Gid
	}
	uid, err1 := strconv.ParseUint(id, 10, 32)
	gid, err2 := strconv.ParseUint(group, 10, 32)
	if err1 != nil || err2 != nil || uid >= 1<<32-1 {
		return nil, fmt.Errorf("--jvm-user %s: no such user; give a name or number of /etc/passwd", name)
	}
	if uid == 0 {
		return nil, fmt.Errorf("--jvm-user %s: that is root; allow it with --jvm-as-root", name)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

// mapped reports whether an id exists in this process's user namespace (user_namespaces(7)).
func mapped(id uint64, file string) bool {
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) != 3 {
			continue
		}
		first, err1 := strconv.ParseUint(fields[0], 10, 64)
		count, err2 := strconv.ParseUint(fields[2], 10, 64)
		if err1 == nil && err2 == nil && id >= first && id-first < count {
			return true
		}
	}
	return false
}
