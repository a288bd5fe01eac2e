#include "handler.h"

#include <sys/types.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "adoption.h"
#include "clock.h"
#include "compare.h"
#include "phase.h"
#include "random.h"
#include "registers.h"
#include "rules.h"
#include "shadow_view.h"
#include "signals.h"
#include "spot.h"
#include "state.h"
#include "turns.h"
#include "walk.h"

namespace misstep {

namespace {

State* handled = nullptr;  // the kernel calls the handler without an argument from the agent
pid_t own_pid = 0;

// Stack scanning: takes each of the first words of the stack that point at code for the return address of the frame
// that pc is in, and walks from there, as a profiler does that continues where AsyncGetCallTrace found no frame to
// start from or could not walk it (async-profiler). The walks are not judged, as most words are no return address; only
// a crash or a hang shows.
[[gnu::no_sanitize_address]] void GuessCallers(State& state, Slot* slot, Ticket* t, const ucontext_t& context,
                                               uint64_t end) {
  ucontext_t guess = context;
  slot->status->phase.store(MISSTEP_PHASE_GUESS, std::memory_order_release);
  for (uint32_t i = 0; i < state.options.guesses && t->spot.sp + 8 * (i + 1) <= end; i++) {
    const uint64_t word = *reinterpret_cast<const volatile uint64_t*>(t->spot.sp + 8 * i);
    if (!state.code.MayHold(word)) continue;
    SetPlace(&guess, word, t->spot.sp + 8 * (i + 1));
    state.status->guessed.fetch_add(1, std::memory_order_relaxed);
    AsgctTrace trace = {slot->env, 0, t->frames};
    state.asgct(&trace, static_cast<jint>(state.options.depth), &guess);
  }
}

// What the signal interrupted, if that proves nothing. The handler of another signal blocks that signal, and maybe
// more, which the thread does not do otherwise. The walker follows the frame pointers of C code, and from the handler's
// they lead past what the other signal interrupted: wherever that was, frames are missing.
Reason Unjudged(const Slot& slot, const ucontext_t& context) {
  if (slot.busy != 0) return Reason::kWalkerBusy;
  return (Blocked(context) & ~slot.blocked) != 0 ? Reason::kOtherHandler : Reason::kUnspecified;
}

// Copies the thread's shadow, and the trace of its newest entry that has one. Of a carrier with a virtual thread that
// is one from before the mount: above it the trace says nothing.
void CopyShadow(const Slot& slot, uint32_t depth, Ticket* t) {
  const ShadowView view = ViewShadow(slot.shadow);
  t->shadow_overflow = view.overflow || view.size() > depth;
  t->mounted = view.state;
  t->shadow_size = t->mount_at = t->mount_end = t->trace_size = 0;
  if (t->shadow_overflow) return;
  t->shadow_size = static_cast<uint32_t>(view.size());
  t->mount_at = static_cast<uint32_t>(view.below.size());
  t->mount_end = static_cast<uint32_t>(view.below.size() + view.mounted.size());
  CopyEntries(view, 0, t->shadow);
  const TraceStack::Entry* traced = slot.traces.Top(slot.shadow, t->mount_at);
  t->trace_size = traced != nullptr ? traced->end : 0;
  std::memcpy(static_cast<void*>(t->trace), slot.traces.frames, t->trace_size * sizeof(AsgctFrame));
}

// The signal handler: atomics, memcpy, raw system calls and ASGCT, nothing else.
void Fill(State& state, Slot* slot, Ticket* t, void* context) {
  Assert(2, [&] { return HasThread(*slot); });
  // GetStackTrace of the thread comes between the walks of a bracket.
  Assert(1, [&] { return !slot->bracket.walking.load(std::memory_order_seq_cst); });
  const auto& registers = *static_cast<const ucontext_t*>(context);
  Spot& spot = t->spot;
  ReadPlace(state.code, registers, &spot);
  const uint64_t began_nanos = MonotonicNanos();
  HandlerScope scope(slot->status, t->sample, spot.pc, spot.sp, began_nanos);

  if (t->shadow != nullptr) CopyShadow(*slot, state.options.depth, t);
  t->unjudged = Unjudged(*slot, registers);
  t->num_frames = 0;
  t->words_size = 0;
  if (t->unjudged != Reason::kWalkerBusy) {
    slot->busy = 1;
    AsgctTrace trace = {slot->env, 0, t->frames};
    scope.In(MISSTEP_PHASE_WALK);
    Walk(state, &trace, context, t->sample);
    t->num_frames = trace.num_frames;
    const uint64_t end = slot->stack.EndFrom(spot.sp);
    ReadReturns(state.code, end, &spot);
    t->deoptimises = trace.num_frames == kDeoptCode && state.deopt_stubs.OnStack(spot.sp, end);
    if (trace.num_frames <= -3 && trace.num_frames >= -6) GuessCallers(state, slot, t, registers, end);
    scope.In(MISSTEP_PHASE_HANDLER);
    // A walk that does not reach the thread's bottom may be wrong. GetStackTrace is the best source for the bottom: a
    // sample that is cut off below everything on the shadow stack matches.
    const uint64_t bottom =
        trace.num_frames > 0 ? reinterpret_cast<uint64_t>(t->frames[trace.num_frames - 1].method) : 0;
    const uint64_t gst = slot->bottom.load(std::memory_order_relaxed);
    const bool lost = trace.num_frames > 0 && bottom != (gst != 0 ? gst : slot->root.load(std::memory_order_relaxed));
    t->words_size = lost ? state.code.WordsOnStack(spot.sp, end, {t->words, CodeMap::kMostWords}) : 0;
    slot->busy = 0;
  }
  t->took_nanos = MonotonicNanos() - began_nanos;
}

// Claims an idle ticket; null if the judge has not emptied any for too long.
Ticket* ClaimTicket(Slot* slot) {
  for (Ticket& t : slot->tickets) {
    TicketState idle = TicketState::kIdle;
    if (t.state.compare_exchange_strong(idle, TicketState::kFilling, std::memory_order_seq_cst)) return &t;
  }
  return nullptr;
}

// One tick of the thread's own turn. A tick while the thread is in the agent, or outside of this check's share, does
// not count as sent; one without a free ticket is overrun.
void TakeTick(State& state, Slot* slot, void* context) {
  Turn& turn = slot->turn;
  const uint64_t began_nanos = MonotonicNanos();
  const uint64_t step_nanos = DrawStep(state.options, &turn.random);
  // A thread that only ran to take the last signal does not run: its stack is the one that was just walked.
  if (OwnCpuNanos() - turn.cpu_nanos < std::min(kRanNanos, step_nanos / 4)) {
    state.spare_ticks.fetch_add(turn.ticks.exchange(0), std::memory_order_relaxed);
    return;
  }
  const bool drawn = state.options.asgct_shadow >= 1 || Uniform(&turn.random) < state.options.asgct_shadow;
  if (drawn && slot->status->phase.load(std::memory_order_relaxed) == MISSTEP_PHASE_NONE) {
    Ticket* t = ClaimTicket(slot);
    if (state.turns_stopped.load(std::memory_order_seq_cst)) {
      if (t != nullptr) t->state.store(TicketState::kIdle, std::memory_order_release);
      return;
    }
    const uint64_t sample = state.status->sent.fetch_add(1, std::memory_order_relaxed) + 1;
    state.status->delivered.fetch_add(1, std::memory_order_relaxed);
    if (t == nullptr) {
      Count(state.status, Check::kAsgctShadow, Verdict::Void(Reason::kOverrun));
    } else {
      t->sample = sample;
      Fill(state, slot, t, context);
      t->state.store(TicketState::kReady, std::memory_order_release);
      slot->ready.fetch_add(1, std::memory_order_release);
    }
  }
  turn.cpu_nanos = OwnCpuNanos();
  if (turn.ticks.fetch_sub(1, std::memory_order_acq_rel) <= 1) return;
  // Missed ticks are skipped, and no thread spends more than half of its time here.
  const uint64_t now_nanos = MonotonicNanos();
  turn.due_nanos = turn.due_nanos + step_nanos > now_nanos ? turn.due_nanos + step_nanos : now_nanos + step_nanos;
  SetTimer(turn, std::max(turn.due_nanos, now_nanos + (now_nanos - began_nanos)));
}

void Handle(int, siginfo_t* info, void* context) {
  const int saved_errno = errno;
  State* state = handled;
  if (state != nullptr) {
    Slot* slot = Threads::Current();
    bool filled = false;
    const bool own = info->si_code == SI_QUEUE && info->si_pid == own_pid;
    const auto value = own ? reinterpret_cast<uint64_t>(info->si_value.sival_ptr) : 0;
    const auto what = static_cast<SignalFor>(value & ((1 << kSignalForBits) - 1));
    if (slot != nullptr && info->si_code == SI_TIMER && info->si_value.sival_ptr == slot &&
        slot->turn.ticks.load(std::memory_order_acquire) > 0) {
      TakeTick(*state, slot, context);
      filled = true;
    } else if (own && what == SignalFor::kAdoption) {
      if (Adoption* adoption = state->adoption) adoption->Take(Blocked(*static_cast<const ucontext_t*>(context)));
      filled = true;
    } else if (slot != nullptr && own) {
      const uint64_t sequence = value >> kSignalForBits;
      Ticket* t = what == SignalFor::kBracketFirst    ? &slot->bracket.first
                  : what == SignalFor::kBracketSecond ? &slot->bracket.second
                                                      : &slot->tickets[sequence % kWarmTickets];
      TicketState pending = TicketState::kPending;
      // A late signal finds a ticket that was given up (idle) or that belongs to another signal: it is stray, and its
      // sample was counted as lost.
      if (t->sequence == sequence && t->state.compare_exchange_strong(pending, TicketState::kFilling)) {
        state->status->delivered.fetch_add(1, std::memory_order_relaxed);
        Fill(*state, slot, t, context);
        t->state.store(TicketState::kReady, std::memory_order_release);
        if (what == SignalFor::kSample) {
          slot->ready.fetch_add(1, std::memory_order_release);
        } else {
          state->bracketer_wake.Wake();
        }
        filled = true;
      }
    }
    if (!filled) state->status->stray.fetch_add(1, std::memory_order_relaxed);
  }
  errno = saved_errno;
}

}  // namespace

std::string InstallHandler(State& state) {
  const int signal = state.options.signal;
  own_pid = getpid();
  struct sigaction before = {};
  if (sigaction(signal, nullptr, &before) != 0)
    return std::string("cannot read the signal's handler: ") + strerror(errno);
  const bool taken = (before.sa_flags & SA_SIGINFO) != 0 ? before.sa_sigaction != nullptr
                                                         : before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN;
  if (taken) {
    return "signal " + std::to_string(signal) + " already has a handler: choose another with the option signal";
  }
  struct sigaction action = {};
  action.sa_sigaction = Handle;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigfillset(&action.sa_mask);
  // The walk may fault inside HotSpot's SafeFetch, which its own handlers resolve.
  for (const int s : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP}) sigdelset(&action.sa_mask, s);
  if (sigaction(signal, &action, nullptr) != 0)
    return std::string("cannot install the signal handler: ") + strerror(errno);
  handled = &state;
  return "";
}

void ReleaseSignal(const State& state) {
  struct sigaction ignore = {};
  ignore.sa_handler = SIG_IGN;
  sigaction(state.options.signal, &ignore, nullptr);
}

}  // namespace misstep
