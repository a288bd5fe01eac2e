package triagetest

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
)

// Mutation changes what differs from run to run and has nothing to do with the cause.
type Mutation struct {
	Name string
	// Kind of the reports that it changes; empty for both.
	Kind string
	// change returns the text with other values.
	change func(text string, random *rand.Rand) string
}

// Mutations are what a JVM, its program and the system decide anew in each run.
var Mutations = []Mutation{
	{"addresses", "", addresses},
	{"ids of processes and threads", "", ids},
	{"times", "", times},
	{"names of temporary files", KindCrash, libraries},
	{"paths", KindCrash, paths},
	{"thread names", KindCrash, crashedName},
	{"numbers in thread names", KindHang, hungNames},
	{"values", KindCrash, values},
	{"order of threads", KindHang, threadOrder},
	{"number of idle workers", KindHang, idleWorkers},
	{"the list of threads", KindCrash, threadList},
	{"line ends", "", func(text string, _ *rand.Rand) string { return strings.ReplaceAll(text, "\n", "\r\n") }},
}

// Mutate returns the report in the way another run might have left it.
func (m Mutation) Mutate(r Report, random *rand.Rand) Report {
	r.Text = m.change(r.Text, random)
	return r
}

// renamed replaces what matches a pattern, equal texts by equal ones.
func renamed(text string, pattern *regexp.Regexp, other func(old string) string) string {
	seen := map[string]string{}
	return pattern.ReplaceAllStringFunc(text, func(old string) string {
		if _, known := seen[old]; !known {
			seen[old] = other(old)
		}
		return seen[old]
	})
}

var addressRE = regexp.MustCompile(`\b0x0000[0-9a-f]{12}\b`)

// addresses replaces addresses of the heap, of stacks and of code, all above the first megabyte: what is below is an offset into an
// object at null. The order of the bits that tell HotSpot's own apart does not matter to a reader.
func addresses(text string, random *rand.Rand) string {
	used := map[uint64]bool{}
	return renamed(text, addressRE, func(old string) string {
		value, err := strconv.ParseUint(old[2:], 16, 64)
		if err != nil || value < 1<<20 {
			return old
		}
		for {
			other := value&0xfff | (random.Uint64()&(1<<46-1))&^uint64(0xfff) | 1<<44
			if !used[other] {
				used[other] = true
				return fmt.Sprintf("0x%016x", other)
			}
		}
	})
}

var idRE = regexp.MustCompile(`\b(pid=|tid=|id=|nid=|nid = )(\d+|0x[0-9a-f]{1,8})\b|^(\d+):$|\[\d+\]|"(pid|processId)" ?: ?"?\d+`)

// ids replaces ids of processes and threads of the operating system.
func ids(text string, random *rand.Rand) string {
	shift := uint64(1 + random.IntN(30_000))
	number := regexp.MustCompile(`0x[0-9a-f]+|\d+`)
	return idRE.ReplaceAllStringFunc(text, func(old string) string {
		if strings.HasPrefix(old, "[") && len(old) < 5 { // an index, no thread's id
			return old
		}
		return number.ReplaceAllStringFunc(old, func(digits string) string {
			value, err := strconv.ParseUint(digits, 0, 64)
			switch {
			case err != nil || value == 0:
				return digits
			case strings.HasPrefix(digits, "0x"):
				return fmt.Sprintf("0x%x", value+shift)
			}
			return fmt.Sprint(value + shift)
		})
	})
}

var (
	timeRE   = regexp.MustCompile(`\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+Z)?`)
	passedRE = regexp.MustCompile(`\b(cpu|elapsed)=[0-9.]+(ms|s)`)
	clockRE  = regexp.MustCompile(`(?m)^(Time:|time:|elapsed time:) .*$`)
)

// times replaces dates and durations.
func times(text string, random *rand.Rand) string {
	date := fmt.Sprintf("2031-%02d-%02d", 1+random.IntN(12), 1+random.IntN(28))
	text = timeRE.ReplaceAllStringFunc(text, func(old string) string { return date + old[10:] })
	text = passedRE.ReplaceAllString(text, fmt.Sprintf("${1}=%d.%02d${2}", random.IntN(5000), random.IntN(100)))
	return clockRE.ReplaceAllString(text, fmt.Sprintf("${1} %d seconds (0d 0h 0m 7s)", random.IntN(5000)))
}

var (
	libraryRE = regexp.MustCompile(`\b[\w.-]*vault[\w.-]*\.(?:so|tmp)\b`)
	uuidRE    = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	hashRE    = regexp.MustCompile(`[0-9a-f]{16}`)
	digitsRE  = regexp.MustCompile(`(x86_64)?\d{9,}`)
)

// libraries replaces what a program made up when it unpacked its library.
func libraries(text string, random *rand.Rand) string {
	return renamed(text, libraryRE, func(old string) string { return fresh(old, random) })
}

// fresh replaces UUIDs, hashes and long numbers in a name.
func fresh(name string, random *rand.Rand) string {
	hex := func(n int) string { return fmt.Sprintf("%016x%016x", random.Uint64(), random.Uint64())[:n] }
	switch {
	case uuidRE.MatchString(name):
		return uuidRE.ReplaceAllString(name, hex(8)+"-"+hex(4)+"-"+hex(4)+"-"+hex(4)+"-"+hex(12))
	case hashRE.MatchString(name) && strings.ContainsAny(hashRE.FindString(name), "abcdef"):
		return hashRE.ReplaceAllString(name, "1"+hex(14)+"f")
	}
	return digitsRE.ReplaceAllString(name, fmt.Sprintf("${1}%d", random.Uint64()|1<<62))
}

var pathRE = regexp.MustCompile(`/(tmp|opt/app|opt/jdk)/`)

func paths(text string, random *rand.Rand) string {
	return pathRE.ReplaceAllString(text, fmt.Sprintf("/srv/run-%d/$1/", random.IntN(1000)))
}

// crashedNames are what a program may call its threads: some have the words with which HotSpot names its own.
var crashedNames = []string{
	"main", "worker-%d", "WorkerThread-%d", "VM Thread helper %d", "C2 CompilerThread%d of ours", "G1 Conc#%d",
	"JFR Thread Sampler", "WatcherThread", "GC Thread#%d", "x] [id=%d", "ends in \" quote %d", "Überwachung", "",
}

var crashedNameRE = regexp.MustCompile(`(?m)^(Current thread \(0x[0-9a-f]+\): +JavaThread ").*?("(?: daemon)? \[_thread)`)

// ownThreadRE matches the thread's line if it is one of the VM's own Java threads.
var ownThreadRE = regexp.MustCompile(
	`(?m)^Current thread .*"(Reference Handler|Finalizer|Signal Dispatcher|C\d CompilerThread\d+)" daemon`)

func crashedName(text string, random *rand.Rand) string {
	if ownThreadRE.MatchString(text) {
		return text
	}
	name := crashedNames[random.IntN(len(crashedNames))]
	if strings.Contains(name, "%d") {
		name = fmt.Sprintf(name, random.IntN(1000))
	}
	name = strings.ReplaceAll(name, "$", "$$")
	return crashedNameRE.ReplaceAllString(text, "${1}"+name+"${2}")
}

var valueRE = regexp.MustCompile(`(?m)(si_addr: |si_pid: |si_uid: |sp=|free space=|error=|count=)(0x[0-9a-f]+|\d+)`)

// values replaces values that messages contain.
func values(text string, random *rand.Rand) string {
	return valueRE.ReplaceAllStringFunc(text, func(old string) string {
		at := strings.LastIndexAny(old, " =") + 1
		if strings.HasPrefix(old[at:], "0x") {
			return old[:at] + fmt.Sprintf("0x%016x", random.Uint64()&(1<<47-1))
		}
		return old[:at] + fmt.Sprint(random.IntN(2000))
	})
}

var listedRE = regexp.MustCompile(`(?m)^(=>|  )0x[0-9a-f]+ \w+ .*\n`)

// threadList removes other threads from an error file's list.
func threadList(text string, random *rand.Rand) string {
	return listedRE.ReplaceAllStringFunc(text, func(line string) string {
		if strings.HasPrefix(line, "=>") || random.IntN(3) > 0 {
			return line
		}
		return ""
	})
}
