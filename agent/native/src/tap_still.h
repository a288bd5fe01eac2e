// Threads that stand, for tap.bin: one whose CPU time is the same at two looks has not run in between, and its shadow
// was one all the time. So a walk that no signal takes, as JFR's of threads in native code, has a shadow, too.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "../../abi.h"
#include "tap_file.h"
#include "threads.h"

namespace misstep {

// For one thread.
class StillThreads {
 public:
  // Takes a time that a thread stood, with the newest entries of its shadow, oldest first.
  using Take = std::function<void(const TapStill&, std::span<const uint32_t>)>;

  explicit StillThreads(Take take) : take_(std::move(take)) {}

  // Looks at all threads. Each time that one stood goes to take when it has ended, and a long one now and then before.
  void Look(const Threads& threads);
  // The times that have not ended go to take.
  void End();

 private:
  struct Thread {
    TapStill still;  // that began at the look before; its entries are not copied yet unless stands
    uint64_t cpu_nanos = 0;
    uint64_t taken_nanos = 0;
    bool stands = false;
    std::vector<uint32_t> entries;
  };
  void LookAt(const Slot& slot, Thread* thread);
  void Close(Thread* thread);

  Take take_;
  std::vector<Thread> threads_;  // by slot
};

}  // namespace misstep
