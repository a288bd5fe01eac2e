package process

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Usage of the family at one moment.
type Usage struct {
	// Processes that are alive, and the Threads that they have in all.
	Processes, Threads int
	// RSS summed over them in bytes; shared pages count for each.
	RSS uint64
	// MaxRSS is the highest RSS of one of them in bytes.
	MaxRSS uint64
	// Unlinked is what their open files without a name take of the file system of the program's folder, in bytes.
	Unlinked uint64
}

// Usage reads every process of the machine, and remembers the program's descendants: call it about twice a second.
func (p *Process) Usage() Usage {
	p.mu.Lock()
	defer p.mu.Unlock()
	var u Usage
	if p.gone {
		return u
	}
	device, known := deviceOf(p.spec.Dir)
	seen := map[file]bool{}
	members := p.family.members(false)
	p.join(members)
	for _, s := range members {
		if s.state == 'Z' {
			continue
		}
		if known {
			u.Unlinked += unlinked(s.pid, device, seen)
		}
		u.Processes++
		u.Threads += s.threads
		u.RSS += s.rss
		u.MaxRSS = max(u.MaxRSS, s.rss)
	}
	return u
}

// join puts into the cgroup those of the family that are not in it: the program may have had children before it was put there, and
// they others. Those of the ones that are in it are born there. The caller holds p.mu.
func (p *Process) join(members []stat) {
	if p.spec.Cgroup == nil {
		return
	}
	joined := make(map[int]uint64, len(members))
	for _, s := range members {
		if start, in := p.joined[s.pid]; !in || start != s.start {
			p.spec.Cgroup.add(s.pid)
		}
		joined[s.pid] = s.start
	}
	p.joined = joined
}

// file identifies a file of a machine.
type file struct{ device, inode uint64 }

// unlinked returns how much a process's open files that have no name any more take of the file system with a device, in bytes, and
// notes them: files are counted once, whoever has them open. Those of a process that has made itself undumpable can be read by root
// only.
func unlinked(pid int, device uint64, seen map[file]bool) (bytes uint64) {
	folder := fmt.Sprintf("/proc/%d/fd", pid)
	f, err := os.Open(folder)
	if err != nil {
		return 0 // it has ended
	}
	defer f.Close()
	names, _ := f.Readdirnames(-1) // what was read before an error counts
	for _, name := range names {
		var st unix.Stat_t
		if unix.Stat(folder+"/"+name, &st) != nil || st.Nlink > 0 || st.Dev != device || st.Mode&unix.S_IFMT != unix.S_IFREG {
			continue
		}
		if id := (file{st.Dev, st.Ino}); !seen[id] {
			seen[id] = true
			bytes += uint64(max(0, st.Blocks)) * 512 // see stat(2)
		}
	}
	return bytes
}

// deviceOf returns the device of the file system of a folder.
func deviceOf(folder string) (uint64, bool) {
	var st unix.Stat_t
	err := unix.Stat(folder, &st)
	return st.Dev, err == nil
}
