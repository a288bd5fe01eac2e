#include "sampler.h"

#include <sys/prctl.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "agent_thread.h"
#include "clock.h"
#include "random.h"
#include "rules.h"
#include "state.h"
#include "turns.h"

namespace misstep {

namespace {

constexpr uint64_t kSamplerLookNanos = 50'000'000;  // so that a stop is seen soon
constexpr unsigned long kTimerSlackNanos = 1'000;

// CPU time that the thread used since it was last looked at, in nanoseconds; 0 when too little to call it running.
uint64_t Ran(Slot* slot) {
  const uint64_t cpu_nanos = ThreadCpuNanos(slot->tid);
  const uint64_t last_nanos = slot->last_cpu_nanos;
  const uint64_t ran_nanos = cpu_nanos > last_nanos ? cpu_nanos - last_nanos : 0;
  slot->last_cpu_nanos = cpu_nanos;
  return ran_nanos > kRanNanos ? ran_nanos : 0;
}

}  // namespace

// One tick: chooses a thread as the option threads says, from those that ran since they were last looked at.
void Sampler::Tick(TickEngine* engine, uint64_t now_nanos) {
  const Options& o = state_.options;
  const size_t n = state_.threads.size();
  if (n == 0) return;
  size_t left = engine->ThreadsOfTick();
  if (o.threads == ThreadChoice::kCpu) return TickByCpu(engine, now_nanos, left);
  bool first = true;
  const size_t begin = o.threads == ThreadChoice::kRoundRobin ? next_thread_ : NextRandom(&random_) % n;
  for (size_t i = 0; i < n && left > 0; i++) {
    const size_t at = (begin + i) % n;
    Slot* slot = state_.threads.at(at);
    if (!engine->MayTake(*slot)) continue;
    if (o.threads == ThreadChoice::kName && !slot->chosen.load(std::memory_order_relaxed)) continue;
    if (Ran(slot) == 0 || !engine->Give(slot, now_nanos, first)) continue;
    first = false;
    left--;
    next_thread_ = at + 1;
  }
}

// Chooses each thread with probability proportional to the CPU time that it used.
void Sampler::TickByCpu(TickEngine* engine, uint64_t now_nanos, size_t left) {
  std::vector<std::pair<Slot*, uint64_t>> running;
  uint64_t total_nanos = 0;
  for (size_t i = 0; i < state_.threads.size(); i++) {
    Slot* slot = state_.threads.at(i);
    const uint64_t ran_nanos = engine->MayTake(*slot) ? Ran(slot) : 0;
    if (ran_nanos > 0) running.emplace_back(slot, ran_nanos);
    total_nanos += ran_nanos;
  }
  bool first = true;
  while (left > 0 && total_nanos > 0) {
    auto chosen = running.begin();
    for (uint64_t at = NextRandom(&random_) % total_nanos; at >= chosen->second; ++chosen) at -= chosen->second;
    if (engine->Give(chosen->first, now_nanos, first)) {
      first = false;
      left--;
    }
    total_nanos -= chosen->second;
    running.erase(chosen);
  }
}

// Each check has its own share of the ticks; both may take the same one, for different threads. The order is random, as
// the only running thread may take the tick for just one of them.
void Sampler::TickAll(bool of_turns, uint64_t now_nanos) {
  const bool brackets_first = NextRandom(&random_) % 2 == 0;
  for (const bool brackets : {brackets_first, !brackets_first}) {
    TickEngine& engine = brackets ? brackets_ : samples_;
    if (engine.InTurns() == of_turns && engine.Draw(&random_)) Tick(&engine, now_nanos);
  }
}

void Sampler::Run() {
  prctl(PR_SET_NAME, "misstep-sampler");
  StayOutside();
  prctl(PR_SET_TIMERSLACK, kTimerSlackNanos);
  const Options& o = state_.options;
  random_ = o.seed ^ 0x6d697373746570;
  const bool turns = samples_.InTurns() || brackets_.InTurns();
  const bool sampling = (o.asgct_shadow > 0 && !samples_.InTurns()) || (o.bracket > 0 && !brackets_.InTurns());
  uint64_t next_tick_nanos = MonotonicNanos();
  uint64_t next_turn_nanos = next_tick_nanos;
  while (!stop_.load(std::memory_order_acquire)) {
    Assert(1, [&] { return Detached(state_.vm); });
    const uint64_t now_nanos = MonotonicNanos();
    state_.status->heartbeat.store(now_nanos, std::memory_order_relaxed);
    if (sampling && now_nanos >= next_tick_nanos) {
      TickAll(false, now_nanos);
      // After a delay the missed ticks are skipped: no burst.
      next_tick_nanos = std::max(next_tick_nanos + DrawStep(o, &random_), now_nanos);
    }
    if (turns && now_nanos >= next_turn_nanos) {
      TickAll(true, now_nanos);
      next_turn_nanos = std::max(next_turn_nanos + kTurnNanos, now_nanos);
    }
    uint64_t wake_nanos = std::min(now_nanos + kSamplerLookNanos, liveness_.Probe(now_nanos));
    if (sampling) wake_nanos = std::min(wake_nanos, next_tick_nanos);
    if (turns) wake_nanos = std::min(wake_nanos, next_turn_nanos);
    SleepUntil(wake_nanos);
  }
}

bool Sampler::Start() {
  stop_ = false;
  const auto run = [](void* self) -> void* {
    static_cast<Sampler*>(self)->Run();
    return nullptr;
  };
  started_ = StartThread(&thread_, run, this);
  return started_;
}

void Sampler::Stop() {
  if (!started_) return;
  stop_.store(true, std::memory_order_release);
  pthread_join(thread_, nullptr);
}

}  // namespace misstep
