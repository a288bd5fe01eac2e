// asgct-gst-bracket: AsyncGetCallTrace in a signal, GetStackTrace of the same thread at its next safepoint, then
// AsyncGetCallTrace again. Nothing is instrumented; a pure function judges what the thread can have done in between.
//
// The thread continued between the walks, so the frames common to both ASGCT walks need not be the same activations: a
// loop may have left them and come back. The lowest level that may have changed is therefore derived from the bytecode.
// The bottom frame is never left. As long as a frame is at the same call, outside of any loop, in both of two walks,
// that call has not returned: the frame above is the same activation, so its method is the same, and its bci can only
// have moved to where the bytecode allows. From the first frame on that has moved, or is in a loop, or is below an
// upcall of the VM, all frames above may be new.
//
// An exception handler is assumed to be located after the code that it covers, where compilers put it: JVMTI does not
// expose exception tables.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compare.h"

namespace misstep {

// One ASGCT walk of a bracket.
struct BracketWalk {
  std::span<const Frame> frames;  // top first, resolved
  int32_t code = 0;               // num_frames as ASGCT returned it
  Region region = Region::kUnknown;
  std::vector<NmethodRef> at_pc;  // compiled code that contains pc
  bool deoptimises = false;       // as in Sample
};

// The three walks in the order of time.
struct Bracket {
  BracketWalk before;
  std::span<const Frame> gst;  // top first, resolved
  BracketWalk after;
  uint32_t limit = 0;          // the depth limit of all walks
  bool all_described = false;  // events have described every method there is
};

// A bracket's verdict, and which walk a mismatch is about.
struct BracketVerdict {
  Verdict verdict;
  bool after = false;  // the suspect is the second ASGCT walk, else the first
};

// Judges a bracket. Divergence is the index from the bottom of gst.
BracketVerdict CompareBracket(const Bracket& bracket, const CodeLookup& code);

// Whether a thread's stack may begin with the method, judging by its name: threads that native code attached may have
// other bottom methods.
bool MayBeBottom(const MethodInfo& m);

// Whether execution can get from one bci to the other: forward always, backward along the method's branches.
bool CanReach(const Body& body, int32_t from, int32_t to);

// Whether a loop can lead from bci back to it.
bool InLoop(const Body& body, int32_t bci);

}  // namespace misstep
