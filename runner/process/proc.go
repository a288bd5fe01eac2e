package process

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Mark is the environment variable that says to which trial a process belongs.
const Mark = "MISSTEP_TRIAL"

// stat is what /proc/PID/stat says, see proc_pid_stat(5).
type stat struct {
	pid, ppid, session int
	state              byte
	start              uint64 // in clock ticks since boot: pid and start together name a process for ever
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

// parseStat takes the name in parentheses as it is: it may hold blanks and parentheses itself.
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
	var err [5]error
	s.pid, err[0] = strconv.Atoi(strings.TrimSpace(string(data[:open])))
	s.state = fields[0][0]
	s.ppid, err[1] = strconv.Atoi(fields[1])
	s.session, err[2] = strconv.Atoi(fields[3])
	s.start, err[3] = strconv.ParseUint(fields[19], 10, 64)
	s.rss, err[4] = strconv.ParseUint(fields[21], 10, 64)
	s.rss *= pageSize
	return s, err == [5]error{}
}

// StartTime of a process in clock ticks since boot; false when there is none.
func StartTime(pid int) (uint64, bool) {
	s, ok := readStat(pid)
	return s.start, ok
}

// all processes that are there now, by pid.
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

// isMarked says whether a process carries the mark. Those of other users cannot be read and are not ours.
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
