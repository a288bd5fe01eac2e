#include "clock.h"

#include <cerrno>
#include <ctime>

namespace misstep {
namespace {

constexpr uint64_t kNanosPerSecond = 1'000'000'000;

uint64_t Nanos(const timespec& ts) {
  return static_cast<uint64_t>(ts.tv_sec) * kNanosPerSecond + static_cast<uint64_t>(ts.tv_nsec);
}

}  // namespace

uint64_t MonotonicNanos() {
  timespec ts = {};
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return Nanos(ts);
}

void SleepUntil(uint64_t monotonic_nanos) {
  const timespec ts = {static_cast<time_t>(monotonic_nanos / kNanosPerSecond),
                       static_cast<long>(monotonic_nanos % kNanosPerSecond)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, nullptr) == EINTR) {
  }
}

uint64_t OwnCpuNanos() {
  timespec ts = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
  return Nanos(ts);
}

uint64_t ThreadCpuNanos(int32_t tid) {
  // The kernel's clock id of a thread's CPU time (linux/posix-timers.h): ~tid << 3, per thread (4), scheduler time (2).
  const auto clock = static_cast<clockid_t>((~static_cast<uint32_t>(tid) << 3) | 6);
  timespec ts = {};
  return clock_gettime(clock, &ts) == 0 ? Nanos(ts) : 0;
}

bool CpuTimeIsExact() {
  constexpr uint64_t kExactNanos = 100'000;
  for (int change = 0; change < 16; change++) {
    const uint64_t before = OwnCpuNanos();
    const uint64_t since = MonotonicNanos();
    uint64_t now = before;
    while (now == before && MonotonicNanos() - since < kNanosPerSecond / 10) now = OwnCpuNanos();
    if (now - before - 1 < kExactNanos) return true;
  }
  return false;
}

}  // namespace misstep
