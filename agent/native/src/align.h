// Which frames have an entry on the shadow stack, and how a stack can be aligned with a shadow stack.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "frame.h"
#include "verdict.h"

namespace misstep {

// Whether a frame has an entry on the shadow.
enum class Presence : uint8_t { kOn, kOff, kMaybe };

// Frames bottom first, as on the shadow stack.
using Stack = std::vector<Frame>;

inline Stack BottomFirst(std::span<const Frame> top_first) { return Stack(top_first.rbegin(), top_first.rend()); }

inline bool Instrumented(const Frame& f) { return f.info != nullptr && f.info->key != 0; }

// The presence of a frame by its bci; callee is the frame above it, null for the top one.
//
// At a call the bci is exact. Below push_end the push has not happened, unless the call is the push itself:
// constructors call others there, and the VM makes upcalls. Within a pop the entry is gone once exit() has run; the
// pop's last instruction is the return (or athrow), where the entry is already gone. A compiled method at its entry has
// bci -1.
Presence PresenceOf(const Frame& f, const Frame* callee);

// The tolerances with which both sides agree.
struct Tolerances {
  bool off = false;            // a frame before its push
  bool window = false;         // a frame in its push or pop, not on the shadow stack
  bool retransformed = false;  // such a frame of a retransformed class
  bool nameless = false;       // a frame without a jmethodID, on the shadow or not
  bool operator==(const Tolerances&) const = default;

  Verdict AsVerdict() const;
};

// One alignment of the frames so far with shadow[0..at).
struct Alignment {
  size_t at = 0;
  Tolerances tolerances;
  bool operator==(const Alignment&) const = default;
};

// Finds the alignments of the stack with shadow[0..n): calls done(n, tolerances) for each until it returns true. Frames
// that may or may not be on the shadow stack are the only branches; both are followed, the one on it first. Alignments
// at the same position with the same tolerances are merged, so there are at most sixteen for each entry of the shadow
// stack.
template <typename Done>
bool Align(const Stack& stack, const Frame* above, std::span<const uint32_t> shadow, const Done& done) {
  std::vector<Alignment> alignments(1);
  std::vector<Alignment> next;
  for (size_t i = 0; i < stack.size() && !alignments.empty(); i++) {
    const Frame& f = stack[i];
    const Frame* callee = i + 1 < stack.size() ? &stack[i + 1] : above;
    const bool nameless = f.method == 0;
    const Presence presence = nameless ? Presence::kMaybe : PresenceOf(f, callee);
    if (presence == Presence::kOff && !Instrumented(f)) continue;
    next.clear();
    const auto add = [&](const Alignment& alignment) {
      if (std::find(next.begin(), next.end(), alignment) == next.end()) next.push_back(alignment);
    };
    for (Alignment alignment : alignments) {
      alignment.tolerances.nameless |= nameless;
      if (presence != Presence::kOff && alignment.at < shadow.size() &&
          (nameless || shadow[alignment.at] == f.info->key)) {
        add({.at = alignment.at + 1, .tolerances = alignment.tolerances});
      }
      if (presence == Presence::kOn) continue;
      (nameless                     ? alignment.tolerances.nameless
       : presence == Presence::kOff ? alignment.tolerances.off
       : f.info->retransformed      ? alignment.tolerances.retransformed
                                    : alignment.tolerances.window) = true;
      add(alignment);
    }
    alignments.swap(next);
  }
  return std::any_of(alignments.begin(), alignments.end(),
                     [&](const Alignment& alignment) { return done(alignment.at, alignment.tolerances); });
}

// The first alignment of the whole stack with the whole shadow stack, if there is one.
std::optional<Tolerances> AlignAll(const Stack& stack, std::span<const uint32_t> shadow);

// The keys that a stack is certain to have on the shadow stack, bottom first.
std::vector<uint32_t> SureKeys(const Stack& stack);

}  // namespace misstep
