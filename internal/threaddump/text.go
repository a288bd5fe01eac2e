package threaddump

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// header matches a thread's first line. A name may contain what looks like the rest, so the last match counts:
//
//	"main" #1 prio=5 os_prio=0 tid=0x00007f0c nid=0x1a2b runnable [0x00007f2d]       JDK 8 to 18; nid=6699 from 19 on
//	"main" #3 [6699] prio=5 os_prio=0 cpu=32.76ms elapsed=1.61s tid=0x00007f0c nid=6699 waiting on condition  [0x00007f2d]
//	"ForkJoinPool-1-worker-1" #18 [5250] daemon prio=5 … tid=0x00007f0c  [0x00007f2d]    carriers of virtual threads from 21
//	"VM Thread" os_prio=0 cpu=0.77ms elapsed=1.54s tid=0x00007f0c nid=0x14b9 runnable
//
// The text of shadow stacks, which the agent writes, has the name and nid= only.
var header = regexp.MustCompile(`^(?s:(.*))" ?(?:#(\d+) )?(?:\[(\d+)\] )?(?:daemon )?((?:[a-z_]+=\S* +)*(?:tid|nid)=\S.*)$`)

var (
	nid     = regexp.MustCompile(`(?:^| )nid=(0x[0-9a-fA-F]+|\d+)(?: |$)`)
	lock    = regexp.MustCompile(`^- ([a-z -]+?)(?: in wait\(\))? +<(0x[0-9a-fA-F]+)> \(an? (.+)\)$`)
	ownable = regexp.MustCompile(`^- <(0x[0-9a-fA-F]+)> \(an? (.+)\)$`)
	carries = regexp.MustCompile(`^(Carrying|Mounted) virtual thread #(\d+)`)
)

const (
	dumpTitle     = "Full thread dump"
	deadlockTitle = "Found one Java-level deadlock"
	stacksTitle   = "Java stack information for the threads listed above"
	stateTitle    = "java.lang.Thread.State: "
	ownableTitle  = "Locked ownable synchronizers:"
	lastOfThreads = "JNI global ref"
	maxNameLines  = 16
	mostBroken    = 1000 // then a name has one line
)

// textParser reads the lines of a dump as text.
type textParser struct {
	dump    *Dump
	cur     int      // index of the thread whose lines follow, -1 for none
	locked  int      // the same for "Locked ownable synchronizers", which an empty line precedes
	name    []string // lines of a name that has not ended
	broken  int      // names that never ended
	ended   bool     // the line behind the last thread was read
	agents  bool     // the serviceability agent wrote it, which writes no such line
	titled  bool
	section deadlockSection
}

// newTextParser returns a parser at the beginning of a dump.
func newTextParser() *textParser { return &textParser{dump: &Dump{}, cur: -1, locked: -1} }

func parseText(text []byte) (*Dump, error) {
	p := newTextParser()
	before, titled := p, false
	for raw := range strings.Lines(string(text)) {
		line := strings.ToValidUTF8(strings.TrimRight(raw[:min(len(raw), maxLine)], "\r\n"), "?")
		if !strings.HasPrefix(line, dumpTitle) {
			p.line(line)
			continue
		}
		titled = true
		if len(p.dump.Threads) > 0 { // the last dump is the most settled one
			before = p
		}
		p = newTextParser()
	}
	if len(p.dump.Threads) == 0 { // the text ends where it begins
		p = before
	}
	p.titled = titled
	if !p.agents {
		p.dump.EndsEarly = titled && !p.ended
		p.cut()
	}
	p.section.resolve(p.dump, p.agents)
	for i := range p.dump.Threads {
		p.dump.Threads[i].ownFrames()
	}
	if !titled && len(p.dump.Threads) == 0 {
		return nil, fmt.Errorf("read thread dump: %w: it has neither the line %q nor a thread", ErrNotDump, dumpTitle)
	}
	return p.dump, nil
}

var (
	// bottom matches a frame with which the stack of a thread may end.
	bottom = regexp.MustCompile(`\.(run|runWith|main|exec|enter\w*|compute)\(`)
	// housekeeper matches methods in which threads spend their lives that keep the JDK's references and times.
	housekeeper = regexp.MustCompile(`java\.lang\.ref\.(Reference\$ReferenceHandler|Finalizer\$FinalizerThread)\.run\(|` +
		`(jdk\.internal\.ref|sun\.misc)\.Cleaner(Impl)?\.run\(|java\.util\.TimerThread\.mainLoop\(|` +
		`java\.util\.concurrent\.DelayScheduler\.\w+\(`)
)

// cut removes frames from a dump that ends early, so that nobody takes for what hangs what is left of the threads that every
// program has: those of housekeepers, and of the thread in which the dump ends, unless they reach its bottom or a method of the
// program.
func (p *textParser) cut() {
	if p.cur < 0 && (p.ended || !p.titled) {
		return
	}
	ofProgram := func(f string) bool { return !ofJDK.MatchString(f) }
	for i := range p.dump.Threads {
		t := &p.dump.Threads[i]
		n := len(t.Frames)
		if n == 0 || slices.ContainsFunc(t.Frames, ofProgram) {
			continue
		}
		ends := i == p.cur && t.State != "" && !bottom.MatchString(t.Frames[n-1]) // shadow stacks have no states
		if ends || slices.ContainsFunc(t.Frames, housekeeper.MatchString) {
			t.Frames = nil
		}
	}
}

// ofJDK matches frames of the JDK's methods.
var ofJDK = regexp.MustCompile(`^(?:[\w.]+@[^/]*/)?(?:javax?|jdk|sun|com\.sun)\.`)

func (p *textParser) line(line string) {
	trimmed := strings.TrimSpace(line)
	switch {
	case strings.HasPrefix(line, deadlockTitle):
		p.dump.Deadlock, p.cur, p.locked = true, -1, -1
		p.section.begin()
	case p.section.active && p.section.read(line, trimmed):
	case p.continued(line):
	case strings.HasPrefix(line, agentTitle):
		p.agents = true
	case strings.HasPrefix(line, "Thread ") && p.agentHeader(line):
	case strings.HasPrefix(line, `"`):
		p.cur, p.locked = -1, -1
		if !p.header(line[1:]) && p.broken < mostBroken {
			p.name = []string{line[1:]}
		}
	case trimmed == "":
		p.cur = -1
	case strings.HasPrefix(trimmed, lastOfThreads):
		p.cur, p.locked, p.ended = -1, -1, true
	case trimmed == ownableTitle:
		p.cur = -1
	case p.cur >= 0:
		p.dump.Threads[p.cur].read(trimmed)
	case p.locked >= 0:
		if m := ownable.FindStringSubmatch(trimmed); m != nil {
			t := &p.dump.Threads[p.locked]
			t.locks.held = append(t.locks.held, m[1])
		}
	}
}

// continued reports whether a line belongs to a name with line breaks.
func (p *textParser) continued(line string) bool {
	if p.name == nil {
		return false
	}
	whole := strings.Join(append(p.name, line), "\n")
	switch {
	case p.header(whole):
		p.name = nil
		return true
	case len(p.name) >= maxNameLines || len(whole) > maxLine || strings.HasPrefix(line, "\tat "):
		p.name = nil
		p.broken++
		return false
	case strings.HasPrefix(line, `"`) && p.header(line[1:]): // what came before was no thread
		p.name = nil
		p.broken++
		return true
	}
	p.name = append(p.name, line)
	return true
}

// header begins a thread and reports whether the text, without its first quote, is a thread's first line.
func (p *textParser) header(text string) bool {
	if !strings.Contains(text, "id=") {
		return false
	}
	m := header.FindStringSubmatch(text)
	if m == nil {
		return false
	}
	t := Thread{Name: bounded(m[1]), ID: number(m[2]), TID: number(m[3]), HeldBy: -1}
	t.locks.waitsForClass = strings.Contains(m[4], " in Object.wait()")
	if n := nid.FindStringSubmatch(m[4]); n != nil {
		t.TID = number(n[1])
	}
	p.begin(t)
	return true
}

// begin adds a thread, whose lines follow, unless there are enough.
func (p *textParser) begin(t Thread) {
	p.cur, p.locked = -1, -1
	if len(p.dump.Threads) >= MaxThreads {
		return
	}
	p.cur = len(p.dump.Threads)
	p.locked = p.cur
	p.dump.Threads = append(p.dump.Threads, t)
}

func bounded(name string) string {
	if len(name) > maxName {
		return strings.ToValidUTF8(name[:maxName], "") + "…"
	}
	return name
}

func number(s string) int64 {
	n, err := strconv.ParseInt(s, 0, 64)
	if err != nil { // a leading 0 is not octal
		n, _ = strconv.ParseInt(strings.TrimLeft(s, "0"), 10, 64)
	}
	return n
}

// ofThread reads a line below a thread's first one.
func (t *Thread) read(line string) {
	if state, ok := strings.CutPrefix(line, stateTitle); ok {
		t.State = state
		t.locks.waitsForClass = t.locks.waitsForClass && state == "RUNNABLE"
		return
	}
	t.lines = digest(t.lines, line)
	if frame, ok := frameOf(line); ok {
		t.locks.frame(frame)
		if len(t.Frames) < MaxFrames && strings.HasSuffix(frame, ")") { // else the dump ends here
			t.Frames = append(t.Frames, frame)
		}
		return
	}
	if m := carries.FindStringSubmatch(line); m != nil {
		t.Virtual, t.Carries = true, number(m[2])
		if m[1] == "Mounted" { // 24 and newer: its own frames follow those of the carrier
			t.printsMounted, t.Frames = true, nil
		}
		return
	}
	t.locks.line(line)
}

// line reads a line about a lock, which follows the frame that has it. A thread in Object.wait() has a line "locked" for the
// monitor that it has released.
func (l *locks) line(line string) {
	if class, ok := strings.CutPrefix(line, "- waiting on the Class initialization monitor for "); ok {
		l.wants, l.wantClass = initialisation+class, ClassOfClasses
		return
	}
	if strings.HasPrefix(line, "- waiting on <no object") {
		l.unknownWait = true
		return
	}
	m := lock.FindStringSubmatch(line)
	if m == nil {
		return
	}
	what, object, class := m[1], m[2], m[3]
	switch what {
	case "locked":
		if object != l.wants && object != l.released && !l.unknownWait {
			l.held = append(l.held, object)
		}
		l.unknownWait = false
	case "waiting to lock", "waiting to re-lock", "parking to wait for":
		if l.wants == "" {
			l.wants, l.wantClass = object, class
		}
	case "waiting on":
		l.released = object
	}
}

// initialisation is before the name of a class whose initialisation is a lock, held by the thread that has its initialiser on the
// stack.
const initialisation = "initialisation of "

// frame notes the initialisers among a thread's frames.
func (l *locks) frame(frame string) {
	if class, _, ok := strings.Cut(frame, ".<clinit>("); ok {
		l.held, l.initialises = append(l.held, initialisation+class), true
	}
}
