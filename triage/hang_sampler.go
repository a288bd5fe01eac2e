package triage

import (
	"slices"

	misstepv1 "misstep/proto/misstep/v1"
)

// samplerNames begin the names of threads that sample or record what the others do, as the kernel has them, which are 15 characters
// at most: JFR's sampler up to 24 and from 25 on (jfrThreadSampler.hpp), its sampler of CPU time (25, jfrCPUTimeThreadSampler.hpp),
// its recorder (jfrRecorderThread.cpp) and the thread of its periodic events (PlatformRecorder.java); async-profiler's timer
// (profiler.cpp) and sampler.
var samplerNames = []string{
	"JFR Thread Samp", "JFR Sampler Thr", "JFR CPU Sampler", "JFR Recorder Th", "JFR Periodic Ta", "Async-profiler",
}

// samplerLoops are the functions in which such threads spend their lives. Up to 12 JFR's sampler has the name of the program, as
// async-profiler's sampler of wall-clock time always has.
var samplerLoops = []string{
	"JfrThreadSampler::run", "JfrSamplerThread::run", "JfrCPUSamplerThread::run", "WallClock::timerLoop", "WallClock::threadEntry",
}

// samples reports whether a thread only samples or records what the others do. Under a profiler it does so in any hang, and where
// in a walk it is differs from one look to the next: it is blamed only if no other thread can be. A thread of an application may
// have such a name, but has frames of its own.
func samples(t *misstepv1.HungThread) bool {
	if _, app := boundary(t.GetJavaFrames()); app != "" {
		return false
	}
	return begins(t.GetName(), samplerNames) || slices.ContainsFunc(t.GetNativeFrames(), func(line string) bool {
		return slices.Contains(samplerLoops, nativeName(line))
	})
}
