#include "judge.h"

#include <sys/prctl.h>

#include <algorithm>

#include "agent_thread.h"
#include "clock.h"
#include "events.h"
#include "hung.h"
#include "rules.h"
#include "state.h"
#include "trim.h"

namespace misstep {
namespace {

constexpr uint64_t kRoundNanos = 1'000'000;  // between two rounds

}  // namespace

void Judge::Round(uint64_t now_nanos, bool end) {
  for (Engine* engine : engines_) engine->Judge(now_nanos, end);
}

void Judge::Run() {
  prctl(PR_SET_NAME, "misstep-judge");
  StayOutside();
  HungWalks hung(state_, state_.options.out + "/shadows.txt");
  HeapTrimmer trimmer(MonotonicNanos());
  while (!stop_.load(std::memory_order_acquire)) {
    Assert(1, [&] { return Detached(state_.vm); });
    const uint64_t now_nanos = MonotonicNanos();
    Round(now_nanos, false);
    hung.Look(now_nanos);
    trimmer.Look(state_.threads, now_nanos);
    SleepUntil(MonotonicNanos() + kRoundNanos);
  }
}

bool Judge::Start() {
  stop_ = false;
  const auto run = [](void* self) -> void* {
    static_cast<Judge*>(self)->Run();
    return nullptr;
  };
  started_ = StartThread(&thread_, run, this);
  return started_;
}

void Judge::Stop() {
  if (!started_) return;
  stop_.store(true, std::memory_order_release);
  pthread_join(thread_, nullptr);
}

void Judge::Finish() {
  const uint64_t patience_nanos = MonotonicNanos() + kMostEarlyNanos;
  for (uint64_t now_nanos = 0; now_nanos < patience_nanos;) {
    now_nanos = MonotonicNanos();
    Round(now_nanos, false);
    if (std::ranges::none_of(engines_, [](const Engine* engine) { return engine->Waits(); })) break;
    SleepUntil(now_nanos + kRoundNanos);
  }
  Round(MonotonicNanos(), true);
}

}  // namespace misstep
