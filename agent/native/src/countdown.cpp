#include "countdown.h"

#include <algorithm>
#include <cmath>

#include "clock.h"
#include "phase.h"
#include "random.h"

namespace misstep {

double EntryShare(const Options& o) { return std::fmax(o.trace, std::fmax(o.gst_asgct, o.shadow_gst)); }

int64_t DrawCountdown(double share, uint64_t* random) {
  if (share >= 1.0) return 0;
  if (share <= 0.0) return INT64_MAX / 2;
  const double skip = std::floor(std::log1p(-Uniform(random)) / std::log1p(-share));
  return skip < 1e15 ? static_cast<int64_t>(skip) : INT64_C(1000000000000000);
}

void Arm(uint64_t* shadow, int64_t check, int64_t point) {
  const auto size = static_cast<int64_t>(ShadowSize(shadow));
  const auto capacity = static_cast<int64_t>(ShadowCapacity(shadow));
  const int64_t countdown = std::min({check, point, std::max(capacity - size, int64_t{0}) + 1});
  shadow[MISSTEP_SHADOW_CHECK / 8] = static_cast<uint64_t>(check);
  shadow[MISSTEP_SHADOW_POINT / 8] = static_cast<uint64_t>(point);
  shadow[MISSTEP_SHADOW_SET / 8] = static_cast<uint64_t>(countdown);
  reinterpret_cast<volatile int64_t&>(shadow[MISSTEP_SHADOW_COUNTDOWN / 8]) = countdown - 1;
}

bool CheckIsDue(State& state, Slot* slot, uint64_t* shadow, double share, Stage stage) {
  const auto passed = static_cast<int64_t>(shadow[MISSTEP_SHADOW_SET / 8]);
  int64_t check = static_cast<int64_t>(shadow[MISSTEP_SHADOW_CHECK / 8]) - passed;
  int64_t point = static_cast<int64_t>(shadow[MISSTEP_SHADOW_POINT / 8]) - passed;
  const bool due = check <= 0;
  if (due) check = (stage == Stage::kEnded ? INT64_MAX / 2 : DrawCountdown(share, &slot->random)) + 1;
  if (!state.perturber.on() || stage == Stage::kEnded) {
    point = check;
  } else if (stage != Stage::kReady) {
    point = kLater;
  } else if (point <= 0) {
    {
      const PhaseScope wait(slot->status, MISSTEP_PHASE_NONE);  // a wait is no work of the agent
      point = state.perturber.Point(&slot->point, kEventExpiry);
    }
    slot->status->enter_nanos.store(MonotonicNanos(), std::memory_order_relaxed);  // which begins after it
  }
  Arm(shadow, check, point);
  return due;
}

}  // namespace misstep
