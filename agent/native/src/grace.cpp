#include "grace.h"

#include <algorithm>
#include <utility>

namespace misstep {

bool Sleeps(std::string_view stat) {
  // "TID (NAME) STATE ...", where a name may hold anything.
  const size_t name_end = stat.rfind(") ");
  return name_end != std::string_view::npos && stat.substr(name_end + 2, 1) == "S";
}

void Grace::Begin(uint64_t now) {
  const auto threads = view_.threads();
  begun_ = threads ? now : 0;
  rests_ = 0;
  open_.clear();
  if (!threads) return;
  for (const int32_t tid : *threads) open_.push_back({tid, view_.cpu_nanos(tid)});
}

void Grace::Look(uint64_t now) {
  if (now < next_) return;
  next_ = now + kLookNanos;
  if (begun_ == 0) return Begin(now);
  if (!open_.empty()) {
    std::erase_if(open_, [&](const Thread& t) {
      const bool ran = t.cpu_nanos != 0 && view_.cpu_nanos(t.tid) >= t.cpu_nanos + kWhileNanos;
      return ran || view_.rests(t.tid);
    });
    return;
  }
  const int32_t sender = view_.sender();
  rests_ = sender == 0 || view_.rests(sender) ? rests_ + 1 : 0;
  if (rests_ < kRests) return;
  announced_until_ = begun_;
  Begin(now);
}

}  // namespace misstep
