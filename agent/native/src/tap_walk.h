// AsyncGetCallTrace asked in another sampler's signal, before that sampler walks: how walkers are compared at the same
// instant.
#pragma once

#include <cstdint>
#include <span>

#include "asgct.h"
#include "code_map.h"
#include "options.h"
#include "phase.h"
#include "threads.h"

namespace misstep {

struct State;

// A walk of the calling thread in a signal handler. The frames are in the slot's buffer, which is free again when this
// is destroyed. Async-signal-safe.
class TapWalk {
 public:
  // Whether the thread may be walked now: it is in no walk, nor in a check at a method entry, and was interrupted on
  // its own stack.
  static bool MayWalk(const Slot& slot, uint64_t sp);
  // The depth up to which threads are walked.
  static uint32_t Depth(const Options& options);

  TapWalk(const State& state, Slot* slot, const Spot& spot, void* context);
  ~TapWalk() { slot_->busy = 0; }
  TapWalk(const TapWalk&) = delete;
  TapWalk& operator=(const TapWalk&) = delete;

  // As AsyncGetCallTrace returned it.
  int32_t result() const { return result_; }
  std::span<const AsgctFrame> frames() const { return {slot_->asgct, static_cast<size_t>(result_ > 0 ? result_ : 0)}; }

 private:
  Slot* slot_;
  HandlerScope scope_;
  int32_t result_ = 0;
};

}  // namespace misstep
