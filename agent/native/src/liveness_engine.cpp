#include "liveness_engine.h"

#include "hung.h"
#include "state.h"

namespace misstep {

uint64_t LivenessEngine::Probe(uint64_t now_nanos) {
  const uint64_t every_nanos = uint64_t{state_.options.liveness_millis} * 1'000'000;
  if (every_nanos == 0) return UINT64_MAX;
  if (now_nanos < next_nanos_) return next_nanos_;
  next_nanos_ = now_nanos + every_nanos;
  // Where no thread is known yet it is a look all the same: the sampler itself lives.
  bool any = false;
  for (size_t i = 0; i < state_.threads.size(); i++) {
    const Slot* slot = state_.threads.at(i);
    const ThreadStatus* s = slot->status;
    const bool inside = s->phase.load(std::memory_order_acquire) != MISSTEP_PHASE_NONE;
    if (!inside && slot->state.load(std::memory_order_acquire) != SlotState::kActive) continue;
    const bool overdue = inside && s->tid.load() != 0 && Overdue(*s, now_nanos);
    // Whether it hangs or was merely not scheduled cannot be seen from within: the watcher outside decides.
    Count(state_.status, Check::kLiveness, overdue ? Verdict::Void(Reason::kOverdue) : Verdict::Match());
    any = true;
  }
  if (!any) Count(state_.status, Check::kLiveness, Verdict::Match());
  return next_nanos_;
}

}  // namespace misstep
