#include "tap_engine.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "agent_thread.h"
#include "clock.h"
#include "log.h"
#include "rules.h"
#include "state.h"
#include "tap.h"

namespace misstep {
namespace {

constexpr uint64_t kLookNanos = 2'000'000;            // between looks while a signal has no handler to tap
constexpr uint64_t kSettledNanos = 10'000'000;        // between looks otherwise
constexpr uint64_t kRoundNanos = 2'000'000;           // between two rounds
constexpr uint64_t kStillNanos = 5'000'000;           // between two looks which threads stand
constexpr uint64_t kStillEachNanos = 20'000;          // and at least this for each thread, so that it stays cheap
constexpr uint64_t kHousekeepingNanos = 100'000'000;  // between clock records, and between looks for ended threads

// The signal by which HotSpot suspends a thread, for JFR's execution sampler among others: SIGUSR2, unless this
// variable names another that it accepts (os::SR_initialize).
int SuspendSignal() {
  const char* text = std::getenv("_JAVA_SR_SIGNUM");
  const long signal = text != nullptr ? std::strtol(text, nullptr, 10) : 0;
  return signal > std::max(SIGSEGV, SIGBUS) && signal < NSIG ? static_cast<int>(signal) : SIGUSR2;
}

// The timers of this process that send this signal to a thread: their ids, and the threads'. proc(5) has the format.
std::map<int, int32_t> TimersOf(int signal) {
  std::ifstream timers("/proc/self/timers");
  const std::string sends = "signal: " + std::to_string(signal) + "/";
  std::map<int, int32_t> all;
  int id = 0;
  bool of_signal = false;
  for (std::string line; std::getline(timers, line);) {
    if (line.starts_with("ID: ")) id = std::atoi(line.c_str() + 4);
    if (line.starts_with("signal: ")) of_signal = line.starts_with(sends);
    const size_t tid = line.find("/tid.");
    if (of_signal && tid != std::string::npos) all[id] = std::atoi(line.c_str() + tid + 5);
  }
  return all;
}

bool Alive(int32_t tid) {
  static const pid_t own_pid = getpid();
  return syscall(SYS_tgkill, own_pid, tid, 0) == 0 || errno != ESRCH;
}

}  // namespace

TapEngine::TapEngine(State& state)
    : state_(state),
      records_(state.methods, state.code, &file_),
      still_([this](const TapStill& still, std::span<const uint32_t> entries) { records_.AddStill(still, entries); }) {}

std::string TapEngine::Open() {
  const Options& o = state_.options;
  if (!o.TapsAny()) return "";
  if (!buffers_.Allocate()) return std::string("no memory for the buffers of option tap: ") + std::strerror(errno);
  const uint32_t signals[] = {o.tap_prof ? static_cast<uint32_t>(SIGPROF) : 0,
                              o.tap_usr2 ? static_cast<uint32_t>(SuspendSignal()) : 0};
  return file_.Create(o.out + "/tap.bin", signals);
}

// Whether the sampler behind a signal has stopped: most of its timers, which sent the signal, are gone although their
// threads live on (JFR forgets those of its own threads). Its handler gets its place back until there are new timers,
// as JFR's CPU-time sampler refuses to start once more where it finds another.
bool TapEngine::Rests(uint32_t tap, int signal) {
  auto& seen = seen_[tap];
  std::map<int, int32_t> timers = TimersOf(signal);
  const auto gone = [&](const auto& t) { return !timers.contains(t.first) && Alive(t.second); };
  const auto is_new = [&](const auto& t) { return !seen.timers.contains(t.first); };
  if (2 * std::ranges::count_if(seen.timers, gone) > std::ssize(seen.timers)) {
    Taps::Withdraw(signal);
    seen.withdrawn = true;
  } else if (std::ranges::any_of(timers, is_new)) {
    seen.withdrawn = false;
  }
  seen.timers = std::move(timers);
  return seen.withdrawn;
}

bool TapEngine::Look() {
  const auto found = [&](int signal, uint32_t generation, const struct sigaction& original) {
    file_.Handler(static_cast<uint32_t>(signal), generation, reinterpret_cast<uint64_t>(original.sa_sigaction),
                  static_cast<uint64_t>(original.sa_flags));
    Log("tapped signal " + std::to_string(signal) + ", handler " + std::to_string(generation));
  };
  bool all = true;
  for (uint32_t tap = 0; tap < MISSTEP_TAP_COUNT; tap++) {
    const uint32_t signal = file_.header()->signals[tap];
    if (signal == 0) continue;
    if (Rests(tap, static_cast<int>(signal)) || !Taps::Look(tap, static_cast<int>(signal), found)) all = false;
  }
  return all;
}

void TapEngine::Drain(bool last) {
  const uint64_t now_nanos = MonotonicNanos();
  buffers_.Drain(last, [&](std::span<const uint8_t> call) { records_.Add(call, now_nanos); });
  records_.Settle(now_nanos, last);
  file_.Flush();
}

void TapEngine::Run() {
  prctl(PR_SET_NAME, "misstep-tap");
  StayOutside();
  uint64_t next_look_nanos = 0;
  uint64_t next_housekeeping_nanos = 0;
  uint64_t next_still_nanos = CpuTimeIsExact() ? 0 : UINT64_MAX;
  while (!stop_.load(std::memory_order_acquire)) {
    Assert(1, [&] { return Detached(state_.vm); });
    const uint64_t now_nanos = MonotonicNanos();
    if (now_nanos >= next_look_nanos) next_look_nanos = now_nanos + (Look() ? kSettledNanos : kLookNanos);
    if (now_nanos >= next_housekeeping_nanos) {
      file_.Clock();
      buffers_.Free(Alive);
      next_housekeeping_nanos = now_nanos + kHousekeepingNanos;
    }
    if (now_nanos >= next_still_nanos) {
      still_.Look(state_.threads);
      next_still_nanos = now_nanos + std::max(kStillNanos, kStillEachNanos * state_.threads.size());
    }
    Drain(false);
    SleepUntil(now_nanos + kRoundNanos);
  }
}

void TapEngine::Start() {
  if (!state_.options.TapsAny()) return;
  Taps::Start(&state_, &buffers_, file_.header());
  const auto run = [](void* self) -> void* {
    static_cast<TapEngine*>(self)->Run();
    return nullptr;
  };
  stop_ = false;
  started_ = StartThread(&thread_, run, this);
  if (!started_) Log("cannot start the tap thread: option tap is off");
}

void TapEngine::Stop() {
  if (!started_) return;
  stop_.store(true, std::memory_order_release);
  pthread_join(thread_, nullptr);
  Taps::Stop();
  SleepUntil(MonotonicNanos() + kRoundNanos);  // handlers that are under way
  file_.Clock();
  still_.End();
  Drain(true);
  file_.header()->flags.fetch_or(MISSTEP_TAP_FLAG_ENDED);
  started_ = false;
}

}  // namespace misstep
