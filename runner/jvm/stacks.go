package jvm

import (
	"regexp"
	"strconv"
	"strings"

	"misstep/signature"
)

// maxFrames bounds the frames of each stack in an outcome; the evidence has all of them.
const maxFrames = 64

// javaThread is one thread of HotSpot's thread dump.
type javaThread struct {
	name   string
	frames []string // without "at ", top first; without the lines about locks
	// waitsFor is the class of the lock that the thread waits for in a deadlock, heldBy the name of the thread that holds it.
	waitsFor, heldBy string
}

var (
	// JDK 8 to 20 print nid=0x1a2b, later ones nid=6699; JDK 19 and newer also have [6699] after the number.
	dumpHead = regexp.MustCompile(`^"(.*)" (?:#\d+ )?.*\bnid=(0x[0-9a-f]+|\d+)`)
	// "  waiting to lock monitor 0x… (object 0x…, a java.lang.Object)," and, of java.util.concurrent's locks,
	// "  waiting for ownable synchronizer 0x…, (a java.util.concurrent.locks.ReentrantLock$NonfairSync),"
	lockWait  = regexp.MustCompile(`^waiting (?:to lock|for ownable).*\ba ([^\s()]+)\),?$`)
	lockHeld  = regexp.MustCompile(`^which is held by "(.*)"$`)
	gdbThread = regexp.MustCompile(`^Thread \d+ .*\(?LWP (\d+)\)?`)
	gdbFrame  = regexp.MustCompile(`^#\d+\s+`)
)

// parseThreadDump reads HotSpot's thread dump: the threads by their tid, and whether the dump reports a deadlock.
func parseThreadDump(text string) (threads map[int64]javaThread, deadlock bool) {
	threads = map[int64]javaThread{}
	var tid int64
	waits := &deadlockReader{}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		trimmed := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "Found one Java-level deadlock"),
			strings.HasPrefix(line, "Found ") && strings.Contains(line, " deadlock"):
			deadlock, tid = true, 0 // the stacks after this line repeat those before it
		case deadlock && waits.read(trimmed):
		case strings.HasPrefix(line, `"`):
			tid = 0
			m := dumpHead.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			if n, err := strconv.ParseInt(m[2], 0, 64); err == nil && len(threads) < maxThreads {
				tid = n
				threads[tid] = javaThread{name: m[1]}
			}
		case trimmed == "":
			tid = 0
		case tid != 0 && strings.HasPrefix(trimmed, "at "):
			t := threads[tid]
			if len(t.frames) < maxFrames {
				t.frames = append(t.frames, strings.TrimPrefix(trimmed, "at "))
				threads[tid] = t
			}
		}
	}
	for id, t := range threads {
		t.waitsFor, t.heldBy = waits.of(t.name)
		threads[id] = t
	}
	return threads, deadlock
}

// deadlockReader reads which thread waits for which in the deadlock section of a thread dump.
type deadlockReader struct {
	name  string
	waits map[string][2]string // by thread: class of the lock, its holder
}

// read reports whether it consumed a line, which then belongs to the deadlock section.
func (d *deadlockReader) read(line string) bool {
	if name, ok := strings.CutPrefix(line, `"`); ok && strings.HasSuffix(name, `":`) {
		d.name = strings.TrimSuffix(name, `":`)
		return true
	}
	held, wait := lockHeld.FindStringSubmatch(line), lockWait.FindStringSubmatch(line)
	if d.name == "" || held == nil && wait == nil {
		return false
	}
	if d.waits == nil {
		d.waits = map[string][2]string{}
	}
	w := d.waits[d.name]
	if wait != nil {
		w[0] = wait[1]
	} else {
		w[1] = held[1]
	}
	d.waits[d.name] = w
	return true
}

func (d *deadlockReader) of(name string) (class, holder string) {
	w := d.waits[name]
	return w[0], w[1]
}

// parseGDB reads the output of "thread apply all bt": frames by tid, without addresses and arguments.
func parseGDB(text string) map[int64][]signature.Frame {
	stacks := map[int64][]signature.Frame{}
	var tid int64
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if m := gdbThread.FindStringSubmatch(line); m != nil {
			tid, _ = strconv.ParseInt(m[1], 10, 64)
			continue
		}
		if !gdbFrame.MatchString(line) || tid == 0 || len(stacks) >= maxThreads || len(stacks[tid]) >= maxFrames {
			continue
		}
		frame, unknown := signature.ParseGDBFrame(line), signature.Frame{Kind: signature.CFrame}
		if n := len(stacks[tid]); frame == unknown && n > 0 && stacks[tid][n-1] == unknown {
			// gdb does not know interpreted and compiled frames: the number of words that it takes for frames means nothing.
			continue
		}
		stacks[tid] = append(stacks[tid], frame)
	}
	return stacks
}
