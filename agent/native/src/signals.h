// The signals that make a thread walk its own stack: how one is sent and what it is for.
#pragma once

#include <cstdint>

#include "threads.h"

namespace misstep {

struct State;

constexpr uint64_t kLostNanos = 500'000'000;  // a signal that was not handled after this time is lost

// Which ticket a signal is for: the low bits of its value, the ticket's sequence number above them.
enum class SignalFor : uint64_t { kSample, kBracketFirst, kBracketSecond, kAdoption };
constexpr int kSignalForBits = 2;

enum class Sent : uint8_t { kYes, kThreadEnded, kRefused };

// Sends a thread the agent's signal. Returns false if the kernel refused.
bool SendSignal(const State& state, int32_t tid, SignalFor what, uint64_t sequence);

// Sends the signal that fills an idle ticket of this slot; counted as sent unless the thread has ended. Only one signal
// may be pending for a thread: a pending one of the same number would swallow the next. A ticket whose signal the
// kernel refused is idle again.
Sent SendTicket(const State& state, Slot* slot, Ticket* ticket, SignalFor what, uint64_t sequence);

// Whether a signal to the thread is pending or being handled, those of brackets apart.
bool UnderWay(const Slot& slot);

}  // namespace misstep
