// The comparisons: pure functions from two observations of one stack to one verdict. No JVM, no locks, no clock.
//
// Every tolerance is bounded: it may explain what is above the youngest physical frame that both observations share,
// and nothing in the middle or at the bottom.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "frame.h"
#include "nmethod.h"
#include "verdict.h"

namespace misstep {

// ASGCT walks nothing from the beginning of a deoptimisation to its end. An uncommon trap for a class that is not
// loaded yet loads it in between, which runs the Java code of class loaders and transformers (HotSpot:
// Deoptimization::load_class_by_index). The trap's blob is on the stack then: without it -9 is as wrong as any code.
inline constexpr int32_t kDeoptCode = -9;
// ASGCT's code when class load events are off (HotSpot: forte.cpp, ticks_no_class_load).
inline constexpr int32_t kNoClassLoadCode = -1;

// Whether two stacks that GetStackTrace gave of a thread which did not run in between are the same: their frames may
// have other ids only.
bool SamePlaces(std::span<const Frame> a, std::span<const Frame> b);

// gst-asgct: both walks at the same safepoint. Frames top first. limit is the depth that both were given.
//
// Divergence is the index from the bottom of gst of the first difference; for kind truncated it is the deepest frame
// that asgct still has: what is below it was lost.
//
// deoptimises: the stack holds a return address into the code that deoptimises (DeoptStubs).
Verdict CompareGstAsgct(std::span<const Frame> gst, std::span<const Frame> asgct, int32_t asgct_code, uint32_t limit,
                        bool deoptimises = false);

// Whether a walk at a method entry is worth a second one: GetStackTrace makes missing jmethodIDs, and a GC that was
// under way is over. What the second walk shows counts; a match is said to be one of a second try.
bool WorthRetrying(int32_t asgct_code, std::span<const Frame> asgct);
Verdict AfterRetry(const Verdict& second);

// shadow-gst: the shadow (keys, bottom first) against GetStackTrace at the same place.
Verdict CompareShadowGst(std::span<const uint32_t> shadow, std::span<const Frame> gst, uint32_t limit);

// One answered signal.
struct Sample {
  std::span<const uint32_t> shadow;  // keys, bottom first
  std::span<const Frame> asgct;      // top first
  int32_t code = 0;                  // num_frames as ASGCT gave it
  uint32_t limit = 0;
  Region region = Region::kUnknown;
  std::vector<NmethodRef> at_pc;  // compiled code that holds pc
  bool deoptimises = false;       // at code -9: the stack holds a return address into the code that deoptimises
  bool deeper = false;            // the shadow is deeper than the buffers, and not here
  bool carrier = false;           // virtual threads were seen on it: one may be mounted though the walk shows none
  uint64_t root = 0;              // the thread's bottom method as an earlier walk that matched gave it, 0 = not known
  bool known_bottom = true;       // asgct's bottom method was at the bottom of a walk that matched, or none matched yet
  bool told = false;              // events have described every method there is
};

// The index of the lowest Continuation.enterSpecial: below it are the carrier's frames, above it those of the virtual
// thread that is mounted.
std::optional<size_t> SeamOf(std::span<const Frame> top_first);

// Whether a frame is of what mounts virtual threads, or of where they begin: no thread of the VM's begins there.
bool Mounts(const Frame& frame);

// The index from the bottom of the lowest frame whose id is of no method that is known, null ones apart.
std::optional<uint32_t> Unknown(std::span<const Frame> top_first);

// The number of frames on top of an ASGCT walk that are only as good as the debug info at pc: the top physical frame
// with what is inlined in it. At least 1 when there are frames; where it is not known, as many as it may be.
size_t TopGroup(std::span<const Frame> asgct, Region region, std::span<const NmethodRef> at_pc, const CodeLookup& code);

// A signal's walk that gave a code, 0 or less, in place of frames; deoptimises as in Sample.
Verdict JudgeCode(int32_t code, Region region, std::span<const NmethodRef> at_pc, bool deoptimises);

// asgct-shadow: compares from the bottom.
Verdict CompareAsgctShadow(const Sample& sample, const CodeLookup& code);

// Whether a frame of this method at bci has an entry on the shadow whatever is above it.
bool CertainlyOnShadow(const MethodInfo& method, int32_t bci);

// asgct-shadow by the trace stack: the frames that GetStackTrace showed at the entry of a method that still runs,
// bottom first. All of them are known with their bci but the last, which moves on. To be asked when the shadow agrees.
Verdict CompareTrace(std::span<const Frame> trace, const Sample& sample, const CodeLookup& code);

// The JVM may switch class load events off before it says that it dies (JvmtiExport::post_vm_death in 27): what
// such a code is, once ended tells whether it does. To be asked a moment later.
Verdict AtTheEnd(const Verdict& verdict, int32_t code, bool ended);

// A signal's verdict that no event can change any more: where it is of code that none has told of, a mismatch is void.
Verdict Settled(const Verdict& verdict, int32_t code, Region region, bool ended);

// Whether all of this compiled code is known to be of Java methods, none of a native method's wrapper.
bool AllJava(std::span<const NmethodRef> at_pc);

// Tells whether the verdict rests on a method or on code that events may still tell of: judge again later.
bool MayBeEarly(const Sample& sample, const Verdict& verdict);

}  // namespace misstep
