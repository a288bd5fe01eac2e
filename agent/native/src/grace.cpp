#include "grace.h"

#include <algorithm>
#include <utility>

namespace misstep {

bool Runnable(std::string_view stat) {
  // "TID (NAME) STATE ...", where a name may hold anything.
  const size_t name_end = stat.rfind(") ");
  return name_end != std::string_view::npos && stat.substr(name_end + 2, 1) == "R";
}

void Grace::Begin(uint64_t now) {
  begun_ = now;
  sending_ = false;
  open_.clear();
  for (const int32_t tid : view_.threads()) open_.push_back({tid, view_.cpu_nanos(tid)});
}

void Grace::Look(uint64_t now) {
  if (now < next_) return;
  next_ = now + kLookNanos;
  if (begun_ == 0) return Begin(now);
  if (sending_) {
    const int32_t sender = view_.sender();
    if (sender != 0 && view_.runnable(sender)) return;
    told_ = begun_;
    return Begin(now);
  }
  std::erase_if(open_, [&](const Thread& t) {
    return view_.cpu_nanos(t.tid) >= t.cpu_nanos + kWhileNanos || !view_.runnable(t.tid);
  });
  sending_ = open_.empty();
}

}  // namespace misstep
