// Package threaddump reads the thread dumps of HotSpot: the text that a JVM prints on SIGQUIT and by jstack or jcmd Thread.print,
// in JDK 8 to 28 on all platforms, and what jcmd Thread.dump_to_file writes, as text or JSON, which alone has unmounted
// virtual threads.
//
// The layouts are those of HotSpot's src/hotspot/share/runtime: thread.cpp and javaThread.cpp (print_on),
// osThread.cpp, vframe.cpp (print_lock_info_on) and services/threadService.cpp (DeadlockCycle::print_on_with), and of
// jdk.internal.vm.ThreadDumper. A dump may end anywhere; what is missing stays empty.
package threaddump

import (
	"bytes"
	"errors"
	"fmt"
)

// Bounds of what is read and kept.
const (
	// MaxThreads of a dump, the first ones.
	MaxThreads = 2048
	// MaxFrames of a stack, the top ones.
	MaxFrames = 64
	maxBytes  = 64 << 20 // bytes of a dump
	maxLine   = 4096     // bytes of a line, and of a name that has several
	maxName   = 512      // bytes of a name that is kept
)

// ErrNotDump means that the input is not a thread dump of HotSpot.
var ErrNotDump = errors.New("not a thread dump of HotSpot")

// Dump is the content of a thread dump.
type Dump struct {
	// Threads in the order of the dump, at most MaxThreads.
	Threads []Thread
	// Deadlock reports that threads wait for each other: the JVM says so, or it follows from who waits for which lock and who
	// holds it. In a dump that ends early the JVM's word may lack the names.
	Deadlock bool
	// EndsEarly reports that the dump lacks its end, and so perhaps the threads that matter. The text of Thread.dump_to_file and of
	// the serviceability agent has no last line: there a line that ends early shows it, and threads of a deadlock that are missing.
	EndsEarly bool

	// carrierPools has the pool of each carrier that is not among the threads, since its virtual thread is; namesCarriers reports
	// that the dump says which virtual threads have one.
	carrierPools  []string
	namesCarriers bool
	// listsVirtual reports that all virtual threads are among the threads.
	listsVirtual bool
}

// Thread is one thread of a dump.
type Thread struct {
	// Name of the thread; it may be empty, contain quotes and line breaks, and be that of other threads as well.
	Name string
	// ID is Java's number of the thread (Thread.threadId), unique among platform and virtual threads; 0 if the dump lacks it.
	ID int64
	// TID is the operating system's id; 0 for an unmounted virtual thread, and where the dump lacks it.
	TID int64
	// State of the thread as the dump names it, "BLOCKED (on object monitor)".
	State string
	// Frames, top first, without "at " and without locks: "java.lang.Thread.sleep(java.base@17.0.15/Native Method)". Those of
	// the virtual thread where a carrier's dump has them.
	Frames []string
	// Virtual reports that Frames are those of a virtual thread, or that it carries one whose frames are not known.
	Virtual bool
	// Carries is the ID of the virtual thread that a carrier runs, 0 for none.
	Carries int64
	// WaitsFor is the class of the lock that it waits for, if another thread holds it; HeldBy is that thread's index in Threads,
	// -1 for none.
	WaitsFor string
	HeldBy   int

	locks locks
	lines uint64 // digest of the lines of its stack
	// printsMounted reports that the text has the frames of the mounted virtual thread.
	printsMounted bool
	// mounted reports that the dump names a virtual thread's carrier.
	mounted bool
}

// locks are the objects that a thread holds and waits for, by their text in the dump.
type locks struct {
	held        []string
	wants       string // "" for none
	wantClass   string
	released    string // by Object.wait()
	unknownWait bool   // Object.wait() released a monitor of unknown address, that of the next line
	// initialises reports that it has a class initialiser on its stack; waitsForClass that it waits for another thread's, which
	// JDK 8 and 11 show by a state only: "in Object.wait()", yet RUNNABLE.
	initialises, waitsForClass bool
}

// Parse reads the last thread dump in a log, or what Thread.dump_to_file wrote. It wraps ErrNotDump if there is none. Its time
// and memory are linear in the size of the text.
func Parse(text []byte) (*Dump, error) {
	if len(text) > maxBytes {
		return nil, fmt.Errorf("thread dump has %d bytes, at most %d are read: cut out the last dump", len(text), maxBytes)
	}
	var d *Dump
	var err error
	switch trimmed := bytes.TrimLeft(text, "\ufeff \t\r\n"); {
	case bytes.HasPrefix(trimmed, []byte("{")):
		d, err = parseJSON(trimmed)
	case isPlain(text):
		d, err = parsePlain(text)
	default:
		d, err = parseText(text)
	}
	if err != nil {
		return nil, err
	}
	d.linkLocks()
	return d, nil
}
