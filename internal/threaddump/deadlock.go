package threaddump

import (
	"hash/maphash"
	"regexp"
	"slices"
	"strings"
)

// deadlockSection reads what the JVM says about deadlocks, below the threads: for each the threads by name, in an order in which
// each waits for the next one and the last one for the first, then their stacks again.
//
//	"worker":
//	  waiting to lock monitor 0x00007f17 (object 0x00000000fc0dd0f0, a java.lang.Object),
//	  which is held by "worker"
//	"jni-0":
//	  waiting to lock monitor 0x00007fc4 (object 0x00000000fc0dd488, a java.lang.Object)
//	  in JNI, which is held by "jni-1"
type deadlockSection struct {
	active bool
	stacks bool
	cycles [][]deadlocked
	at     int    // index of the current thread in the last cycle
	name   string // beginning of a name with line breaks, with its quote
	listed int    // threads in all cycles
}

// deadlocked is one thread of a deadlock, as the JVM lists it.
type deadlocked struct {
	name, object, class string
	holder              string // the first line of its name with the quotes, or UNKNOWN_owner_addr=…
	lines               uint64 // digest of the lines of its stack
	stack               []string
}

var (
	pendingMonitor = regexp.MustCompile(`^waiting to lock (?:monitor |Monitor@).*\((?:object |Object@)(0x[0-9a-fA-F]+), an? (\S+)\),?$`)
	pendingOwnable = regexp.MustCompile(`^waiting for ownable synchronizer (0x[0-9a-fA-F]+), \(an? (\S+)\),?$`)
	foundDeadlocks = regexp.MustCompile(`^Found (?:a total of )?\d+ `)
)

const (
	heldBy       = "which is held by "
	mostListed   = 1024 // threads in deadlocks
	mostLines    = 256  // lines of a listed stack
	mostHeld     = 64   // locks of a thread among which one is looked for
	unknownOwner = "UNKNOWN_"
	rawMonitor   = "JVM TI raw monitor"
)

func (s *deadlockSection) begin() {
	s.active, s.stacks, s.name, s.at = true, false, "", -1
	if n := len(s.cycles); n == 0 || len(s.cycles[n-1]) > 0 {
		s.cycles = append(s.cycles, nil)
	}
}

// read reads a line of the section and reports whether it was one.
func (s *deadlockSection) read(line, trimmed string) bool {
	if line == "Heap" || foundDeadlocks.MatchString(line) {
		s.active = false
		return true
	}
	cycle := &s.cycles[len(s.cycles)-1]
	switch {
	case strings.HasPrefix(line, stacksTitle):
		s.stacks, s.at = true, -1
	case s.name != "" || strings.HasPrefix(line, `"`):
		s.readName(line)
	case s.at < 0 || s.at >= len(*cycle):
	case s.stacks:
		if d := &(*cycle)[s.at]; trimmed != "" {
			d.lines = digest(d.lines, trimmed)
			if len(d.stack) < mostLines {
				d.stack = append(d.stack, trimmed)
			}
		}
	default:
		(*cycle)[s.at].wait(trimmed)
	}
	return true
}

// readName reads the name that begins what follows about a thread.
func (s *deadlockSection) readName(line string) {
	if s.name != "" {
		line = s.name + "\n" + line
	}
	name, ended := strings.CutSuffix(line, `":`)
	s.name = ""
	switch {
	case !ended && len(line) < maxLine:
		s.name = line
		return
	case !ended:
		return
	}
	s.at++
	cycle := &s.cycles[len(s.cycles)-1]
	if !s.stacks && s.listed < mostListed {
		s.listed++
		*cycle = append(*cycle, deadlocked{name: bounded(strings.TrimPrefix(name, `"`))})
	}
}

// list adds the listed threads to a dump that lacks them: the section alone was copied, or the dump ends early.
func (s *deadlockSection) list(d *Dump) {
	names := map[string]bool{}
	for _, t := range d.Threads {
		names[t.Name] = true
	}
	for _, cycle := range s.cycles {
		for _, listed := range cycle {
			if names[listed.name] {
				continue
			}
			d.EndsEarly = d.EndsEarly || len(names) > 0
			t := Thread{Name: listed.name, HeldBy: -1}
			for _, line := range listed.stack {
				t.read(line)
			}
			d.Threads = append(d.Threads, t)
		}
	}
}

func (d *deadlocked) wait(line string) {
	for _, re := range []*regexp.Regexp{pendingMonitor, pendingOwnable} {
		if m := re.FindStringSubmatch(line); m != nil {
			d.object, d.class = m[1], strings.ReplaceAll(m[2], "/", ".") // the agent prints names of the class file
		}
	}
	if strings.HasPrefix(line, "waiting to lock "+rawMonitor) {
		d.class = rawMonitor
	}
	if _, holder, ok := strings.Cut(line, heldBy); ok {
		d.holder = holder
	}
}

// resolve finds the listed threads among those of the dump and says whom they wait for. first says that the section came before
// the threads.
func (s *deadlockSection) resolve(d *Dump, first bool) {
	d.EndsEarly = d.EndsEarly || s.active && len(d.Threads) > 0
	if first || len(d.Threads) == 0 {
		s.list(d)
	}
	byName := map[string][]int{}
	for i, t := range d.Threads {
		byName[t.Name] = append(byName[t.Name], i)
	}
	used := map[int]bool{}
	for _, cycle := range s.cycles {
		indices := make([]int, len(cycle))
		for i, listed := range cycle {
			before := cycle[(i+len(cycle)-1)%len(cycle)]
			indices[i] = listed.find(d, byName[listed.name], used, before.object)
			used[indices[i]] = true
		}
		for i, listed := range cycle {
			if indices[i] < 0 || listed.holder == "" || strings.HasPrefix(listed.holder, unknownOwner) {
				continue
			}
			next := (i + 1) % len(cycle)
			first, _, _ := strings.Cut(cycle[next].name, "\n")
			t := &d.Threads[indices[i]]
			t.WaitsFor = listed.class
			switch same := byName[strings.Trim(listed.holder, `"`)]; {
			case indices[next] != indices[i] && strings.HasPrefix(listed.holder, `"`+first):
				t.HeldBy = indices[next]
			case len(same) == 1 && same[0] != indices[i]: // the list ends early
				t.HeldBy = same[0]
			}
		}
	}
}

// find returns which of the threads with its name is the listed one: the one with the same stack, locks included; else the one that
// waits for the same object and holds the one that the thread before it waits for. It returns -1 if none is.
func (d *deadlocked) find(dump *Dump, same []int, used map[int]bool, before string) int {
	best, most := -1, 0
	for _, i := range same {
		t := &dump.Threads[i]
		score := 0
		if len(same) == 1 {
			score = 1
		}
		if t.locks.wants != "" && t.locks.wants == d.object {
			score += 2
		}
		if slices.Contains(t.locks.held[:min(len(t.locks.held), mostHeld)], before) {
			score += 2
		}
		if d.lines != 0 && d.lines == t.lines {
			score += 8
		}
		if score > most && !used[i] {
			best, most = i, score
		}
	}
	return best
}

// linkLocks says whom the other threads wait for, by the locks that they hold and wait for, and whether that is a deadlock.
func (d *Dump) linkLocks() {
	const several = -2
	holders := map[string]int{}
	for i, t := range d.Threads {
		for _, object := range t.locks.held {
			if h, ok := holders[object]; ok && h != i {
				holders[object] = several
			} else {
				holders[object] = i
			}
		}
	}
	for i := range d.Threads {
		t := &d.Threads[i]
		if h, ok := holders[t.locks.wants]; ok && h >= 0 && h != i && t.HeldBy < 0 {
			t.WaitsFor, t.HeldBy = t.locks.wantClass, h
		}
	}
	d.linkClasses()
	d.linkSuperclasses()
	if !d.Deadlock {
		d.Deadlock = d.cyclic()
	}
}

// linkClasses says whom the threads wait for that wait for the initialisation of a class that the dump does not name: for the only
// other thread that initialises any.
func (d *Dump) linkClasses() {
	var initialise []int
	for i, t := range d.Threads {
		if t.locks.initialises {
			initialise = append(initialise, i)
		}
	}
	for i := range d.Threads {
		t := &d.Threads[i]
		if !t.locks.waitsForClass || t.locks.wants != "" || t.HeldBy >= 0 || len(initialise) > 2 {
			continue
		}
		others := slices.DeleteFunc(slices.Clone(initialise), func(other int) bool { return other == i })
		if len(others) == 1 {
			t.WaitsFor, t.HeldBy = ClassOfClasses, others[0]
		}
	}
}

// cyclic reports whether threads wait for each other. Each waits for one other at most, so a path that does not end meets itself.
func (d *Dump) cyclic() bool {
	const onPath, done = 1, 2
	state := make([]int, len(d.Threads))
	for i := range d.Threads {
		at := i
		for at >= 0 && state[at] == 0 {
			state[at] = onPath
			at = d.Threads[at].HeldBy
		}
		if at >= 0 && state[at] == onPath {
			return true
		}
		for at = i; at >= 0 && state[at] == onPath; at = d.Threads[at].HeldBy {
			state[at] = done
		}
	}
	return false
}

var seed = maphash.MakeSeed()

// digest adds a line to the digest of the lines before it.
func digest(before uint64, line string) uint64 {
	return (before*31 + maphash.String(seed, line)) | 1
}
