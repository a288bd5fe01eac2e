// The parts of a verdict: outcomes, rules, reasons and kinds, with their names. Those of checks are in checks.gen.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "checks.gen.h"

namespace misstep {

enum class Outcome : uint8_t { kUnspecified, kMatch, kTolerated, kMismatch, kUnwalkable, kVoid };

// Rules that explain a difference; `misstep checks` documents each of them. The comparisons have their conditions.
enum class Rule : uint8_t {
  kUnspecified,
  kConstructorPrologue,  // a frame before its push: argument evaluation, this() or super() of a constructor
  kPushPopWindow,        // the top method is between its entry and its push, or between its pop and its return
  kInlineImprecision,  // another position of the same compiled code explains the shadow: debug info between safepoints
  kTopFrameMissing,    // one physical frame missing on top while pc is in code that is not a Java method
  kVirtualThread,      // ASGCT continues into the carrier; in samples the carrier's own frames agree
  kVirtualThreadSwitch,  // a virtual thread is about to have frames, or has none any more: the carrier's agree
  kDepthLimit,           // one walk was cut at its depth limit
  kNullMethodId,         // ASGCT had no jmethodID for a method
  kRetransformed,        // the method may run a version without instrumentation, or got another id between walks
  kRetried,              // equal when walked a second time after -2
  kDeoptUpcall,          // -9 in Java code that the VM called in the middle of a deoptimisation
  kMoved,  // the thread left a frame that both ASGCT walks show, and came back: by a loop or by successive calls
  // Of edges.cpp:
  kVmUpcall,      // the VM may call this method from that instruction
  kMethodHandle,  // a method handle's call of this shape
  kNativeCaller,  // a native method may call anything
  kCount,
};
inline constexpr const char* kRuleNames[] = {
    "",
    "constructor-prologue",
    "push-pop-window",
    "inline-imprecision",
    "top-frame-missing",
    "virtual-thread",
    "virtual-thread-switch",
    "depth-limit",
    "null-method-id",
    "retransformed",
    "retried",
    "deopt-upcall",
    "moved",
    "vm-upcall",
    "method-handle",
    "native-caller",
};
static_assert(sizeof(kRuleNames) / sizeof(kRuleNames[0]) == static_cast<size_t>(Rule::kCount));

// Reasons for which a check proves nothing.
enum class Reason : uint8_t {
  kUnspecified,
  kLost,                 // the signal did not arrive in time
  kThreadEnd,            // the thread ended before the signal arrived
  kExit,                 // the VM ended before the signal arrived
  kWalkerBusy,           // the signal interrupted a walk of the same thread
  kDepth,                // deeper than the shadow stack or the walk can hold
  kUnknownMethod,        // a method that no ClassPrepare event has described
  kUnknownCode,          // pc in code that no CompiledMethodLoad event has described
  kVirtualThread,        // a virtual thread may be mounted: it has another shadow stack
  kVirtualThreadSwitch,  // a virtual thread is being mounted or unmounted, by code that is on one shadow or the other
  kGstError,             // GetStackTrace failed
  kOverdue,              // a thread was found in the agent for longer than the liveness limit
  kSendFailed,           // the kernel refused the signal
  kOverrun,              // it may depend on events still to come, for which too many others wait already
  kNoBottom,             // a bracket of a thread before or after its run or main, or of one that has neither
  kNoSlot,               // a thread without a slot, or a virtual thread without a shadow buffer: too many threads
  kEventsLate,           // it may depend on events of compiled code that the JVM had no CPU time to post
  kOtherHandler,         // the signal interrupted the handler of another one
  kCount,
};
inline constexpr const char* kReasonNames[] = {
    "",          "lost",           "thread-end",    "exit",           "walker-busy",
    "depth",     "unknown-method", "unknown-code",  "virtual-thread", "virtual-thread-switch",
    "gst-error", "overdue",        "send-failed",   "overrun",        "no-bottom",
    "no-slot",   "events-late",    "other-handler",
};
static_assert(sizeof(kReasonNames) / sizeof(kReasonNames[0]) == static_cast<size_t>(Reason::kCount));

enum class Kind : uint8_t {
  kUnspecified,
  kTruncated,
  kMissing,
  kExtra,
  kForeign,
  kWrongMethod,
  kWrongBci,
  kCode,
  kImpossibleEdge
};
inline constexpr const char* kKindNames[] = {
    "", "truncated", "missing", "extra", "foreign", "wrong-method", "wrong-bci", "code", "impossible-edge"};

// The result of one check; each check has exactly one.
struct Verdict {
  Outcome outcome = Outcome::kUnspecified;
  Rule rule = Rule::kUnspecified;
  Reason reason = Reason::kUnspecified;
  Kind kind = Kind::kUnspecified;
  int32_t code = 0;         // ASGCT's, when unwalkable
  uint32_t divergence = 0;  // index from the bottom of the reference, see compare.h

  static Verdict Match() { return {.outcome = Outcome::kMatch}; }
  static Verdict Tolerated(Rule r) { return {.outcome = Outcome::kTolerated, .rule = r}; }
  static Verdict Unwalkable(int32_t c) { return {.outcome = Outcome::kUnwalkable, .code = c}; }
  static Verdict Void(Reason r) { return {.outcome = Outcome::kVoid, .reason = r}; }
  static Verdict Mismatch(Kind k, uint32_t at) { return {.outcome = Outcome::kMismatch, .kind = k, .divergence = at}; }
};

}  // namespace misstep
