#include "tap_still.h"

#include <algorithm>

#include "clock.h"

namespace misstep {
namespace {

// A time that continues is taken as often as this, so that a JVM that is killed leaves most of it.
constexpr uint64_t kTakenNanos = 1'000'000'000;

// Copies the newest entries of a thread's shadow, which must not run meanwhile.
void CopyShadow(const Slot& slot, TapStill* still, std::vector<uint32_t>* entries) {
  const uint64_t depth = ShadowSize(slot.shadow);
  still->depth = static_cast<uint32_t>(depth);
  still->flags = MISSTEP_TAP_CALL_SHADOW;
  if (slot.carrier.load(std::memory_order_relaxed)) still->flags |= MISSTEP_TAP_CALL_CARRIER;
  if (depth > kShadowEntries) still->flags |= MISSTEP_TAP_CALL_OVERFLOW;
  const uint64_t count = depth > kShadowEntries ? 0 : std::min<uint64_t>(depth, MISSTEP_TAP_MOST_ENTRIES);
  const uint64_t* from = slot.shadow + MISSTEP_SHADOW_HEADER / MISSTEP_SHADOW_ENTRY + (depth - count);
  entries->resize(count);
  std::transform(from, from + count, entries->begin(), [](uint64_t entry) { return static_cast<uint32_t>(entry); });
  still->entries = static_cast<uint32_t>(count);
}

}  // namespace

void StillThreads::Look(const Threads& threads) {
  if (threads_.size() < threads.size()) threads_.resize(threads.size());
  for (size_t i = 0; i < threads_.size(); i++) {
    if (const Slot* slot = threads.at(i); slot != nullptr) LookAt(*slot, &threads_[i]);
  }
}

void StillThreads::LookAt(const Slot& slot, Thread* t) {
  const bool active = slot.state.load(std::memory_order_acquire) == SlotState::kActive;
  const auto tid = static_cast<uint32_t>(slot.tid.load(std::memory_order_relaxed));
  const uint64_t nanos = MonotonicNanos();
  const uint64_t ticks = Ticks();
  const uint64_t cpu_nanos = active ? ThreadCpuNanos(static_cast<int32_t>(tid)) : 0;
  if (cpu_nanos == 0 || cpu_nanos != t->cpu_nanos || tid != t->still.tid) {
    Close(t);
    t->cpu_nanos = cpu_nanos;
    t->still = {.tid = tid, .since_nanos = MonotonicNanos(), .since_ticks = Ticks()};
    return;
  }
  if (!t->stands) {
    CopyShadow(slot, &t->still, &t->entries);
    if (ThreadCpuNanos(static_cast<int32_t>(tid)) != cpu_nanos) {  // it runs again
      t->cpu_nanos = 0;
      return;
    }
    t->stands = true;
    t->taken_nanos = nanos;
  }
  t->still.until_nanos = nanos;
  t->still.until_ticks = ticks;
  if (nanos - t->taken_nanos < kTakenNanos) return;
  t->taken_nanos = nanos;
  take_(t->still, t->entries);
}

void StillThreads::Close(Thread* t) {
  if (t->stands) take_(t->still, t->entries);
  t->stands = false;
}

void StillThreads::End() {
  for (Thread& t : threads_) Close(&t);
}

}  // namespace misstep
