// What each kind of check is to those who run it: one file for each engine.
#pragma once

#include <cstddef>
#include <cstdint>

#include "threads.h"

namespace misstep {

class Engine {
 public:
  virtual ~Engine() = default;

  // Starts whatever it needs besides the threads of the sampler and of the judge. What fails is logged.
  virtual void Start() {}
  // Ends it, once the sampler's thread has ended: waits for walks under way, within reason, and gives up the others.
  virtual void Stop() {}

  // Judges what has come in, and what has waited long enough for the JVM's events; at the end everything. For the
  // judge's thread, or for whoever stands in for it.
  virtual void Judge([[maybe_unused]] uint64_t now_nanos, [[maybe_unused]] bool end) {}
  // Whether verdicts wait for events still to come. As Judge.
  virtual bool Waits() const { return false; }

  // The thread of this slot ends, and calls this: gives up the signals that are under way to it.
  virtual void GiveUp([[maybe_unused]] Slot* slot) {}
};

// An engine that takes ticks of the sampler, and with each has threads walked. All functions are for the sampler's
// thread.
class TickEngine : public Engine {
 public:
  // Whether it takes the ticks of some milliseconds at a time (turns.h).
  virtual bool InTurns() const = 0;
  // Draws whether it takes this tick.
  virtual bool Draw(uint64_t* random) = 0;
  // The number of threads among which it shares a tick.
  virtual size_t ThreadsOfTick() const = 0;
  // Whether a thread may take a tick now.
  virtual bool MayTake(const Slot& slot) const = 0;
  // Gives a thread its share of this tick, of which it is the first thread or a further one. Returns false when the
  // thread cannot take it now.
  virtual bool Give(Slot* slot, uint64_t now_nanos, bool first) = 0;
};

}  // namespace misstep
