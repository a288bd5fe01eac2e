package shadow

import (
	"slices"
	"strings"

	"misstep/agent"
	"misstep/runner/judge/tapped"
)

// Threads that never run Java: those of the JVM's collectors and compilers, and those of native libraries. They have no shadow, and
// need none: their stacks have no frame of Java.

// ownThreads begin the names, of which the kernel keeps fifteen bytes, of the JVM's threads that never run Java. Its compilers may
// where they are written in Java themselves (JVMCI), and so may what an application calls as it likes.
var ownThreads = []string{
	"C1 CompilerThre", "C2 CompilerThre", "GC Thread#", "G1 ", "VM Thread", "VM Periodic Tas", "ParGC Thread#", "Shenandoah",
	"ZDirector", "ZDriver", "ZWorker", "ZUncommitter", "ZStat", "misstep-",
}

// strangers are the threads of which neither the agent nor the recorder has ever heard that they run Java.
type strangers map[uint32]bool

// strangersOf finds them among the threads of the tap's calls and of the samples.
func strangersOf(tap *agent.Tap, events []*tapped.Event) strangers {
	all := strangers{}
	for i := range tap.Calls {
		all[tap.Calls[i].TID] = true
	}
	for i := range tap.Calls {
		if tap.Calls[i].Shadow {
			delete(all, tap.Calls[i].TID)
		}
	}
	for _, e := range events {
		if t := e.Thread; t == nil || t.Java != 0 || t.Virtual || t.Name == "" {
			delete(all, e.TID)
		}
	}
	return all
}

// strange judges a trace of a thread that never ran Java: it has no frame of Java. Where it has some, it is the name of the thread
// that tells whether the trace is wrong, or what is known of the thread.
func strange(s *sample) verdict {
	switch {
	case len(s.stack) == 0:
		return verdict{}
	case slices.ContainsFunc(ownThreads, func(own string) bool { return strings.HasPrefix(s.stranger, own) }):
		return verdict{kind: extra}
	}
	return verdict{void: voidShadow}
}
