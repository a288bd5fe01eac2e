// Package faults enables the fault injector of agent/test/injector in a JVM and reads its log: which walks it altered, how, and the
// verdict of each check on them.
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

// LibraryName is the injector's file name; `make agent` builds it into build/agent-injector.
const LibraryName = "libmisstep_injector.so"

// Classes of faults, in the injector's order. Those after InvalidCode do not change the answer.
const (
	DropTop       = "drop-top"
	DropMiddle    = "drop-middle"
	DropBottom    = "drop-bottom"
	Truncate      = "truncate"
	Duplicate     = "duplicate"
	Swap          = "swap"
	Replace       = "replace"
	UnknownMethod = "unknown-method" // a jmethodID that no method has
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
var Alterations = []string{
	DropTop, DropMiddle, DropBottom, Truncate, Duplicate, Swap, Replace, UnknownMethod, WrongBci, Stale, Foreign,
	WrongCode, InvalidCode,
}

// Plan says what to inject.
type Plan struct {
	// Classes to draw from; without any nothing is injected.
	Classes []string
	// Rate is the share of walks for which a fault is attempted, 0 to 1.
	Rate float64
	// Seed of all draws.
	Seed uint32
	// Where is "signal" for walks in signal handlers, "entry" for those at method entries, empty for both.
	Where string
	// Method, "package.Class.method", restricts faults to walks that contain it; faults that have a position act on its uppermost
	// frame. Its name is looked up at method entries, so some walks must be there. Empty means all walks, with positions drawn at
	// random.
	Method string
	// Delay is the length of a delay; 0 means the injector's default.
	Delay time.Duration
	// Trials is the share of JVMs that inject at all, 0 to 1; 0 means all, with draws from Seed. If it is set, the agent's seed
	// decides which JVMs inject and what they draw.
	Trials float64
	// NoThread is the number, from 1, of the agent's thread whose creation fails; 0 means none.
	NoThread int
	// Needs are arguments of the JVM without which nothing is injected. They must not contain commas.
	Needs []string
}

// Environment returns the variables that enable the injector in a JVM. library and log are absolute paths.
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

// Outcome of a verdict, with the numbers of agent/native/src/verdict.h.
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
	// Walk is the agent's number of the walk.
	Walk  uint64
	Class string
	// TID is the kernel's id of the thread. AtEntry reports whether it walked at a method entry rather than in a signal handler.
	TID     uint32
	AtEntry bool
	// Nanos is CLOCK_MONOTONIC at the time of the fault, in nanoseconds.
	Nanos uint64
	// Position from the top, and the number of frames (or the error code) before and after the fault.
	Position, Before, After int32
	// Verdicts by name of the check.
	Verdicts map[string]Verdict
}

// Number returns the number of the sample or entry check that the walk belongs to, as in the flight record.
func (f Fault) Number() uint64 { return f.Walk &^ (1 << 63) }

// Verdict is that of one check on an altered walk.
type Verdict struct {
	Outcome Outcome
	// Detail names the rule, reason or kind.
	Detail string
	// MethodsChanged reports that the fault changed the sequence of methods, not only a bytecode index.
	MethodsChanged bool
	// Reach is the number of instrumented frames, from the top down, that the change reaches; 0 if it left these unchanged. From 1
	// on a shadow stack can reveal the change; it can distinguish it from imprecise debug info if it reaches below the top physical
	// frame.
	Reach int32
	// TopOnly reports that the fault changed only the top physical frame: its inlined methods or its position.
	TopOnly bool
	// InJava reports that the walk started at a pc in compiled code of a Java method.
	InJava bool
}

// Log is what the injector did in one JVM.
type Log struct {
	// Walks that the agent numbered, faults that were drawn for them, and faults that could be made.
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

// ErrLog is wrapped by errors about a file that is not a log of the injector.
var ErrLog = errors.New("not a log of the injector")

// Read reads the log at path, of a JVM that is running or has ended in any way.
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
				Outcome: Outcome(u32(e[40:])), Detail: text(e[80:112]), Reach: int32(u32(e[24:])),
				MethodsChanged: u32(e[36:])&1 != 0, TopOnly: u32(e[36:])&2 != 0, InJava: u32(e[36:])&4 != 0,
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
