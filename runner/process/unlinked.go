package process

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

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
