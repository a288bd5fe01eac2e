// What the sampler's parts share: sending one signal, threads of the agent, time limits.
#pragma once

#include <pthread.h>

#include <cstdint>

#include "bracketer.h"
#include "threads.h"

namespace misstep {

constexpr uint64_t kLostNanos = 500'000'000;   // a signal not handled by then is lost
constexpr uint32_t kMostSpare = 3;             // turns whose ticks are made up for
constexpr uint64_t kEarlyNanos = 250'000'000;  // how long a judgement waits for events still to come

enum class Sent : uint8_t { kYes, kThreadEnded, kRefused };

// Sends the signal that fills an idle ticket of this slot; counted as sent unless the thread has ended. Only one signal
// may be under way to a thread: a pending one of the same number would swallow the next. A ticket whose signal the
// kernel refused is idle again.
Sent SendTicket(Slot* slot, Ticket* ticket, SignalFor what, uint64_t sequence);

// Starts a thread that gets none of the JVM's signals and none of ours.
bool StartThread(pthread_t* thread, void* (*run)(void*));

void SleepUntil(uint64_t monotonic_nanos);

}  // namespace misstep
