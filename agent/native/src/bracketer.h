// The stages of a bracket (bracket.h): sampler -> bracketer -> handler -> bracketer -> handler -> bracketer -> judge.
//
// The sampler gives some threads turns of brackets; the bracketer takes one bracket after the other, as fast as the
// walks allow, and passes them to the judge. It is a daemon thread attached to the JVM: it alone calls GetStackTrace
// for other threads and waits for their safepoints; it runs no Java code of the application. The sampler never waits
// for it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "compare.h"
#include "lock.h"
#include "threads.h"
#include "verdict.h"

namespace misstep {

struct State;

// A bracket that owns its data.
struct OwnedBracket {
  struct Walk {
    std::vector<Frame> frames;
    int32_t code = 0;
    Spot spot;
    uint64_t sequence = 0;
    std::vector<StackWord> words;
    std::vector<NmethodRef> at_pc;  // compiled code that was there at any look: it may have been unloaded since
    Region region = Region::kUnknown;
    bool deoptimises = false;
  };
  bool all_described = false;  // events have described every method there is
  Walk before;
  std::vector<Frame> gst;
  Walk after;
  NmethodRef deoptimised;  // the caller at which a walk was cut off
  std::string thread;
  int64_t tid = 0;
  uint64_t since_nanos = 0;
};

class Bracketer {
 public:
  explicit Bracketer(State& state) : state_(state) {}

  // Returns false if no thread can be created.
  bool Start();
  // Waits for a current walk, for a bounded time, passes on brackets with all walks and gives up the others.
  void Stop();
  // Whether the bracketer's thread takes brackets.
  bool Runs() const { return !stopped_.load(std::memory_order_acquire); }

  // For the sampler: makes the bracketer take brackets of a thread to which no signal is pending: one, and further ones
  // until until_nanos. If the thread's turn is still going on, it is prolonged. The brackets come out of a budget of
  // all turns, which grows by count up to that of some turns. Returns false for a thread that cannot have brackets.
  bool Give(Slot* slot, uint32_t count, uint64_t until_nanos);
  // For the thread itself, when it ends: gives up its bracket if a signal is pending. The bracketer gives up the
  // others.
  void ThreadEnds(Slot* slot);
  // For the judge: the brackets that have been passed on.
  std::vector<std::unique_ptr<OwnedBracket>> TakeQueue();

 private:
  void Run();
  void WaitForWork(uint32_t seen, uint64_t soonest_nanos);
  bool QueueFull();
  void TakeIds(const BracketSlot& b) const;
  void GiveUp(Slot* slot, Reason reason) const;
  bool GiveUpPending(Slot* slot, Ticket* t, Reason reason) const;
  void Begin(Slot* slot);
  void WalkAtSafepoint(Slot* slot);
  void HandOn(Slot* slot);
  bool Step(Slot* slot, uint64_t* soonest_nanos);
  void Sweep(uint64_t now_nanos) const;

  State& state_;
  std::atomic<bool> stop_ = false;
  std::atomic<bool> stopped_ = true;  // no walk of the bracketer is going on, and none will be
  std::atomic<uint32_t> given_ = 0;   // brackets that turns were given and have not taken yet
  Mutex queue_mutex_;
  std::vector<std::unique_ptr<OwnedBracket>> queue_ GUARDED_BY(queue_mutex_);  // to the judge
};

}  // namespace misstep
