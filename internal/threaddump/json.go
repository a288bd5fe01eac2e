package threaddump

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// jsonDump is the text of Thread.dump_to_file -format=json. The first version, of JDK 21 to 26, has all numbers as strings, and
// states and locks from 25 on. The second one, from 27 on, has formatVersion and numbers.
type jsonDump struct {
	ThreadDump *struct {
		Containers list[jsonContainer] `json:"threadContainers"`
	} `json:"threadDump"`
}

type jsonContainer struct {
	Threads list[jsonThread] `json:"threads"`
}

type jsonThread struct {
	ID          jsonID       `json:"tid"`
	Name        string       `json:"name"`
	State       string       `json:"state"`
	Virtual     bool         `json:"virtual"`
	Carrier     jsonID       `json:"carrier"` // from 25 on
	Stack       list[string] `json:"stack"`
	BlockedOn   string       `json:"blockedOn"` // CLASS@HASH, as other objects
	ParkBlocker struct {
		Object string `json:"object"`
		Owner  jsonID `json:"owner"`
	} `json:"parkBlocker"`
	MonitorsOwned list[struct {
		Locks list[string] `json:"locks"` // null for an eliminated one
	}] `json:"monitorsOwned"`
}

// jsonID is a thread's number, in quotes or without.
type jsonID int64

// UnmarshalJSON implements json.Unmarshaler. What is not a number is no thread.
func (id *jsonID) UnmarshalJSON(text []byte) error {
	*id = jsonID(number(strings.Trim(string(text), `"`)))
	return nil
}

// mostElements bounds the elements of an array that are read.
const mostElements = 1 << 17

// list is an array of which the first mostElements are kept.
type list[T any] []T

// UnmarshalJSON implements json.Unmarshaler.
func (l *list[T]) UnmarshalJSON(text []byte) error {
	in := json.NewDecoder(bytes.NewReader(text))
	if t, err := in.Token(); err != nil || t != json.Delim('[') {
		return err // null
	}
	for in.More() && len(*l) < mostElements {
		var element T
		if err := in.Decode(&element); err != nil {
			return err
		}
		*l = append(*l, element)
	}
	return nil
}

// threadDepth is how many objects and arrays a thread is in: the whole, threadDump, threadContainers, a container, threads.
const threadDepth = 5

// completed returns a dump that ends early up to its last whole thread, with the ends that it lacks.
func completed(text []byte) []byte {
	in := json.NewDecoder(bytes.NewReader(text))
	var open, missing []byte // the ends of what is open: now, and behind the last whole thread
	end := int64(0)
	for {
		switch t, err := in.Token(); {
		case err != nil:
			slices.Reverse(missing)
			return append(text[:end:end], missing...)
		case t == json.Delim('{'):
			open = append(open, '}')
		case t == json.Delim('['):
			open = append(open, ']')
		case t == json.Delim('}') || t == json.Delim(']'):
			open = open[:len(open)-1]
			if len(open) == threadDepth && t == json.Delim('}') {
				end, missing = in.InputOffset(), slices.Clone(open)
			}
		}
	}
}

func parseJSON(text []byte) (*Dump, error) {
	var read jsonDump
	d := &Dump{listsVirtual: true}
	err := json.NewDecoder(bytes.NewReader(text)).Decode(&read)
	if _, follows := errors.AsType[*json.SyntaxError](err); follows || errors.Is(err, io.ErrUnexpectedEOF) {
		if whole := completed(text); len(whole) > 0 {
			d.EndsEarly = true
			err = json.Unmarshal(whole, &read)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read thread dump: %w: %w", ErrNotDump, err)
	}
	if read.ThreadDump == nil {
		return nil, fmt.Errorf("read thread dump: %w: the JSON lacks \"threadDump\"", ErrNotDump)
	}
	alike := map[uint64]int{}
	owners := map[int]int64{} // of java.util.concurrent's locks, by the index of the waiting thread
	for _, container := range read.ThreadDump.Containers {
		virtual := false
		for _, t := range container.Threads {
			// A container lists its virtual threads last (jdk.internal.vm.ThreadContainers). Before 25 one that has not run has
			// neither a stack nor a word that it is virtual.
			t.Virtual = t.isVirtual() || virtual && len(t.Stack) == 0
			virtual = virtual || t.Virtual
			if len(d.Threads) >= MaxThreads {
				break
			}
			if slices.ContainsFunc(t.Stack, carrying) {
				d.carrierPools = append(d.carrierPools, poolOf(t.Name))
				continue // the virtual thread is listed as well
			}
			d.namesCarriers = d.namesCarriers || t.Carrier != 0
			if t.isOneOfMany(alike) {
				continue
			}
			if t.ParkBlocker.Owner != 0 {
				owners[len(d.Threads)] = int64(t.ParkBlocker.Owner)
			}
			d.Threads = append(d.Threads, t.thread())
		}
	}
	indices := map[int64]int{}
	for i, t := range d.Threads {
		indices[t.ID] = i
	}
	for waiter, id := range owners {
		if i, ok := indices[id]; ok && i != waiter {
			d.Threads[waiter].HeldBy, d.Threads[waiter].WaitsFor = i, d.Threads[waiter].locks.wantClass
		}
	}
	return d, nil
}

// carrying reports whether a frame is one of a carrier below its virtual thread.
func carrying(frame string) bool {
	return strings.Contains(frame, "java.lang.VirtualThread.runContinuation(")
}

// mostAlike is how many threads with one stack are kept: there may be a million virtual ones.
const mostAlike = 32

// isOneOfMany counts the threads with one stack that hold nothing and wait for nobody, and reports whether there are enough.
func (t *jsonThread) isOneOfMany(alike map[uint64]int) bool {
	if len(t.MonitorsOwned) > 0 || t.BlockedOn != "" || t.ParkBlocker.Owner != 0 {
		return false
	}
	var stack uint64
	for _, f := range t.Stack {
		stack = digest(stack, f)
	}
	alike[stack]++
	return alike[stack] > mostAlike
}

// isVirtual reports whether a thread says that it is virtual; in 21 to 24 only its stack does.
func (t *jsonThread) isVirtual() bool {
	return t.Virtual || slices.ContainsFunc(t.Stack, func(f string) bool { return strings.Contains(f, virtualBottom) })
}

// thread converts a thread.
func (t *jsonThread) thread() Thread {
	thread := Thread{
		Name: bounded(t.Name), ID: int64(t.ID), State: t.State, Virtual: t.Virtual, HeldBy: -1, mounted: t.Carrier != 0,
	}
	thread.Frames = t.Stack[:min(len(t.Stack), MaxFrames)]
	for _, frame := range thread.Frames {
		method, _, _ := strings.Cut(frame, "(")
		thread.locks.frame(frame[strings.LastIndexByte(method, '/')+1:]) // without the module
	}
	for _, owned := range t.MonitorsOwned {
		for _, object := range owned.Locks {
			if object != "" {
				thread.locks.held = append(thread.locks.held, object)
			}
		}
	}
	if thread.locks.wants = t.BlockedOn; thread.locks.wants == "" {
		thread.locks.wants = t.ParkBlocker.Object
	}
	thread.locks.wantClass, _, _ = strings.Cut(thread.locks.wants, "@")
	return thread
}

// Same reports whether another dump, of Thread.dump_to_file, is of the same JVM: most threads that have a number in both have the
// same name, and they are not few.
func (d *Dump) Same(other *Dump) bool {
	names := map[int64]string{}
	for _, t := range other.Threads {
		if t.ID != 0 && !t.Virtual {
			names[t.ID] = t.Name
		}
	}
	const few, most = 4, 0.8
	both, same := 0, 0
	for _, t := range d.Threads {
		if name, ok := names[t.ID]; ok && t.ID != 0 {
			both++
			if name == t.Name {
				same++
			}
		}
	}
	return both >= few && float64(same) >= most*float64(max(both, len(names)))
}

// Merge adds what a dump of Thread.dump_to_file has beyond that of Thread.print of the same JVM (Same): unmounted virtual threads,
// the frames of mounted ones where the text lacks them, and who waits for whom.
func (d *Dump) Merge(other *Dump) {
	indices, carriers := map[int64]int{}, map[int64]int{}
	for i, t := range d.Threads {
		indices[t.ID] = i
		if t.Carries != 0 {
			carriers[t.Carries] = i
		}
	}
	at := make([]int, len(other.Threads)) // where each is in d, -1 for nowhere
	for i, t := range other.Threads {
		known, ok := indices[t.ID]
		carrier, mounted := carriers[t.ID]
		switch {
		case ok && t.ID != 0:
			at[i] = known
		case mounted:
			at[i] = carrier
			if on := &d.Threads[carrier]; !on.printsMounted {
				on.Frames = t.Frames
				if on.locks.initialises = t.locks.initialises; on.locks.initialises {
					on.locks.held = append(on.locks.held, t.locks.held...)
				}
			}
		// Thread.print lists all others. Up to 24, JSON does not say that a thread is virtual which has not begun.
		case (t.Virtual || len(t.Frames) == 0 && t.State == "") && len(d.Threads) < MaxThreads:
			at[i] = len(d.Threads)
			t.Virtual, t.HeldBy = true, -1
			d.Threads = append(d.Threads, t)
		default:
			at[i] = -1
		}
	}
	for i, t := range other.Threads {
		if t.HeldBy >= 0 && at[i] >= 0 && at[t.HeldBy] >= 0 && d.Threads[at[i]].HeldBy < 0 {
			d.Threads[at[i]].HeldBy, d.Threads[at[i]].WaitsFor = at[t.HeldBy], t.WaitsFor
		}
	}
	d.namesCarriers, d.listsVirtual = d.namesCarriers || other.namesCarriers, d.listsVirtual || other.listsVirtual
	d.linkLocks()
	d.EndsEarly = d.EndsEarly || other.EndsEarly
}
