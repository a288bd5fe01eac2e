package triage

import (
	"regexp"
	"strings"

	"misstep/signature"
)

// Kinds of threads in signatures of crashes.
const (
	javaThread  = "Java"
	vmThread    = "VM thread"
	gcThread    = "GC"
	jfrSampler  = "JFR sampler"
	otherThread = "other"
)

// threadKinds gives the kinds that HotSpot prints in front of a thread's name, in its error file's "Current thread" line
// (runtime/thread.cpp: Thread::print_on_error, and since 17 type_name of each class of threads). Workers of 18 and later are the
// garbage collector's, and so are those of older versions, which are called after their task.
var threadKinds = map[string]string{
	"JavaThread": javaThread, "VMThread": vmThread, "WatcherThread": "watcher", "CompilerThread": "compiler",
	"GCTaskThread": gcThread, "ConcurrentGCThread": gcThread, "WorkerThread": gcThread, "GangWorker": gcThread,
	"JfrThreadSampler": jfrSampler, "JfrSamplerThread": jfrSampler,
	"JfrCPUSamplerThread": "JFR CPU sampler", "JfrCPUTimeThreadSampler": "JFR CPU sampler",
	// Classes of Java threads that have a name of their own in some version.
	"AttachListenerThread": javaThread, "ServiceThread": javaThread, "MonitorDeflationThread": javaThread,
	"NotificationThread": javaThread, "StringDedupThread": javaThread, "JvmtiAgentThread": javaThread,
	"TrainingReplayThread": javaThread, "JfrRecorderThread": javaThread,
}

var (
	threadLineRE = regexp.MustCompile(`^([A-Z]\w+|native thread)(?: "([^"]*)")?`)
	// compilerNameRE matches the names that HotSpot gives its compiler threads (compileBroker.cpp), which are JavaThreads and
	// daemons. A thread of the application is free to have such a name; then it runs Java code when it crashes.
	compilerNameRE = regexp.MustCompile(`^(?:C([12])|JVMCI(?:-native)?) CompilerThread\d+$`)
)

// threadKind returns the kind of the crashed thread from the line about it in an error file. The thread's own name decides nothing
// that its kind decides: an application may call a thread "VM Thread".
func threadKind(line string, native frames) string {
	line = strings.TrimSpace(line)
	m := threadLineRE.FindStringSubmatch(line)
	if m == nil {
		return signature.Unknown
	}
	kind, named := threadKinds[m[1]]
	switch {
	case kind == javaThread:
		if c := compilerNameRE.FindStringSubmatch(m[2]); c != nil && strings.Contains(line, `" daemon`) &&
			!strings.Contains(line, "[_thread_in_Java") {
			return strings.TrimSpace("compiler " + c1or2(c[1]))
		}
	case m[1] == "Thread" && m[2] == "":
		// Up to 20 the sampler of JFR has neither a class that is printed nor a name, like the writer of asynchronous logs.
		if native.has("AsyncLogWriter::") {
			return otherThread
		}
		return jfrSampler
	}
	if named {
		return kind
	}
	return otherThread
}

func c1or2(level string) string {
	if level == "" {
		return ""
	}
	return "C" + level
}

// has reports whether a function of the VM whose name begins so is on the stack.
func (f frames) has(prefix string) bool {
	for _, frame := range f.list {
		if frame.Kind == signature.VMFrame && strings.HasPrefix(frame.FunctionName(), prefix) {
			return true
		}
	}
	return false
}
