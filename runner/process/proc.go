package process

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Mark is the environment variable that names the trial to which a process belongs.
const Mark = "MISSTEP_TRIAL"

// stat is a part of /proc/PID/stat, see proc_pid_stat(5).
type stat struct {
	pid, ppid, session int
	state              byte
	threads            int
	start              uint64 // in clock ticks since boot: pid and start together identify a process uniquely
	rss                uint64 // in bytes
}

var pageSize = uint64(os.Getpagesize()) // positive

func readStat(pid int) (stat, bool) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return stat{}, false
	}
	return parseStat(data)
}

// parseStat parses the content of /proc/PID/stat. The name in parentheses may itself contain spaces and parentheses.
func parseStat(data []byte) (stat, bool) {
	open, end := bytes.IndexByte(data, '('), bytes.LastIndexByte(data, ')')
	if open < 0 || end < open {
		return stat{}, false
	}
	fields := strings.Fields(string(data[end+1:]))
	if len(fields) < 22 {
		return stat{}, false
	}
	var s stat
	var err [6]error
	s.pid, err[0] = strconv.Atoi(strings.TrimSpace(string(data[:open])))
	s.state = fields[0][0]
	s.ppid, err[1] = strconv.Atoi(fields[1])
	s.session, err[2] = strconv.Atoi(fields[3])
	s.start, err[3] = strconv.ParseUint(fields[19], 10, 64)
	s.rss, err[4] = strconv.ParseUint(fields[21], 10, 64)
	s.threads, err[5] = strconv.Atoi(fields[17])
	s.rss *= pageSize
	return s, err == [6]error{}
}

// StartTime returns the start of a process in clock ticks since boot; false if there is no such process, or only what is left of
// one that its parent has not waited for.
func StartTime(pid int) (uint64, bool) {
	s, ok := readStat(pid)
	return s.start, ok && s.state != 'Z' && s.state != 'X'
}

// all returns all current processes by pid.
func all() map[int]stat {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	found := make(map[int]stat, len(entries))
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			if s, ok := readStat(pid); ok {
				found[pid] = s
			}
		}
	}
	return found
}

// isMarked reports whether a process carries the mark. Environments of other users' processes cannot be read; those are no trials.
func isMarked(pid int, mark string) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return false
	}
	want := []byte(Mark + "=" + mark)
	for entry := range bytes.SplitSeq(data, []byte{0}) {
		if bytes.Equal(entry, want) {
			return true
		}
	}
	return false
}
