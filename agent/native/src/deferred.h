// Verdicts that wait for events still to come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>

#include "events.h"

namespace misstep {

// The deferred verdicts of one check, the oldest first. A Waiting owns its data and has the time since which it waits,
// since_nanos.
template <typename Waiting>
class Deferred {
 public:
  explicit Deferred(Events& events) : events_(events) {}

  // Takes one over and returns true; returns false, and leaves it, if `most` wait already.
  bool Add(std::unique_ptr<Waiting>* one, size_t most) {
    if (waiting_.size() >= most) return false;
    waiting_.push_back(std::move(*one));
    return true;
  }
  bool empty() const { return waiting_.empty(); }

  // Passes those that have waited long enough to judge, at the end all.
  template <typename Judge>
  void Take(uint64_t now_nanos, bool end, const Judge& judge) {
    if (!waiting_.empty()) events_.Look(now_nanos);
    while (!waiting_.empty() && (end || events_.WaitedLong(waiting_.front()->since_nanos))) {
      const std::unique_ptr<Waiting> one = std::move(waiting_.front());
      waiting_.pop_front();
      judge(one.get());
    }
  }

 private:
  Events& events_;
  std::deque<std::unique_ptr<Waiting>> waiting_;
};

}  // namespace misstep
