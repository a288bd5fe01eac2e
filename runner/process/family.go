package process

import (
	"errors"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"misstep/internal/sandbox"
)

// family is a program with all processes that descend from it: its session, its descendants, those observed as such before, those
// that carry its mark, and those of its user, if no other program has that user.
type family struct {
	leader int
	mark   string
	user   *syscall.Credential // nil for this process's own
	known  map[int]uint64      // pid to start time
}

// members finds the family among all processes, the leader first if it exists. thorough also reads environments and users, to find
// processes that left the session and lost their parents between two calls.
func (f *family) members(thorough bool) []stat {
	processes := all()
	member := make(map[int]bool, 8)
	for pid, s := range processes {
		start, known := f.known[pid]
		member[pid] = s.session == f.leader || pid == f.leader || known && start == s.start
	}
	for changed := true; changed; { // children of members, transitively
		changed = false
		for pid, s := range processes {
			if !member[pid] && member[s.ppid] {
				member[pid], changed = true, true
			}
		}
	}
	self := os.Getpid()
	var found []stat
	f.known = make(map[int]uint64, len(f.known))
	for pid, s := range processes {
		if pid == self || pid == 1 {
			continue
		}
		if !member[pid] && (!thorough || !f.claims(pid)) {
			continue
		}
		f.known[pid] = s.start
		found = append(found, s)
		if pid == f.leader {
			found[0], found[len(found)-1] = found[len(found)-1], found[0]
		}
	}
	return found
}

// sweep kills the family except its leader, which its own waiter reaps, and reaps those that became this process's children. It
// returns an error after patience: a process in an uninterruptible wait cannot be killed.
func (f *family) sweep(patience time.Duration) error {
	began := time.Now()
	for pause := time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		alive, dead := 0, 0
		for _, s := range f.members(true) {
			switch {
			case s.pid == f.leader:
			case s.state != 'Z':
				_ = unix.Kill(s.pid, unix.SIGKILL)
				alive++
			case s.ppid == os.Getpid():
				_, _ = unix.Wait4(s.pid, nil, unix.WNOHANG, nil)
			default:
				dead++ // becomes a child of this process, or of init, when its parent ends
			}
		}
		if alive == 0 && (dead == 0 || time.Since(began) > zombiePatience) {
			return nil
		}
		if time.Since(began) > patience {
			return errors.New("processes of the trial survive SIGKILL; look for tasks in state D, e.g. with ps")
		}
		time.Sleep(pause)
	}
}

// zombiePatience bounds the wait for dead processes of the family whose parent is another process: they hold nothing but their pid.
const zombiePatience = 500 * time.Millisecond

// claims reports whether a process carries the family's mark or belongs to its own user.
func (f *family) claims(pid int) bool {
	if f.user != nil && sandbox.IsOwn(f.user.Uid) {
		if uid, _, ok := sandbox.UserOf(pid); ok && uid == f.user.Uid {
			return true
		}
	}
	return isMarked(pid, f.mark)
}

// KillMarked kills every process that carries the mark of a trial, whoever started it, and if uid is a user that a trial had for
// itself, all that user's processes. It cleans up after a runner that was killed.
func KillMarked(mark string, uid uint32) error {
	f := family{leader: -1, mark: mark, user: &syscall.Credential{Uid: uid, Gid: uid}, known: map[int]uint64{}}
	return f.sweep(5 * time.Second)
}
