// Turns: the ticks of some milliseconds, all of which one thread takes (threads.h).
#pragma once

#include <cstdint>

#include "options.h"
#include "threads.h"

namespace misstep {

constexpr uint64_t kTurnNanos = 4'000'000;  // a turn has the ticks of this time
constexpr uint32_t kMostSpare = 3;          // the most turns whose unused ticks are made up for
constexpr uint64_t kRanNanos = 20'000;      // a thread counts as running with more CPU time since the last look

// Ticks of one turn.
inline uint32_t TicksOfTurn(const Options& o) { return static_cast<uint32_t>(kTurnNanos / 1000 / o.interval_micros); }

// Draws the time from one tick to the next, in nanoseconds. Async-signal-safe.
uint64_t DrawStep(const Options& options, uint64_t* random);

// Sets the time at which the thread's timer sends its next tick. Async-signal-safe.
void SetTimer(const Turn& turn, uint64_t due_nanos);

}  // namespace misstep
