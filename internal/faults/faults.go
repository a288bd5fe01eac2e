// Package faults switches the fault injector of agent/test/injector on in a JVM and reads its log: which walks it altered, how, and
// what each check said of them.
package faults

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

// LibraryName is the injector's file name; make agent builds it into build/agent-injector.
const LibraryName = "libmisstep_injector.so"

// Classes of faults, in the injector's order. Those after InvalidCode leave the answer as it is.
const (
	DropTop       = "drop-top"
	DropMiddle    = "drop-middle"
	DropBottom    = "drop-bottom"
	Truncate      = "truncate"
	Duplicate     = "duplicate"
	Swap          = "swap"
	Replace       = "replace"
	UnknownMethod = "unknown-method" // an id that no method has
	WrongBci      = "wrong-bci"
	Stale         = "stale"
	Foreign       = "foreign"
	WrongCode     = "wrong-code"
	InvalidCode   = "invalid-code"
	Delay         = "delay"
	Hang          = "hang"
	Crash         = "crash"
)

// Alterations are the classes that change an answer, which a comparison can see.
var Alterations = []string{DropTop, DropMiddle, DropBottom, Truncate, Duplicate, Swap, Replace, UnknownMethod, WrongBci, Stale, Foreign, WrongCode, InvalidCode}

// Plan says what to inject.
type Plan struct {
	// Classes to draw from; none injects nothing.
	Classes []string
	// Rate is the share of walks that a fault is tried on, 0 to 1.
	Rate float64
	// Seed of all draws.
	Seed uint32
	// Where: "signal" for walks in signal handlers, "entry" for those at method entries, empty for both.
	Where string
	// Method, "package.Class.method", restricts faults to walks through it, and those that have a place to its uppermost frame. Its name is
	// looked up at method entries, so some of those must be walked. Empty for all walks, and a place drawn for each.
	Method string
	// Delay is the length of a delay; 0 leaves the injector's default.
	Delay time.Duration
	// Trials is the share of the JVMs that inject at all, 0 to 1; 0 is all. Which ones, and what they draw, the agent's seed says in place
	// of Seed.
	Trials float64
	// NoThread is the number of the agent's thread, from 1, that cannot be created; 0 for none.
	NoThread int
	// Needs are arguments of the JVM without which nothing is injected; none has a comma.
	Needs []string
}

// Environment gives the variables that switch the injector on in a JVM. library and log are absolute paths.
func (p Plan) Environment(library, log string) []string {
	env := []string{
		"LD_PRELOAD=" + library,
		"MISSTEP_INJECT_LOG=" + log,
		"MISSTEP_INJECT_CLASSES=" + strings.Join(p.Classes, ","),
		"MISSTEP_INJECT_RATE=" + strconv.FormatFloat(p.Rate, 'g', -1, 64),
		"MISSTEP_INJECT_SEED=" + strconv.FormatUint(uint64(p.Seed), 10),
		"MISSTEP_INJECT_WHERE=" + p.Where,
	}
	if p.Method != "" {
		env = append(env, "MISSTEP_INJECT_METHOD="+p.Method)
	}
	if p.Delay > 0 {
		env = append(env, "MISSTEP_INJECT_MICROS="+strconv.FormatInt(p.Delay.Microseconds(), 10))
	}
	if p.Trials > 0 {
		env = append(env, "MISSTEP_INJECT_TRIALS="+strconv.FormatFloat(p.Trials, 'g', -1, 64))
	}
	if p.NoThread > 0 {
		env = append(env, "MISSTEP_INJECT_NO_THREAD="+strconv.Itoa(p.NoThread))
	}
	if len(p.Needs) > 0 {
		env = append(env, "MISSTEP_INJECT_NEEDS="+strings.Join(p.Needs, ","))
	}
	return env
}

// Outcome of a verdict, as agent/native/src/verdict.h numbers them.
type Outcome uint32

// Outcomes.
const (
	Unspecified Outcome = iota
	Match
	Tolerated
	Mismatch
	Unwalkable
	Void
)

// Fault is one walk that was altered.
type Fault struct {
	// Walk is the agent's number of it.
	Walk  uint64
	Class string
	// TID of the thread, and whether it walked at a method entry, not in a signal handler.
	TID     uint32
	AtEntry bool
	// Nanos is CLOCK_MONOTONIC when it was made.
	Nanos uint64
	// Position from the top, and the number of frames (or code) before and after.
	Position, Before, After int32
	// Verdicts by check's name.
	Verdicts map[string]Verdict
}

// Number of the sample or the entry check that the walk was for, as the flight record has it.
func (f Fault) Number() uint64 { return f.Walk &^ (1 << 63) }

// Verdict of one check on a walk that was altered.
type Verdict struct {
	Outcome Outcome
	// Detail names the rule, reason or kind.
	Detail string
	// MethodsChanged: the fault changed the order of methods, not only a byte code index.
	MethodsChanged bool
	// Reach is how many instrumented frames from the top down the change reaches, 0 when those are as they were: a shadow stack
	// can see the change from 1 on, and can tell it from debug information's imprecision when it reaches below the top physical frame.
	Reach int32
	// TopOnly: the fault changed the top physical frame alone, what is inlined in it, or where it stands.
	TopOnly bool
	// InJava: the walk was from a pc in compiled code of a Java method.
	InJava bool
}

// Log is what the injector did in one JVM.
type Log struct {
	// Walks that the agent numbered, faults that were drawn for them and those that could be made.
	Walks, Drawn, Made uint64
	Faults             []*Fault
}

const (
	magic       = 0x3130544c5541464d
	headerSize  = 64
	entrySize   = 112
	mostEntries = 1 << 17
	fileSize    = headerSize + mostEntries*entrySize

	kindFault   = 1
	kindVerdict = 2
)

// ErrLog is wrapped by errors about a file that is no log of the injector.
var ErrLog = errors.New("not a log of the injector")

// Read reads the log at path, of a JVM that runs or has ended in any way.
func Read(path string) (Log, error) {
	f, err := os.Open(path)
	if err != nil {
		return Log{}, fmt.Errorf("read the injector's log: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, fileSize+1))
	if err != nil {
		return Log{}, fmt.Errorf("read the injector's log %s: %w", path, err)
	}
	l, err := Parse(data)
	if err != nil {
		return Log{}, fmt.Errorf("read the injector's log %s: %w", path, err)
	}
	return l, nil
}

// Parse reads a log from its bytes.
func Parse(data []byte) (Log, error) {
	if len(data) != fileSize {
		return Log{}, fmt.Errorf("%w: expected %d bytes, got %d", ErrLog, fileSize, len(data))
	}
	u32 := binary.LittleEndian.Uint32
	u64 := binary.LittleEndian.Uint64
	if u64(data) != magic {
		return Log{}, fmt.Errorf("%w: wrong magic number", ErrLog)
	}
	l := Log{Walks: u64(data[8:]), Drawn: u64(data[16:]), Made: u64(data[24:])}
	byWalk := map[uint64]*Fault{}
	entries := min(u64(data[32:]), mostEntries)
	for i := range entries {
		e := data[headerSize+i*entrySize:][:entrySize]
		walk := u64(e[8:])
		switch u32(e) {
		case kindFault:
			f := &Fault{
				Walk: walk, Class: text(e[48:80]), TID: u32(e[4:]), AtEntry: u32(e[44:]) != 0, Nanos: u64(e[16:]),
				Position: int32(u32(e[24:])), Before: int32(u32(e[28:])), After: int32(u32(e[32:])), Verdicts: map[string]Verdict{},
			}
			byWalk[walk] = f
			l.Faults = append(l.Faults, f)
		case kindVerdict:
			f := byWalk[walk]
			if f == nil {
				return Log{}, fmt.Errorf("%w: entry %d is a verdict on walk %d, which was not altered", ErrLog, i, walk)
			}
			f.Verdicts[text(e[48:80])] = Verdict{
				Outcome: Outcome(u32(e[40:])), Detail: text(e[80:112]), MethodsChanged: u32(e[36:])&1 != 0, TopOnly: u32(e[36:])&2 != 0, InJava: u32(e[36:])&4 != 0, Reach: int32(u32(e[24:])),
			}
		}
	}
	return l, nil
}

func text(field []byte) string {
	if end := bytes.IndexByte(field, 0); end >= 0 {
		field = field[:end]
	}
	return string(bytes.ToValidUTF8(field, []byte("?")))
}
