// The calls under way that publish classes: what ends only later may still describe methods.
#pragma once

#include <atomic>
#include <cstdint>

namespace misstep {

// During a start classes are published most of the time, by several threads: at a given instant some call is under way,
// yet every call of a moment ago has ended. Lock-free.
class Publications {
 public:
  void Begin() { open_.fetch_add(1); }
  // now_nanos is a time at which the class had been published.
  void End(uint64_t now_nanos) {
    if (open_.fetch_sub(1) == 1) none_open_nanos_.store(now_nanos);
  }
  // Whether every call that began before that time has ended.
  bool EndedOf(uint64_t nanos) const { return open_.load() == 0 || none_open_nanos_.load() >= nanos; }

 private:
  std::atomic<int> open_ = 0;
  std::atomic<uint64_t> none_open_nanos_ = 0;  // every call that began before it has ended
};

}  // namespace misstep
