#include "signals.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>

#include "clock.h"
#include "state.h"

namespace misstep {

bool SendSignal(const State& state, int32_t tid, SignalFor what, uint64_t sequence) {
  static const pid_t own_pid = getpid();
  siginfo_t info = {};
  info.si_signo = state.options.signal;
  info.si_code = SI_QUEUE;
  info.si_pid = own_pid;
  info.si_uid = getuid();
  info.si_value.sival_ptr = reinterpret_cast<void*>(sequence << kSignalForBits | static_cast<uint64_t>(what));
  return syscall(SYS_rt_tgsigqueueinfo, own_pid, tid, state.options.signal, &info) == 0;
}

Sent SendTicket(const State& state, Slot* slot, Ticket* t, SignalFor what, uint64_t sequence) {
  slot->sending.store(true, std::memory_order_seq_cst);
  if (slot->state.load(std::memory_order_seq_cst) != SlotState::kActive) {
    slot->sending.store(false, std::memory_order_seq_cst);
    return Sent::kThreadEnded;
  }
  t->sequence = sequence;
  t->sent_nanos = MonotonicNanos();
  t->sample = state.status->sent.fetch_add(1, std::memory_order_relaxed) + 1;
  t->state.store(TicketState::kPending, std::memory_order_release);
  Sent sent = Sent::kYes;
  if (!SendSignal(state, slot->tid, what, sequence)) {
    TicketState pending = TicketState::kPending;
    if (t->state.compare_exchange_strong(pending, TicketState::kIdle)) sent = Sent::kRefused;
  }
  Assert(2, [&] { return HasThread(*slot); });
  slot->sending.store(false, std::memory_order_seq_cst);
  return sent;
}

bool UnderWay(const Slot& slot) {
  for (const Ticket& t : slot.tickets) {
    const TicketState s = t.state.load(std::memory_order_acquire);
    if (s == TicketState::kPending || s == TicketState::kFilling) return true;
  }
  return false;
}

}  // namespace misstep
