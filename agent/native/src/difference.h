// Names for the difference between two stacks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "align.h"
#include "frame.h"
#include "verdict.h"

namespace misstep {

// Names the difference between a trusted and a suspect sequence, both bottom first.
template <typename T>
Verdict Classify(std::span<const T> trusted, std::span<const T> suspect) {
  const size_t n = trusted.size();
  const size_t m = suspect.size();
  size_t bottom = 0;
  while (bottom < n && bottom < m && trusted[bottom] == suspect[bottom]) bottom++;
  size_t top = 0;
  while (top < n && top < m && trusted[n - 1 - top] == suspect[m - 1 - top]) top++;
  const auto at = [](size_t i) { return static_cast<uint32_t>(i); };
  if (m < n) {
    if (top == m)
      return Verdict::Mismatch(bottom == m && m > 0 ? Kind::kMissing : Kind::kTruncated,
                               bottom == m && m > 0 ? at(bottom) : at(n - m));
    if (bottom == 0) {
      // Truncated with a top that differs, too: the suspect's bottom matches somewhere above the trusted one's.
      for (size_t j = 1; j < n; j++) {
        size_t run = 0;
        while (run < m && j + run < n && trusted[j + run] == suspect[run]) run++;
        if (run > 0 && run + 2 >= m) return Verdict::Mismatch(Kind::kTruncated, at(j));
      }
      return Verdict::Mismatch(Kind::kForeign, 0);
    }
    return Verdict::Mismatch(bottom + top >= m ? Kind::kMissing : Kind::kForeign, at(bottom));
  }
  if (m > n) return Verdict::Mismatch(bottom + top >= n ? Kind::kExtra : Kind::kForeign, at(bottom));
  return Verdict::Mismatch(bottom + top + 1 == n ? Kind::kWrongMethod : Kind::kForeign, at(bottom));
}

struct Location {
  uint64_t method;
  int32_t bci;
  bool operator==(const Location&) const = default;
};

// Two constants differ between the walkers. A native method's location is -1 for GetStackTrace and -3 for ASGCT. A
// compiled method at its entry, where it requests its own recompilation and thus has classes loaded (C1's counter,
// CompileBroker::compile_method), is at 0 for GetStackTrace (compiledVFrame::bci) and at -1 for ASGCT. Any other
// negative number is left unchanged.
std::vector<Location> Locations(std::span<const Frame> top_first, bool gst);

// Names the difference between a shadow stack (keys, bottom first) and a stack that cannot be aligned with it.
Verdict ClassifyShadow(std::span<const uint32_t> shadow, const Stack& stack);

}  // namespace misstep
