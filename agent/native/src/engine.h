// The interface of each kind of check for the threads that run it: one file for each engine.
#pragma once

#include <cstddef>
#include <cstdint>

#include "threads.h"

namespace misstep {

class Engine {
 public:
  virtual ~Engine() = default;

  // Starts whatever the engine needs besides the threads of the sampler and of the judge. Failures are logged.
  virtual void Start() {}
  // Stops the engine, once the sampler's thread has ended: waits for current walks, for a bounded time, and gives up
  // the others.
  virtual void Stop() {}

  // Judges new results, and those that have waited long enough for the JVM's events; at the end all. For the judge's
  // thread, or the thread that takes its place at the end.
  virtual void Judge([[maybe_unused]] uint64_t now_nanos, [[maybe_unused]] bool end) {}
  // Whether verdicts wait for events still to come. For the same thread as Judge.
  virtual bool Waits() const { return false; }

  // Called by the thread of this slot when it ends: gives up the signals that are pending for it.
  virtual void GiveUp([[maybe_unused]] Slot* slot) {}
};

// An engine that takes ticks of the sampler and has threads walked at each of them. All functions are for the sampler's
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
  // Gives a thread its share of this tick, of which it is the first thread or a further one. Returns false if the
  // thread cannot take it now.
  virtual bool Give(Slot* slot, uint64_t now_nanos, bool first) = 0;
};

}  // namespace misstep
