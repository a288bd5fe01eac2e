// Clocks of the process and of its threads. All are async-signal-safe.
#pragma once

#include <cstdint>

namespace misstep {

uint64_t MonotonicNanos();

// Sleeps the full time despite signals, which a sampled thread gets all the time.
void SleepUntil(uint64_t monotonic_nanos);

// CPU time of the calling thread.
uint64_t OwnCpuNanos();

// CPU time of a thread of this process, 0 if it has ended.
uint64_t ThreadCpuNanos(int32_t tid);

// Whether CPU times that are equal mean that the thread has not run in between: whether they grow by microseconds, and
// not by the kernel's ticks. It takes some of the calling thread's CPU time.
bool CpuTimeIsExact();

}  // namespace misstep
