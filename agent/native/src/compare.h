// The comparisons: pure functions from two observations of one stack to one verdict. No JVM, no locks, no clock.
//
// Every tolerance is bounded: it may explain what is above the youngest physical frame that both observations share,
// and nothing in the middle or at the bottom.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "edges.h"
#include "verdict.h"

namespace misstep {

// What a method means to the comparisons.
enum class Role : uint8_t {
  kPlain,
  kEnter,         // MisstepShadow.enter
  kExit,          // MisstepShadow.exit
  kRuntime,       // the rest of MisstepShadow
  kContinuation,  // jdk.internal.vm.Continuation.enterSpecial: between a virtual thread and its carrier
};

// A method, immutable once published.
struct MethodInfo {
  std::string_view class_name;  // internal form, with slashes
  std::string_view name;
  std::string_view descriptor;
  uint32_t key = 0;  // equal for equal class, name and descriptor; 0 = not instrumented
  Role role = Role::kPlain;
  bool native = false;
  bool is_static = false;
  bool retransformed = false;
  Upcall upcall = Upcall::kNone;                   // what the VM may call it for
  const ClassNode* klass = nullptr;                // null when no code is read
  const Body* body = nullptr;                      // null when there is none or no code is read
  int32_t push_end = 0;                            // first bci after the push
  std::vector<std::pair<int32_t, int32_t>> exits;  // [start, end) of each pop; its last byte is the return
  bool operator==(const MethodInfo&) const = default;
};

// One frame of GST or ASGCT. info is null when no event has told of the method.
struct Frame {
  uint64_t method = 0;  // jmethodID, never dereferenced
  int32_t bci = 0;
  const MethodInfo* info = nullptr;
};

// Whether a method's class has got other code.
inline bool Changed(const MethodInfo& m) {
  return m.retransformed || (m.klass != nullptr && m.klass->redefined.load(std::memory_order_relaxed));
}

// Whether these are two versions of one method: when its class is redefined, frames that go on running the old one get
// a jmethodID of their own (HotSpot: VM_RedefineClasses::check_methods_and_mark_as_obsolete).
inline bool OtherVersion(const MethodInfo& a, const MethodInfo& b) {
  return a.class_name == b.class_name && a.name == b.name && a.descriptor == b.descriptor && (Changed(a) || Changed(b));
}

// A position in compiled code: a frame and its caller in the same code. parent is an index into nodes, -1 at the
// compiled method itself; method one into methods. There are hundreds of thousands of these in a large program.
struct InlineNode {
  int32_t parent = -1;
  int32_t bci = 0;
  uint32_t method = 0;
};

// One compiled method as CompiledMethodLoad told it. Each node is a position that the VM knows.
struct Nmethod {
  uint64_t start = 0;
  uint64_t size = 0;
  uint64_t method = 0;
  std::vector<InlineNode> nodes;
  std::vector<Frame> methods;  // of the nodes, each once; no bci

  // Adds a position and returns its node.
  int32_t Add(int32_t parent, const Frame& frame);
  Frame At(size_t node) const;
  // The frames of a position, top first, the compiled method last.
  std::vector<Frame> Chain(size_t node) const;
  // Whether one of its positions is what stands at the head of these frames, top first.
  bool Begins(std::span<const Frame> frames) const;
  // Whether the entries of one of its positions are the newest of these, bottom first. Of a position that has none
  // nothing can be said: bare is its answer.
  bool Ends(std::span<const uint32_t> shadow, bool bare) const;
  // Whether the instruction of one of its positions calls a method of that name and descriptor.
  bool Calls(const MethodInfo& callee) const;
};
using NmethodRef = std::shared_ptr<const Nmethod>;

// What the signal's pc points at.
enum class Region : uint8_t {
  kUnknown,  // in the code cache, of which no event has told
  kInterpreter,
  kStub,
  kCompiled,
  kNative,  // outside of the code cache
};
inline constexpr const char* kRegionNames[] = {"", "interpreted", "stub", "compiled", "native"};

// Compiled code to ask for.
class CodeLookup {
 public:
  // Compiled versions of a method, live ones and lately unloaded ones.
  virtual std::vector<NmethodRef> OfMethod(uint64_t method) const = 0;
  // The same by key of an instrumented method.
  virtual std::vector<NmethodRef> OfKey(uint32_t key) const = 0;

 protected:
  ~CodeLookup() = default;
};

// ASGCT walks nothing from the beginning of a deoptimisation to its end. An uncommon trap for a class that is not
// loaded yet loads it in between, which runs the Java code of class loaders and transformers (HotSpot:
// Deoptimization::load_class_by_index). The trap's blob is on the stack then: without it -9 is as wrong as any code.
inline constexpr int32_t kDeoptCode = -9;
// ASGCT's code when nobody is to be told of class loading (HotSpot: forte.cpp, ticks_no_class_load).
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
  bool told = false;              // the JVM has told of every method there is
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
