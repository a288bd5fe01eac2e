#include "tap_walk.h"

#include <algorithm>
#include <atomic>

#include "../../abi.h"
#include "clock.h"
#include "state.h"

namespace misstep {

static std::atomic<uint64_t> walks = 0;  // in this process: the number of each in the flight record

bool TapWalk::MayWalk(const Slot& slot, uint64_t sp) {
  return slot.busy == 0 && slot.status->phase.load(std::memory_order_relaxed) == MISSTEP_PHASE_NONE &&
         slot.stack.EndFrom(sp) != 0;
}

uint32_t TapWalk::Depth(const Options& options) { return std::min<uint32_t>(options.depth, MISSTEP_TAP_MOST_FRAMES); }

TapWalk::TapWalk(const State& state, Slot* slot, const Spot& spot, void* context)
    : slot_(slot),
      scope_(slot->status, walks.fetch_add(1, std::memory_order_relaxed) + 1, spot.pc, spot.sp, MonotonicNanos()) {
  slot_->busy = 1;
  const auto depth = static_cast<jint>(Depth(state.options));
  AsgctTrace trace = {slot->env, 0, slot->asgct};
  scope_.In(MISSTEP_PHASE_WALK);
  state.asgct(&trace, depth, context);
  scope_.In(MISSTEP_PHASE_HANDLER);
  // As in Walk: an invalid count is taken for an invalid code.
  result_ = trace.num_frames > depth ? -trace.num_frames : trace.num_frames;
}

}  // namespace misstep
