#include "tap.h"

#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <optional>
#include <utility>

#include "clock.h"
#include "random.h"
#include "spot.h"
#include "state.h"
#include "tap_walk.h"

namespace misstep {
namespace {

using Action = void (*)(int, siginfo_t*, void*);

// What a handler needs; the kernel calls it without an argument from the agent. Written before the handler is installed
// and never again.
struct Original {
  struct sigaction action = {};
  int signal = 0;
  uint32_t tap = 0;
};
Original originals[Taps::kGenerations];
uint32_t generations = 0;  // that are used: for the thread that looks

std::atomic<const State*> state = nullptr;
std::atomic<TapBuffers*> buffers = nullptr;
std::atomic<TapHeader*> header = nullptr;
std::atomic<bool> stopped = false;

// initial-exec, as in threads.cpp.
thread_local TapRing* own_ring = nullptr;
thread_local const TapBuffers* own_buffers = nullptr;
thread_local int32_t own_tid = 0;
thread_local uint32_t nested = 0;
thread_local uint64_t own_random = 0;

void CallOriginal(const Original& original, int signal, siginfo_t* info, void* context) {
  if ((original.action.sa_flags & SA_SIGINFO) != 0) {
    original.action.sa_sigaction(signal, info, context);
  } else {
    original.action.sa_handler(signal);
  }
}

// Copies the newest entries of the thread's shadow.
void CopyShadow(const Slot& slot, TapCall* call) {
  const auto* from = slot.shadow + MISSTEP_SHADOW_HEADER / MISSTEP_SHADOW_ENTRY + (call->depth - call->entries);
  uint32_t* to = call->Entries();
  for (uint32_t i = 0; i < call->entries; i++) to[i] = static_cast<uint32_t>(from[i]);
  if (call->entries % 2 != 0) to[call->entries] = 0;
}

// The number of entries of a thread's shadow, whether it ran over, and what is copied of it.
struct ShadowPart {
  uint64_t depth = 0;
  bool overflow = false;
  uint32_t entries = 0;

  explicit ShadowPart(const Slot* slot) {
    if (slot == nullptr) return;
    depth = ShadowSize(slot->shadow);
    overflow = depth > kShadowEntries;
    entries = overflow ? 0 : static_cast<uint32_t>(std::min<uint64_t>(depth, MISSTEP_TAP_MOST_ENTRIES));
  }
};

// The flags that say what the thread is and has.
uint32_t FlagsOf(const Slot& slot, const ShadowPart& shadow, const Spot& spot) {
  uint32_t flags = MISSTEP_TAP_CALL_SHADOW;
  if (shadow.overflow) flags |= MISSTEP_TAP_CALL_OVERFLOW;
  if (slot.stack.EndFrom(spot.sp) == 0) flags |= MISSTEP_TAP_CALL_OTHER_STACK;
  if (slot.carrier.load(std::memory_order_relaxed)) flags |= MISSTEP_TAP_CALL_CARRIER;
  return flags;
}

// Writes what was seen at pc.
void CopySpot(const Spot& spot, TapCall* call) {
  call->pc = spot.pc;
  call->sp = spot.sp;
  call->fp = spot.fp;
  std::memcpy(call->code, spot.code, sizeof(call->code));
  call->code_size = spot.code_size;
  call->return_at = spot.next_code.at;
  call->return_pc = spot.returns.value;
  if (spot.original != 0) call->flags |= MISSTEP_TAP_CALL_RETURN_COPIED;
  std::memcpy(call->ReturnCode(), spot.return_code, call->return_size);
}

// Writes what AsyncGetCallTrace returned.
void CopyWalk(const TapWalk& walk, const Options& options, TapCall* call) {
  static_assert(sizeof(TapFrame) == sizeof(AsgctFrame) && offsetof(TapFrame, method) == offsetof(AsgctFrame, method));
  call->flags |= MISSTEP_TAP_CALL_WALKED;
  if (walk.result() == static_cast<int32_t>(TapWalk::Depth(options))) call->flags |= MISSTEP_TAP_CALL_CUT;
  call->result = walk.result();
  std::memcpy(call->Frames(), walk.frames().data(), walk.frames().size_bytes());
}

// Whether AsyncGetCallTrace is asked in this call.
bool DrawWalk(const State& known) {
  if (own_random == 0) own_random = known.options.seed ^ static_cast<uint64_t>(own_tid) << 32;
  return known.options.tap_asgct > 0 && Uniform(&own_random) < known.options.tap_asgct;
}

// Notes a call up to its return. Returns null if the record is lost, which is counted.
TapCall* Note(const Original& original, uint32_t generation, ucontext_t* context, uint64_t enter_nanos) {
  TapHeader* h = header.load(std::memory_order_acquire);
  h->calls[original.tap].fetch_add(1, std::memory_order_relaxed);
  const auto lose = [&](int reason) -> TapCall* {
    h->lost[reason].fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  };
  if (stopped.load(std::memory_order_acquire)) return lose(MISSTEP_TAP_LOST_LATE);
  const State& known = *state.load(std::memory_order_relaxed);
  if (own_tid == 0) own_tid = static_cast<int32_t>(syscall(SYS_gettid));
  TapBuffers* rings = buffers.load(std::memory_order_relaxed);
  if (own_ring == nullptr || own_buffers != rings) own_ring = rings->Claim(own_tid);
  own_buffers = rings;
  if (own_ring == nullptr) return lose(MISSTEP_TAP_LOST_BUFFERS);
  Slot* slot = Threads::Current();
  Spot spot;
  ReadPlace(known.code, *context, &spot);
  if (slot != nullptr) ReadReturns(known.code, slot->stack.EndFrom(spot.sp), &spot);
  const uint32_t phase = slot != nullptr ? slot->status->phase.load(std::memory_order_relaxed) : MISSTEP_PHASE_NONE;
  const bool drawn = slot != nullptr && DrawWalk(known);
  std::optional<TapWalk> walk;
  if (drawn && TapWalk::MayWalk(*slot, spot.sp)) walk.emplace(known, slot, spot, context);
  const ShadowPart shadow(slot);
  TapCall* call =
      own_ring->Reserve({shadow.entries, walk ? static_cast<uint32_t>(walk->frames().size()) : 0, spot.return_size});
  if (call == nullptr) return lose(MISSTEP_TAP_LOST_FULL);
  call->tid = static_cast<uint32_t>(own_tid);
  call->signal = static_cast<uint32_t>(original.signal);
  call->depth = static_cast<uint32_t>(std::min<uint64_t>(shadow.depth, UINT32_MAX));
  call->generation = generation;
  call->nested = nested;
  call->flags = slot != nullptr ? FlagsOf(*slot, shadow, spot) : 0;
  call->phase = phase;
  call->state = call->return_state = call->compiled = call->reserved = 0;
  call->result = 0;
  CopySpot(spot, call);
  if (slot != nullptr) CopyShadow(*slot, call);
  if (walk) {
    CopyWalk(*walk, known.options, call);
  } else if (drawn) {
    call->flags |= MISSTEP_TAP_CALL_BUSY;
  }
  walk.reset();
  call->enter_nanos = enter_nanos;
  call->begin_nanos = MonotonicNanos();
  call->begin_ticks = Ticks();
  TapRing::Begin(call);
  return call;
}

void HandleTapped(uint32_t generation, int signal, siginfo_t* info, void* context) {
  const uint64_t enter_nanos = MonotonicNanos();
  const Original& original = originals[generation];
  const int saved_errno = errno;
  TapCall* call = Note(original, generation, static_cast<ucontext_t*>(context), enter_nanos);
  nested++;
  errno = saved_errno;
  CallOriginal(original, signal, info, context);
  const int left_errno = errno;
  nested--;
  if (call != nullptr) {
    call->end_ticks = Ticks();
    call->end_nanos = MonotonicNanos();
    TapRing::End(call);
  }
  errno = left_errno;
}

template <uint32_t kGeneration>
void Handle(int signal, siginfo_t* info, void* context) {
  HandleTapped(kGeneration, signal, info, context);
}

template <uint32_t... kGeneration>
constexpr std::array<Action, sizeof...(kGeneration)> Handlers(std::integer_sequence<uint32_t, kGeneration...>) {
  return {Handle<kGeneration>...};
}
constexpr auto kHandlers = Handlers(std::make_integer_sequence<uint32_t, Taps::kGenerations>());

const void* AddressOf(const struct sigaction& a) {
  return (a.sa_flags & SA_SIGINFO) != 0 ? reinterpret_cast<const void*>(a.sa_sigaction)
                                        : reinterpret_cast<const void*>(a.sa_handler);
}

bool IsOwn(const struct sigaction& a) {
  return std::ranges::any_of(kHandlers, [&](Action h) { return reinterpret_cast<const void*>(h) == AddressOf(a); });
}

bool IsNone(const struct sigaction& a) {
  const void* address = AddressOf(a);
  return address == reinterpret_cast<const void*>(SIG_DFL) || address == reinterpret_cast<const void*>(SIG_IGN);
}

bool Same(const struct sigaction& a, const struct sigaction& b) {
  if (AddressOf(a) != AddressOf(b) || a.sa_flags != b.sa_flags) return false;
  for (int s = 1; s < NSIG; s++) {
    if (sigismember(&a.sa_mask, s) != sigismember(&b.sa_mask, s)) return false;
  }
  return true;
}

// The generation of a handler, a new one for a handler not seen before; kGenerations when there are too many.
uint32_t GenerationOf(uint32_t tap, int signal, const struct sigaction& action, const Taps::Found& found) {
  for (uint32_t i = 0; i < generations; i++) {
    if (originals[i].signal == signal && Same(originals[i].action, action)) return i;
  }
  if (generations == Taps::kGenerations) return Taps::kGenerations;
  originals[generations] = {action, signal, tap};
  found(signal, generations, action);
  return generations++;
}

}  // namespace

void Taps::Start(const State* known, TapBuffers* rings, TapHeader* counts) {
  state.store(known, std::memory_order_relaxed);
  buffers.store(rings, std::memory_order_relaxed);
  header.store(counts, std::memory_order_release);
  stopped.store(false, std::memory_order_release);
}

void Taps::Stop() { stopped.store(true, std::memory_order_release); }

bool Taps::Look(uint32_t tap, int signal, const Found& found) {
  struct sigaction now = {};
  if (sigaction(signal, nullptr, &now) != 0) return false;
  if (IsOwn(now)) return true;
  for (int tries = 0; tries < 4; tries++) {
    if (IsNone(now)) return false;
    const uint32_t generation = GenerationOf(tap, signal, now, found);
    if (generation == kGenerations) return false;
    struct sigaction mine = now;
    mine.sa_flags |= SA_SIGINFO;
    mine.sa_sigaction = kHandlers[generation];
    struct sigaction replaced = {};
    if (sigaction(signal, &mine, &replaced) != 0) return false;
    if (Same(replaced, now) || IsOwn(replaced)) return true;
    // Another was installed, or the handler was removed, since it was read: that is what is to stand there.
    now = replaced;
    if (IsNone(now)) sigaction(signal, &now, nullptr);
  }
  return false;
}

void Taps::Withdraw(int signal) {
  struct sigaction now = {};
  if (sigaction(signal, nullptr, &now) != 0) return;
  for (uint32_t i = 0; i < generations; i++) {
    if (AddressOf(now) == reinterpret_cast<const void*>(kHandlers[i])) sigaction(signal, &originals[i].action, nullptr);
  }
}

}  // namespace misstep
