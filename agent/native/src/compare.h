// The comparisons: pure functions from two observations of one stack to one verdict. No JVM, no locks, no clock.
//
// Every tolerance is bounded: it may explain differences above the youngest physical frame that both observations
// share, and none in the middle or at the bottom.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "frame.h"
#include "nmethod.h"
#include "verdict.h"

namespace misstep {

// From the beginning of a deoptimisation to its end ASGCT walks nothing. In between, an uncommon trap for a class that
// is not loaded yet loads it, which runs Java code of class loaders and transformers (HotSpot:
// Deoptimization::load_class_by_index). The trap's blob is then on the stack: without it -9 is as wrong as any code.
inline constexpr int32_t kDeoptCode = -9;
// ASGCT's code when class load events are off (HotSpot: forte.cpp, ticks_no_class_load).
inline constexpr int32_t kNoClassLoadCode = -1;

// Whether two results of GetStackTrace for a thread that did not run in between are the same stack: their frames may
// differ only in ids.
bool SamePlaces(std::span<const Frame> a, std::span<const Frame> b);

// gst-asgct: both walks at the same safepoint. Frames top first. limit is the depth limit of both walks.
//
// Divergence is the index from the bottom of gst of the first difference; for kind truncated it is the deepest frame
// that asgct still has: the frames below were lost.
//
// deoptimises: the stack holds a return address into the code that deoptimises (DeoptStubs).
Verdict CompareGstAsgct(std::span<const Frame> gst, std::span<const Frame> asgct, int32_t asgct_code, uint32_t limit,
                        bool deoptimises = false);

// Whether a walk at a method entry is worth repeating: GetStackTrace creates missing jmethodIDs, and a GC that was in
// progress may be over. The second walk counts; a match is reported as one of a second try.
bool WorthRetrying(int32_t asgct_code, std::span<const Frame> asgct);
Verdict AfterRetry(const Verdict& second);

// shadow-gst: the shadow stack (keys, bottom first) against GetStackTrace at the same place.
Verdict CompareShadowGst(std::span<const uint32_t> shadow, std::span<const Frame> gst, uint32_t limit);

// One answered signal.
struct Sample {
  std::span<const uint32_t> shadow;  // keys, bottom first
  std::span<const Frame> asgct;      // top first
  int32_t code = 0;                  // num_frames as ASGCT returned it
  uint32_t limit = 0;
  Region region = Region::kUnknown;
  std::vector<NmethodRef> at_pc;  // compiled code that contains pc
  bool deoptimises = false;       // at code -9: the stack holds a return address into the code that deoptimises
  bool deeper = false;            // the shadow stack is deeper than the buffers, and missing here
  bool carrier = false;           // a virtual thread may be mounted though neither shadow nor walk show one
  Mounted mounted = Mounted::kNone;
  size_t mount_at = 0;         // with a virtual thread: where its entries begin on the shadow, between its carrier's
  uint64_t root = 0;           // the thread's bottom method according to an earlier matching walk, 0 = unknown
  bool known_bottom = true;    // asgct's bottom method was the bottom of a matching walk, or none has matched yet
  bool all_described = false;  // events have described every method there is
};

// The index of the lowest Continuation.enterSpecial: below it are the carrier's frames, above it those of the virtual
// thread that is mounted.
std::optional<size_t> SeamOf(std::span<const Frame> top_first);

// Whether a frame belongs to the code that mounts virtual threads, or to where they begin: no platform thread begins
// there.
bool Mounts(const Frame& frame);

// The index from the bottom of the lowest frame whose id is that of no known method, null ids apart.
std::optional<uint32_t> Unknown(std::span<const Frame> top_first);

// The number of frames on top of an ASGCT walk that are only as good as the debug info at pc: the top physical frame
// with the frames inlined into it. At least 1 if there are frames; if unknown, the largest possible number.
size_t TopGroup(std::span<const Frame> asgct, Region region, std::span<const NmethodRef> at_pc, const CodeLookup& code);

// Judges a signal's walk that returned a code, 0 or less, instead of frames; deoptimises as in Sample.
Verdict JudgeCode(int32_t code, Region region, std::span<const NmethodRef> at_pc, bool deoptimises);

// asgct-shadow: compares from the bottom.
Verdict CompareAsgctShadow(const Sample& sample, const CodeLookup& code);

// Whether a frame of this method at bci has an entry on the shadow stack whatever is above it.
bool CertainlyOnShadow(const MethodInfo& method, int32_t bci);

// asgct-shadow by the trace stack: the frames that GetStackTrace returned at the entry of a method that is still
// active, bottom first. All their bcis are known except the last one's, which changes. To be used if the shadow stack
// agrees.
Verdict CompareTrace(std::span<const Frame> trace, const Sample& sample, const CodeLookup& code);

// The JVM may switch class load events off before it announces its end (JvmtiExport::post_vm_death in 27): judges the
// code of such a walk, once it is known whether the JVM has ended. To be called a moment later.
Verdict AtTheEnd(const Verdict& verdict, int32_t code, bool ended);

// A signal's verdict that no event can change any more: a mismatch in code that no event has described is void.
Verdict Settled(const Verdict& verdict, int32_t code, Region region, bool ended);

// Whether all of this compiled code is known to be that of Java methods, not of native wrappers.
bool AllJava(std::span<const NmethodRef> at_pc);

// Whether the verdict depends on a method or on code that events may still describe, and is to be judged again later.
bool MayBeEarly(const Sample& sample, const Verdict& verdict);

}  // namespace misstep
