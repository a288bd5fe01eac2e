// What the sampler's parts share: sending one signal, threads of the agent, time limits.
#pragma once

#include <pthread.h>

#include <cstdint>
#include <span>

#include "bracketer.h"
#include "threads.h"
#include "verdict.h"

namespace misstep {

constexpr uint64_t kLostNanos = 500'000'000;         // a signal not handled by then is lost
constexpr uint32_t kMostSpare = 3;                   // turns whose ticks are made up for
constexpr uint64_t kEarlyNanos = 250'000'000;        // how long a judgement waits for events still to come, at least
constexpr uint64_t kMostEarlyNanos = 5'000'000'000;  // and at most

enum class Sent : uint8_t { kYes, kThreadEnded, kRefused };

// Sends the signal that fills an idle ticket of this slot; counted as sent unless the thread has ended. Only one signal
// may be under way to a thread: a pending one of the same number would swallow the next. A ticket whose signal the
// kernel refused is idle again.
Sent SendTicket(Slot* slot, Ticket* ticket, SignalFor what, uint64_t sequence);

// Starts a thread that gets none of the JVM's signals and none of ours.
bool StartThread(pthread_t* thread, void* (*run)(void*));

void SleepUntil(uint64_t monotonic_nanos);

// Whether a judgement that waits for events since then has waited long enough to be made: until the JVM has
// told of its code, or longer than makes sense. While it tells of a class that goes on for a while.
bool WaitedLong(uint64_t since);
// Looks how far the JVM has come with its events. For the judge's thread, or who stands in for it, as the other two.
void LookForEvents(uint64_t now);
// What a judgement is worth that has waited since then: a difference is none when the JVM has not told of its code.
Verdict AfterEvents(const Verdict& verdict, uint64_t since);
// Whether events will tell, sooner or later, of the methods of frames without info, if they are any. Where edges are
// off nobody asks about the stacks that GetStackTrace shows, nor is a retransformation told of.
bool MayTell(std::span<const Frame> frames);
// Whether events have told of every method that a walk since then may show: frames without info have ids of none. To be
// asked before they are resolved for the last time.
bool Told(std::span<const Frame> frames, uint64_t since);

}  // namespace misstep
