// Which frames have an entry on the shadow, and the ways in which a stack can stand for a shadow.
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

// Frames bottom first, as the shadow is.
using Stack = std::vector<Frame>;

inline Stack BottomFirst(std::span<const Frame> top_first) { return Stack(top_first.rbegin(), top_first.rend()); }

inline bool Instrumented(const Frame& f) { return f.info != nullptr && f.info->key != 0; }

// The presence of a frame by its bci; callee is the frame above it, null for the top one.
//
// At a call the bci is exact. Below push_end the push has not happened, unless the call is the push itself: there
// constructors call others, and the VM calls its own. Within a pop the entry is gone once exit() has run; its last
// instruction is the return (or athrow), where it is gone already. A compiled method at its entry has a bci of -1.
Presence PresenceOf(const Frame& f, const Frame* callee);

// What it took to make both sides agree.
struct Taken {
  bool off = false;            // a frame below its push
  bool window = false;         // a frame in its push or pop, not on the shadow
  bool retransformed = false;  // such a frame of a retransformed class
  bool nameless = false;       // a frame without a jmethodID, on the shadow or not
  bool operator==(const Taken&) const = default;

  Verdict AsVerdict() const;
};

// One way in which the frames so far stand for shadow[0..at).
struct Way {
  size_t at = 0;
  Taken taken;
  bool operator==(const Way&) const = default;
};

// Finds the ways in which the stack can stand for shadow[0..n): calls done(n, taken) for each until it says true.
// Frames that may or may not be on the shadow are the only branches; both are followed, being on it first. Ways that
// have come to the same place by the same means are one, so there are never more than sixteen times as many as entries
// of the shadow.
template <typename Done>
bool Align(const Stack& stack, const Frame* above, std::span<const uint32_t> shadow, const Done& done) {
  std::vector<Way> ways(1);
  std::vector<Way> next;
  for (size_t i = 0; i < stack.size() && !ways.empty(); i++) {
    const Frame& f = stack[i];
    const Frame* callee = i + 1 < stack.size() ? &stack[i + 1] : above;
    const bool nameless = f.method == 0;
    const Presence presence = nameless ? Presence::kMaybe : PresenceOf(f, callee);
    if (presence == Presence::kOff && !Instrumented(f)) continue;
    next.clear();
    const auto add = [&](const Way& way) {
      if (std::find(next.begin(), next.end(), way) == next.end()) next.push_back(way);
    };
    for (Way way : ways) {
      way.taken.nameless |= nameless;
      if (presence != Presence::kOff && way.at < shadow.size() && (nameless || shadow[way.at] == f.info->key)) {
        add({.at = way.at + 1, .taken = way.taken});
      }
      if (presence == Presence::kOn) continue;
      (nameless                     ? way.taken.nameless
       : presence == Presence::kOff ? way.taken.off
       : f.info->retransformed      ? way.taken.retransformed
                                    : way.taken.window) = true;
      add(way);
    }
    ways.swap(next);
  }
  return std::any_of(ways.begin(), ways.end(), [&](const Way& way) { return done(way.at, way.taken); });
}

// The ways in which the whole stack stands for the whole shadow.
std::optional<Taken> AlignAll(const Stack& stack, std::span<const uint32_t> shadow);

// The keys that a stack is sure to have on the shadow, bottom first.
std::vector<uint32_t> SureKeys(const Stack& stack);

}  // namespace misstep
