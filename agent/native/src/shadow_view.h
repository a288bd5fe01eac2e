// What stands on the shadow of a thread at an instant. Of a carrier that is its own entries and, between two parts of
// them, those of the virtual thread which is mounted on it: each has a buffer (abi.h).
#pragma once

#include <cstdint>
#include <span>

#include "frame.h"
#include "threads.h"

namespace misstep {

struct ShadowView {
  std::span<const uint64_t> below;    // the thread's own; with a virtual thread those from before its mount
  std::span<const uint64_t> mounted;  // the virtual thread's
  std::span<const uint64_t> above;    // the carrier's from since then: it runs as itself above the virtual thread
  Mounted state = Mounted::kNone;
  bool overflow = false;  // one of the buffers ran over: all parts are empty

  uint64_t size() const { return below.size() + mounted.size() + above.size(); }
};

// Looks at the shadow of a thread by its own buffer. On the thread itself, in a signal handler too, it is exact: only
// the thread writes there, and nothing is pushed between the write of MISSTEP_SHADOW_MOUNTED and the change of the
// current thread (Patch.java). Async-signal-safe.
ShadowView ViewShadow(const uint64_t* own);

// Whether a virtual thread may be mounted on the thread of this slot whose shadow is unknown: it has none, or virtual
// threads were seen there and nothing has ever said which one is mounted (JDKs whose VirtualThread.mount is another).
// Once something has, it always does.
inline bool MayCarry(const Slot& slot, Mounted state) {
  const bool says = slot.mounts.load(std::memory_order_relaxed) || state == Mounted::kKnown;
  return state == Mounted::kUnknown || (!says && slot.carrier.load(std::memory_order_relaxed));
}

// Copies the entries of all parts, oldest first, but for the first skip ones. Async-signal-safe.
template <typename T>
void CopyEntries(const ShadowView& view, uint64_t skip, T* to) {
  for (const auto part : {view.below, view.mounted, view.above}) {
    for (const uint64_t entry : part) {
      if (skip > 0) {
        skip--;
      } else {
        *to++ = static_cast<T>(entry);
      }
    }
  }
}

}  // namespace misstep
