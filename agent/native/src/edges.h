// edges: for each pair of adjacent frames (caller at bci, callee), whether the bytecode at bci can have led to the
// callee. Needs one trace and no second observation, so it detects bogus frames, frames lost in the middle and frames
// in a wrong place, whichever walker took the trace.
//
// It cannot detect a fault that leaves every edge possible: a trace cut off at its bottom or top, a frame duplicated or
// lost within a recursion through one call site, a method confused with another of the same name and descriptor where
// an interface is called, and another bci at which the same method is called.
#pragma once

#include <cstdint>
#include <span>

#include "frame.h"
#include "verdict.h"

namespace misstep {

// Whether a class may be java.lang.Thread or a subclass of it. An unknown class may be.
bool MayBeThread(const ClassNode* klass);

// The explanation of an edge, from the strictest to none.
enum class Explained : uint8_t {
  kCall,          // an invoke of this method
  kUpcall,        // the VM may call this method from there
  kMethodHandle,  // a method handle's call of this shape
  kNativeCaller,  // a native method may call anything
  kRedefined,     // the caller's class was redefined: the frame may run another version
  kUnknown,       // caller or callee is not known
  kNothing,
  kCount,
};
inline constexpr const char* kExplainedNames[] = {"call",      "vm-upcall", "method-handle", "native-caller",
                                                  "redefined", "unknown",   "impossible"};
static_assert(sizeof(kExplainedNames) / sizeof(kExplainedNames[0]) == static_cast<size_t>(Explained::kCount));

Explained ExplainEdge(const Frame& caller, const Frame& callee);

struct EdgeCounts {
  uint32_t of[static_cast<size_t>(Explained::kCount)] = {};
};

// Judges a trace, top first. Divergence is the index from the bottom of the callee of the lowest impossible edge. The
// result is that of the trace's weakest edge; counts, to which it adds, has those of all.
Verdict CheckEdges(std::span<const Frame> frames, EdgeCounts* counts);

// The verdict on an edge. at is the divergence of an impossible one.
Verdict VerdictOn(Explained edge, uint32_t at);

// The instruction that the frame is at, null if it cannot have a callee.
const Site* SiteAt(const Frame& frame);

}  // namespace misstep
