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

// Notes in the flight record for a scope that a signal handler works: which sample, and where the thread was
// interrupted. Restores what the handler may have interrupted. Async-signal-safe.
class HandlerScope {
 public:
  HandlerScope(ThreadStatus* status, uint64_t sequence, uint64_t pc, uint64_t sp, uint64_t now_nanos)
      : status_(status),
        phase_(status->phase.load(std::memory_order_relaxed)),
        enter_(status->enter_nanos.load(std::memory_order_relaxed)),
        sequence_(status->sequence.load(std::memory_order_relaxed)),
        pc_(status->pc.load(std::memory_order_relaxed)),
        sp_(status->sp.load(std::memory_order_relaxed)) {
    Store(now_nanos, sequence, pc, sp);
    In(MISSTEP_PHASE_HANDLER);
  }
  ~HandlerScope() {
    Store(enter_, sequence_, pc_, sp_);
    In(phase_);
  }
  HandlerScope(const HandlerScope&) = delete;
  HandlerScope& operator=(const HandlerScope&) = delete;

  void In(uint32_t phase) { status_->phase.store(phase, std::memory_order_release); }

 private:
  void Store(uint64_t enter_nanos, uint64_t sequence, uint64_t pc, uint64_t sp) {
    status_->enter_nanos.store(enter_nanos, std::memory_order_relaxed);
    status_->sequence.store(sequence, std::memory_order_relaxed);
    status_->pc.store(pc, std::memory_order_relaxed);
    status_->sp.store(sp, std::memory_order_relaxed);
  }

  ThreadStatus* status_;
  uint32_t phase_;
  uint64_t enter_, sequence_, pc_, sp_;
};

}  // namespace misstep
