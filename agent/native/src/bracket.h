// asgct-gst-bracket: AsyncGetCallTrace in a signal, GetStackTrace of the same thread at its next safepoint, then
// AsyncGetCallTrace again. Nothing is instrumented; a pure function judges what the thread can have done in between.
//
// The thread ran on between the walks, so that the frames common to both ASGCT walks need not be the same activations:
// a loop may have left them and come back. What is the lowest level touched is read from the byte code instead. The
// bottom frame is never left. As long as a frame stands at a call in no loop, in both of two walks, that call has not
// returned: the frame above is the same activation, so its method is the same, and it can only have moved to where the
// byte code lets it go. From the first frame on that has moved, or stands in a loop, or below the VM's own calls, the
// frames above it may all be new.
//
// An exception handler is taken to lie behind what it covers, as compilers put it: JVMTI shows no exception tables.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compare.h"

namespace misstep {

// One ASGCT walk of a bracket.
struct BracketWalk {
  std::span<const Frame> frames;  // top first, resolved
  int32_t code = 0;               // num_frames as ASGCT gave it
  Region region = Region::kUnknown;
  std::vector<NmethodRef> at_pc;  // compiled code that holds pc
  bool deoptimises = false;       // as in Sample
};

// The three walks in the order of time.
struct Bracket {
  BracketWalk before;
  std::span<const Frame> gst;  // top first, resolved
  BracketWalk after;
  uint32_t limit = 0;  // the depth that all were given
  bool told = false;   // the JVM has told of every method there is
};

// A bracket's verdict, and which walk a mismatch is about.
struct BracketVerdict {
  Verdict verdict;
  bool after = false;  // the second ASGCT walk is the suspect, else the first
};

// Judges a bracket. Divergence is the index from the bottom of gst.
BracketVerdict CompareBracket(const Bracket& bracket, const CodeLookup& code);

// Whether a thread's stack may end at the method, as far as its name tells: threads that native code attached have
// others.
bool MayBeBottom(const MethodInfo& m);

// Whether execution can get from one bci to the other: forward always, back along the method's branches.
bool CanReach(const Body& body, int32_t from, int32_t to);

// Whether a loop can lead from bci back to it.
bool InLoop(const Body& body, int32_t bci);

}  // namespace misstep
