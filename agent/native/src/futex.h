// Wakes one thread from anywhere, signal handlers included.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <ctime>

namespace misstep {

class Futex {
 public:
  // The number of wake-ups so far: to be read before looking for work.
  uint32_t Seen() const { return wakes_.load(std::memory_order_acquire); }

  // Waits for at most most_nanos, and not at all if there has been a wake-up since seen was read.
  void Wait(uint32_t seen, uint64_t most_nanos) {
    const timespec most = {static_cast<time_t>(most_nanos / 1'000'000'000),
                           static_cast<long>(most_nanos % 1'000'000'000)};
    syscall(SYS_futex, reinterpret_cast<uint32_t*>(&wakes_), FUTEX_WAIT_PRIVATE, seen, &most, nullptr, 0);
  }

  // Async-signal-safe.
  void Wake() {
    wakes_.fetch_add(1, std::memory_order_release);
    syscall(SYS_futex, reinterpret_cast<uint32_t*>(&wakes_), FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }

 private:
  std::atomic<uint32_t> wakes_ = 0;
};

}  // namespace misstep
