package schedule

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"time"
)

// RecordKind is the kind of a record.
type RecordKind uint16

// Kinds of records.
const (
	RecordUnspecified RecordKind = iota
	// RecordThread introduces a thread: Path, Parent, Counter (its ordinal among the parent's children), TID, Comm.
	RecordThread
	// RecordDecision is one decision of a thread.
	RecordDecision
	// RecordEnd closes a log: Delay is the number of decisions taken, Slice of records lost.
	RecordEnd
	// RecordRun is a stretch of time in which a thread had a CPU, from Elapsed on: Delay is its length, Slice how long the thread
	// had waited for a CPU, Rank the path of the thread that had woken it (0: a timer, or no thread of the tree), Counter the
	// number of its decisions so far, Event an Ending.
	RecordRun
)

// Ending is how a run of a thread ended.
type Ending uint16

// Endings.
const (
	EndingUnspecified Ending = iota
	EndingBlocked
	EndingSlice
	EndingOvertaken
	EndingExited
)

func (e Ending) String() string {
	return name(int(e), "unspecified", "blocked", "end of slice", "overtaken", "exited")
}

// Event is the event at which a thread's decision was taken.
type Event uint16

// Events.
const (
	EventUnspecified Event = iota
	EventStart
	EventWakeup
	EventExpiry
)

func (e Event) String() string {
	return name(int(e), "unspecified", "start", "wake-up", "end of slice")
}

// Role is the role of a thread in a JVM.
type Role uint16

// RoleUnspecified is the role of no thread; RoleMutator is that of every thread without a special name.
const (
	RoleUnspecified Role = iota
	RoleSampler
	RoleVM
	RoleGC
	RoleCompiler
	RoleMutator
)

// RoleNames is indexed by role.
var RoleNames = []string{"unspecified", "sampler", "vm", "gc", "compiler", "mutator"}

func (r Role) String() string { return name(int(r), RoleNames...) }

func name(i int, names ...string) string {
	if i >= 0 && i < len(names) {
		return names[i]
	}
	return fmt.Sprintf("unknown(%d)", i)
}

// Mark tells how a decision was made; marks are or-ed.
type Mark uint16

// Marks.
const (
	MarkDelayed Mark = 1 << iota
	MarkStarved
	MarkShort
	MarkChanged
	MarkReplayed
	MarkDeparted
	MarkPlaced
	MarkAway
)

func (m Mark) String() string {
	var set []string
	for i, text := range []string{
		"delayed", "starved", "short slice", "priority changed", "replayed", "departed", "at its place", "away",
	} {
		if m&(1<<i) != 0 {
			set = append(set, text)
		}
	}
	return strings.Join(set, ", ")
}

// Record is one entry of a log.
type Record struct {
	Kind RecordKind
	// Elapsed is the time since the tree's first thread was created.
	Elapsed time.Duration
	// Path is the path of creation, which identifies the thread in every run.
	Path uint64
	// Delay is the time before the thread may run, in nanoseconds; for RecordThread it is the parent's path.
	Delay uint64
	// Slice in nanoseconds.
	Slice uint64
	// Rank: threads that become ready up to this many nanoseconds later may pass the thread.
	Rank uint64
	// Place is the address of the user instruction before which the thread lost its CPU; 0 if it did not, or was not in user code.
	Place uint64
	// Counter is the index of the decision among the thread's decisions, from 0.
	Counter uint32
	TID     uint32
	Event   Event
	Role    Role
	Marks   Mark
	// Comm is the thread's name in the kernel.
	Comm string
}

// Append appends the record in the format of a log, RecordSize bytes, to b.
func (r Record) Append(b []byte) []byte {
	le := binary.LittleEndian
	b = le.AppendUint64(b, uint64(r.Elapsed))
	b = le.AppendUint64(b, r.Path)
	b = le.AppendUint64(b, r.Delay)
	b = le.AppendUint64(b, r.Slice)
	b = le.AppendUint64(b, r.Rank)
	b = le.AppendUint64(b, r.Place)
	b = le.AppendUint32(b, r.Counter)
	b = le.AppendUint32(b, r.TID)
	b = le.AppendUint16(b, uint16(r.Kind))
	b = le.AppendUint16(b, uint16(r.Event))
	b = le.AppendUint16(b, uint16(r.Role))
	b = le.AppendUint16(b, uint16(r.Marks))
	var comm [16]byte
	copy(comm[:15], r.Comm)
	return append(b, comm[:]...)
}

// ParseRecord parses the first RecordSize bytes of b, which must not be shorter.
func ParseRecord(b []byte) Record {
	le := binary.LittleEndian
	comm, _, _ := bytes.Cut(b[64:80], []byte{0})
	return Record{
		Elapsed: time.Duration(le.Uint64(b)), Path: le.Uint64(b[8:]), Delay: le.Uint64(b[16:]), Slice: le.Uint64(b[24:]),
		Rank: le.Uint64(b[32:]), Place: le.Uint64(b[40:]), Counter: le.Uint32(b[48:]), TID: le.Uint32(b[52:]),
		Kind: RecordKind(le.Uint16(b[56:])), Event: Event(le.Uint16(b[58:])), Role: Role(le.Uint16(b[60:])),
		Marks: Mark(le.Uint16(b[62:])),
		Comm:  string(comm[:min(len(comm), 15)]),
	}
}
