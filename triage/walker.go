package triage

import (
	"cmp"
	"slices"
	"strings"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/signature"
)

// walkerEnds begin the names of the functions with which a walk of a stack begins, by kind of walker. HotSpot calls most of them
// through a pointer, a virtual function or from another file, so that no compiler inlines them. A handshake or a VM operation walks
// another thread's stack.
var walkerEnds = []string{
	"AsyncGetCallTrace", "collector_func_load",
	// JVMTI's and its closures' (prims/jvmtiEnvBase.hpp): VM operations on 8 and 11, handshakes since 12.
	"JvmtiEnv::GetStackTrace", "jvmti_GetStackTrace", "JvmtiEnv::GetAllStackTraces", "JvmtiEnv::GetThreadListStackTraces",
	"jvmti_GetAllStackTraces", "jvmti_GetThreadListStackTraces",
	"GetStackTraceClosure::", "GetSingleStackTraceClosure::", "VirtualThreadGetStackTraceClosure::",
	"MultipleStackTracesCollector::",
	"VM_GetStackTrace::", "VM_GetMultipleStackTraces::", "VM_GetAllStackTraces::", "VM_GetThreadListStackTraces::",
	"VM_VirtualThreadGetStackTrace::",
	"GetFrameCountClosure::", "GetFrameLocationClosure::", "GetCurrentLocationClosure::", "GetOwnedMonitorInfoClosure::",
	"GetCurrentContendedMonitorClosure::", "VirtualThreadGetFrameCountClosure::", "VirtualThreadGetFrameLocationClosure::",
	"VirtualThreadGetOwnedMonitorInfoClosure::",
	"VM_GetFrameCount::", "VM_GetFrameLocation::", "VM_GetCurrentLocation::", "VM_GetOwnedMonitorInfo::",
	"VM_GetCurrentContendedMonitor::", "VM_VirtualThreadGetFrameCount::", "VM_VirtualThreadGetCurrentLocation::",
	// Thread.getStackTrace since 19 and its closures, thread dumps (services/threadService.cpp).
	"java_lang_Thread::async_get_stack_trace", "GetStackTraceHandshakeClosure::", "GetThreadSnapshotClosure::",
	"GetThreadSnapshotHandshakeClosure::", "VM_ThreadDump::", "VM_PrintThreads::", "JavaThread::print_stack_on",
	// The samplers of JFR (jfr/periodic/sampling): up to 24 their thread walks the suspended one, since 25 that one walks itself.
	"JfrThreadSampler::task_stacktrace", "JfrThreadSampleClosure::", "OSThreadSampler", "JfrNativeSamplerCallback::",
	"JfrGetCallTrace::",
	"JfrStackTrace::record", "JfrSamplerThread::sample_", "JfrSamplerThread::task_stacktrace", "JfrSampleRequestBuilder::",
	"JfrThreadSampling::process", "JfrCPUTimeThreadSampling::", "JfrCPUSamplerThread::handle", "JfrCPUSamplerThread::stackwalk",
}

// sameWalker gives one name to functions of which a build may inline all but one.
var sameWalker = []struct{ prefix, name string }{
	{"JfrStackTrace::record_thread", "JfrThreadSampler"},
	{"JfrStackTrace::record_async", "JfrThreadSampler"},
	{"JfrStackTrace::record", "JfrStackTrace::record"},
	{"JfrThreadSample", "JfrThreadSampler"},
	{"OSThreadSampler", "JfrThreadSampler"},
	{"JfrNativeSamplerCallback::", "JfrThreadSampler"},
	{"JfrGetCallTrace::", "JfrThreadSampler"},
	{"JfrSamplerThread::", "JfrSamplerThread"},
	{"JfrSampleRequestBuilder::", "JfrSampleRequestBuilder"},
	{"JfrThreadSampling::", "JfrThreadSampling"},
	{"JfrCPUTimeThreadSampling::", "JfrCPUTimeThreadSampling"},
	{"JfrCPUSamplerThread::", "JfrCPUTimeThreadSampling"},
	{"Profiler::getNativeTrace", "StackWalker"},
	{"StackWalker::", "StackWalker"},
}

func walkerName(fn string) string {
	for _, w := range sameWalker {
		if strings.HasPrefix(fn, w.prefix) {
			return w.name
		}
	}
	return fn
}

// profilerEnds are functions with which a profiler's own walk begins, of async-profiler and its kin.
var profilerEnds = []string{"StackWalker::", "Profiler::getNativeTrace"}

// anchors begin the names of the functions between a walker's entry and a crash that every build has, since their callers are in
// other files, or they are large. The others are inlined on one platform, or by one compiler, and not on another.
var anchors = []string{
	"forte_fill_call_trace_given_top", "JavaThread::pd_get_top_frame_for_signal_handler",
	"JavaThread::pd_get_top_frame_for_profiling",
}

// maxChain frames distinguish the paths of a hung walk without splitting findings by the depth of the walk.
const maxChain = 4

// walkerChain returns the path of the walk to the crash: the function of the VM that crashed, the anchors on the way and the
// walker's entry. It is empty when no walker is on the stack, and signature.Unknown when that cannot be known. A
// walk that stack scanning began, at a word that looked like a return address (sampling.guesses), is marked, since its registers
// were bogus.
func walkerChain(crash *misstepv1.Crash, native frames) []string {
	var chain []string
	for _, f := range native.list {
		fn := f.FunctionName()
		vm, c := f.Kind == signature.VMFrame, f.Kind == signature.CFrame
		if fn == "" || vm && errorReporter(fn) {
			continue
		}
		switch {
		case vm && begins(fn, walkerEnds), c && begins(fn, profilerEnds):
			chain = append(chain, walkerName(fn))
			if scanned(crash) {
				chain = append(chain, signature.StackScanning)
			}
			return chain
		case vm && (len(chain) == 0 || begins(fn, anchors)) && !slices.Contains(chain, fn):
			chain = append(chain, fn)
		}
	}
	switch {
	case crash.GetInWalk() && crash.GetPhase() == phaseGuess:
		return []string{"in " + signature.StackScanning}
	case crash.GetInWalk():
		return []string{"in " + cmp.Or(crash.GetPhase(), "walk")}
	case native.cut:
		return []string{signature.Unknown}
	}
	return nil
}

func begins(name string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// phaseGuess is the agent's name of the phase of such a walk (agent/status.go).
const phaseGuess = "guess"

func scanned(c *misstepv1.Crash) bool {
	return c.GetPhase() == phaseGuess ||
		slices.ContainsFunc(c.GetNativeFrames(), func(f string) bool { return strings.Contains(f, "GuessCallers") })
}
