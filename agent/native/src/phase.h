// The phase of a thread in the flight record.
#pragma once

#include <atomic>
#include <cstdint>

#include "clock.h"
#include "status.h"

namespace misstep {

// Sets the flight record's phase for a scope and restores what a signal handler may have interrupted.
class PhaseScope {
 public:
  PhaseScope(ThreadStatus* status, uint32_t phase)
      : status_(status), before_(status->phase.load()), enter_before_(status->enter_nanos.load()) {
    status_->enter_nanos.store(MonotonicNanos(), std::memory_order_relaxed);
    status_->phase.store(phase, std::memory_order_release);
  }
  ~PhaseScope() {
    status_->enter_nanos.store(enter_before_, std::memory_order_relaxed);
    status_->phase.store(before_, std::memory_order_release);
  }

 private:
  ThreadStatus* status_;
  uint32_t before_;
  uint64_t enter_before_;
};

}  // namespace misstep
