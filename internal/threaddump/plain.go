package threaddump

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var (
	// plainHeader matches a thread's first line in text of Thread.dump_to_file, which has states from 25 on.
	plainHeader = regexp.MustCompile(`^#(\d+) "(.*)"( virtual)?(?: ([A-Z_]+) \d{4}-\S+)?$`)
	// plainLock matches a line about a lock below a frame, from 25 on; an object is CLASS@HASH, as in JSON.
	plainLock = regexp.MustCompile(`^- (locked|waiting on|waiting to lock|parking to wait for) <(([^@>]+)@[^>]+)>`)
	// wholeLine matches a line that does not end early: no thread's, a lock's, or a frame's.
	wholeLine = regexp.MustCompile(`^(?:[^\s#]|\s+- [^<]*(?:<.*>|$)|\s+[^\s-].*\)$)`)
)

// isPlain reports whether Thread.dump_to_file wrote a dump as text.
func isPlain(text []byte) bool {
	for line := range bytes.Lines(text[:min(len(text), maxLine)]) {
		if plainHeader.Match(bytes.TrimRight(line, "\r\n")) {
			return true
		}
	}
	return false
}

// parsePlain reads the text of Thread.dump_to_file, which has what its JSON has (jdk.internal.vm.ThreadDumper):
//
//	#26 "name" virtual WAITING 2026-11-26T00:58:23.796702604Z     up to 24 without state and time
//	    at java.base/java.lang.VirtualThread.park(VirtualThread.java:742)        up to 24 without "at"
//	    - parking to wait for <java.util.concurrent.locks.ReentrantLock$NonfairSync@10cafa09>
func parsePlain(text []byte) (*Dump, error) {
	d := &Dump{listsVirtual: true}
	var cur *Thread
	for raw := range strings.Lines(string(text)) {
		line := strings.ToValidUTF8(strings.TrimRight(raw[:min(len(raw), maxLine)], "\r\n"), "?")
		if m := plainHeader.FindStringSubmatch(line); m != nil {
			cur, d.EndsEarly = nil, false
			if len(d.Threads) < MaxThreads {
				d.Threads = append(d.Threads,
					Thread{ID: number(m[1]), Name: bounded(m[2]), Virtual: m[3] != "", State: m[4], HeldBy: -1})
				cur = &d.Threads[len(d.Threads)-1]
			}
			continue
		}
		trimmed := strings.TrimSpace(line)
		if trimmed != "" {
			d.EndsEarly = !wholeLine.MatchString(line)
		}
		switch {
		case cur == nil || line == trimmed: // not indented
		case strings.HasPrefix(trimmed, "- "):
			cur.plainLock(trimmed)
		case len(cur.Frames) < MaxFrames:
			cur.Frames = append(cur.Frames, strings.TrimPrefix(trimmed, "at "))
		}
	}
	if len(d.Threads) == 0 {
		return nil, fmt.Errorf("read thread dump: %w: no line begins a thread", ErrNotDump)
	}
	// A carrier's virtual thread is listed as well.
	d.Threads = slices.DeleteFunc(d.Threads, func(t Thread) bool {
		carrier := slices.ContainsFunc(t.Frames, carrying)
		if carrier {
			d.carrierPools = append(d.carrierPools, poolOf(t.Name))
		}
		return carrier
	})
	return d, nil
}

func (t *Thread) plainLock(line string) {
	m := plainLock.FindStringSubmatch(line)
	switch {
	case m == nil:
	case m[1] == "locked":
		t.locks.held = append(t.locks.held, m[2])
	case t.locks.wants == "":
		t.locks.wants, t.locks.wantClass = m[2], m[3]
	}
}
