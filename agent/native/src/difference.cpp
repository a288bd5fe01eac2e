#include "difference.h"

#include <algorithm>

namespace misstep {

std::vector<Location> Locations(std::span<const Frame> top_first, bool gst) {
  std::vector<Location> all;
  all.reserve(top_first.size());
  for (size_t i = top_first.size(); i > 0; i--) {
    const Frame& f = top_first[i - 1];
    const MethodInfo* callee = i > 1 ? top_first[i - 2].info : nullptr;
    const bool compiles =
        callee != nullptr && (callee->upcall == Upcall::kLoad || callee->upcall == Upcall::kException);
    all.push_back({f.method, f.bci != -1 ? f.bci : gst ? -3 : compiles ? 0 : -1});
  }
  return all;
}

Verdict ClassifyShadow(std::span<const uint32_t> shadow, const Stack& stack) {
  const std::vector<uint32_t> keys = SureKeys(stack);
  Verdict v = Classify<uint32_t>(shadow, keys);
  if (std::equal(shadow.begin(), shadow.end(), keys.begin(), keys.end())) {
    // Cannot be: equal sequences align. Kept as a difference on top, so that an error here is seen and not hidden.
    v = Verdict::Mismatch(Kind::kExtra, static_cast<uint32_t>(keys.size()));
  }
  return v;
}

}  // namespace misstep
