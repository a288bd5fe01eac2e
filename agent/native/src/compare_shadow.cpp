// asgct-shadow: a walk in a signal handler against the shadow, and against the trace stack.

#include <algorithm>
#include <string_view>

#include "align.h"
#include "compare.h"
#include "difference.h"
#include "inlining.h"

namespace misstep {

namespace {

// In the entry of the interpreter, of a stub or of a native function the frame pointer is still the caller's caller's:
// ASGCT then starts one physical frame too low. Everything it does show must agree, and no more than one may be
// missing.
// A walk that misses its bottom looks the same when little is on the shadow: the bottom must be one that is known.
bool TopFrameMissing(const Sample& s, const CodeLookup& code) {
  if (s.region == Region::kCompiled || !s.known_bottom) return false;
  const Stack stack = BottomFirst(s.asgct);
  return Align(stack, nullptr, s.shadow, [&](size_t at, const Tolerances& tolerances) {
    const std::span<const uint32_t> rest = s.shadow.subspan(at);
    if (rest.empty() || tolerances.window) return false;
    if (rest.size() == 1) return true;
    for (const NmethodRef& nmethod : code.OfKey(rest[0])) {
      if (Explains(*nmethod, rest)) return true;
    }
    return false;
  });
}

// How many entries of the shadow are below a walk that stands for those above them, 0 when it stands for no upper part.
// To be asked of a mismatch, when the thread's bottom is not in the walk: the frames of a recursion look the same
// wherever it is cut off. Where several numbers will do it is the least. It is all of them when the walk is one piece
// of compiled code that may be in its push, at which no thread is known to begin: nothing of it is on the shadow yet.
size_t LostBelow(const Sample& s, const Stack& stack, const CodeLookup& code) {
  const std::vector<uint32_t> keys = SureKeys(stack);
  if (keys.empty()) return 0;
  // The top group may hold more than the shadow has, or less.
  const size_t least = s.shadow.size() - std::min(s.shadow.size(), keys.size() + kMostInlined);
  const size_t most = s.shadow.size() - std::min(s.shadow.size(), keys.size() - std::min(keys.size(), kMostInlined));
  Sample upper = s;
  for (size_t lost = std::max<size_t>(least, 1); lost <= most; lost++) {
    if (lost == s.shadow.size() ? s.known_bottom : s.shadow[lost] != keys.front()) continue;
    upper.shadow = s.shadow.subspan(lost);
    if (AlignAll(stack, upper.shadow) || InlineImprecision(upper, code)) return lost;
  }
  return 0;
}

constexpr std::string_view kVirtualThreadClass = "java/lang/VirtualThread";
constexpr std::string_view kContinuationClass = "jdk/internal/vm/Continuation";
constexpr uint64_t kNoMethod = UINT64_MAX;  // a bottom that no walk has

// Whether a thread may run as its carrier here: a method of VirtualThread's own, which mounts, unmounts and switches
// (VirtualThread.switchToCarrierThread), is among these frames, or one of which nothing is known.
bool MaySwitch(std::span<const Frame> above_seam) {
  return std::any_of(above_seam.begin(), above_seam.end(), [](const Frame& f) {
    return f.info == nullptr || (f.info->class_name == kVirtualThreadClass && !f.info->name.starts_with("run"));
  });
}

// Whether a frame is the carrier's that mounts a virtual thread, runs it and unmounts it.
bool RunsContinuation(const Frame& f) {
  return f.info != nullptr && f.info->class_name == kVirtualThreadClass && f.info->name == "runContinuation";
}

// What is wrong with the frames below the seam, which are the carrier's, all of them at calls.
std::optional<Verdict> FaultBelow(std::span<const Frame> asgct, size_t seam, std::span<const uint32_t> shadow) {
  const std::span<const Frame> own = asgct.subspan(seam + 1);
  if (Unknown(own)) return Verdict::Void(Reason::kUnknownMethod);
  if (own.empty() || Mounts(own.back()))
    return Verdict::Mismatch(Kind::kTruncated, static_cast<uint32_t>(shadow.size()));
  const Stack stack = BottomFirst(own);
  const bool all =
      Align(stack, &asgct[seam], shadow, [&](size_t at, const Tolerances&) { return at == shadow.size(); });
  if (all) return std::nullopt;
  return ClassifyShadow(shadow, stack);
}

// A walk through a mounted virtual thread whose shadow is not known: the shadow is the carrier's. The virtual thread's
// frames are on another one, but for what runs above the seam as the carrier.
Verdict CompareCarrier(const Sample& s, size_t seam) {
  const std::span<const Frame> own = s.asgct.subspan(seam + 1);
  if (Unknown(own)) return Verdict::Void(Reason::kUnknownMethod);
  if (own.empty() || Mounts(own.back()))
    return Verdict::Mismatch(Kind::kTruncated, static_cast<uint32_t>(s.shadow.size()));
  // A continuation that is no virtual thread's pushes onto the shadow of whichever thread runs it.
  const bool mounted = std::any_of(own.begin(), own.end(), RunsContinuation);
  if (!mounted) return Verdict::Void(Reason::kVirtualThread);
  const Stack stack = BottomFirst(own);
  bool all = false;
  const bool some = Align(stack, &s.asgct[seam], s.shadow, [&](size_t at, const Tolerances&) {
    all |= at == s.shadow.size();
    return true;
  });
  const bool nothing = s.shadow.empty() && SureKeys(stack).empty();
  if (all && !nothing) return Verdict::Tolerated(Rule::kVirtualThread);
  if (nothing || (some && MaySwitch(s.asgct.first(seam)))) return Verdict::Void(Reason::kVirtualThread);
  return ClassifyShadow(s.shadow, stack);
}

// Names the difference between a walk and the shadow that is neither it nor explained by a rule.
Verdict ClassifyWalk(const Sample& s, const Stack& stack, const CodeLookup& code) {
  const Verdict v = ClassifyShadow(s.shadow, stack);
  if (v.kind == Kind::kTruncated && v.divergence == s.shadow.size() && s.root != 0 && stack.front().method == s.root) {
    // Nothing of the shadow is left, but the thread's bottom is there: it is the top that was lost.
    return Verdict::Mismatch(Kind::kMissing, 0);
  }
  if (v.kind != Kind::kTruncated && s.root != 0 && stack.front().method != s.root) {
    const size_t lost = LostBelow(s, stack, code);
    if (lost > 0) return Verdict::Mismatch(Kind::kTruncated, static_cast<uint32_t>(lost));
  }
  return v;
}

// A walk against one shadow, that of all of its frames.
Verdict CompareWalk(const Sample& s, const CodeLookup& code) {
  const Stack stack = BottomFirst(s.asgct);
  if (const auto tolerances = AlignAll(stack, s.shadow)) return tolerances->AsVerdict();
  // Truncated above the seam, a virtual thread's stack looks like a wrong one of its carrier.
  if (s.carrier && stack.front().method != s.root) return Verdict::Void(Reason::kVirtualThread);
  // A method that no event has described may be any of the shadow's: nothing can be said.
  if (Unknown(s.asgct)) return Verdict::Void(Reason::kUnknownMethod);
  if (InlineImprecision(s, code)) return Verdict::Tolerated(Rule::kInlineImprecision);
  if (TopFrameMissing(s, code)) return Verdict::Tolerated(Rule::kTopFrameMissing);
  return ClassifyWalk(s, stack, code);
}

// The frames above the seam, which are the virtual thread's. All that were entered are expected: those that a resumed
// thread has not thawed yet are in the heap, and AsyncGetCallTrace continues from the return barrier into the carrier
// (HotSpot: frame::sender and Continuation::fix_continuation_bottom_sender; vframeStreamForte does not walk
// continuations' chunks). Whole they begin with Continuation.enter.
Verdict CompareAbove(const Sample& s, size_t seam, const CodeLookup& code) {
  Sample own = s;
  own.asgct = s.asgct.first(seam);
  own.shadow = s.shadow.subspan(s.mount_at);
  const auto mount_at = static_cast<uint32_t>(s.mount_at);
  if (own.asgct.empty()) {
    // None is thawed yet, or all are frozen: the JVM does both in stubs and functions of its own.
    const bool in_java = s.region == Region::kInterpreter || (s.region == Region::kCompiled && AllJava(s.at_pc));
    return in_java ? Verdict::Mismatch(Kind::kTruncated, static_cast<uint32_t>(s.shadow.size()))
                   : Verdict::Tolerated(Rule::kVirtualThreadSwitch);
  }
  const MethodInfo* bottom = own.asgct.back().info;
  if (bottom == nullptr) return Verdict::Void(Reason::kUnknownMethod);
  const bool whole = bottom->class_name == kContinuationClass && bottom->name == "enter";
  own.root = whole ? own.asgct.back().method : kNoMethod;
  own.known_bottom = whole;
  own.carrier = false;
  Verdict v = CompareWalk(own, code);
  const bool agrees = v.outcome == Outcome::kMatch || v.outcome == Outcome::kTolerated;
  if (agrees && !whole) return Verdict::Mismatch(Kind::kTruncated, mount_at);
  if (v.outcome == Outcome::kMismatch) v.divergence += mount_at;
  return v;
}

// A walk that shows no virtual thread though one is mounted: either it has no frames on the stack at this instant, from
// VirtualThread.mount to the first one thawed and from the last one frozen to unmount, or the walk has lost the seam.
Verdict CompareWithoutSeam(const Sample& s, const CodeLookup& code) {
  if (s.shadow.empty()) return Verdict::Void(Reason::kVirtualThread);
  const auto below = s.shadow.first(s.mount_at);
  const auto mounting = std::find_if(s.asgct.begin(), s.asgct.end(), RunsContinuation);
  if (mounting != s.asgct.end()) {
    const auto at = static_cast<size_t>(mounting - s.asgct.begin());
    if (const auto fault = FaultBelow(s.asgct, at, below)) return *fault;
    // What mounting code calls may be on the virtual thread's shadow.
    return std::any_of(s.asgct.begin(), mounting, Instrumented) ? Verdict::Void(Reason::kVirtualThreadSwitch)
                                                                : Verdict::Tolerated(Rule::kVirtualThreadSwitch);
  }
  Sample all = s;
  all.carrier = false;
  Sample carrier = all;
  carrier.shadow = below;
  const bool whole = s.root != 0 && s.asgct.back().method == s.root;
  // The frame of runContinuation may be the one that is missing on top.
  if (whole && CompareWalk(carrier, code).outcome != Outcome::kMismatch)
    return Verdict::Tolerated(Rule::kVirtualThreadSwitch);
  const Verdict v = CompareWalk(all, code);
  if (v.outcome == Outcome::kMismatch || v.outcome == Outcome::kVoid) return v;
  return Verdict::Mismatch(whole ? Kind::kMissing : Kind::kTruncated, static_cast<uint32_t>(s.mount_at));
}

// A walk of a thread on which a virtual thread is mounted: its shadow stands between two parts of the carrier's.
Verdict CompareMounted(const Sample& s, const CodeLookup& code) {
  const auto seam = SeamOf(s.asgct);
  if (!seam) return CompareWithoutSeam(s, code);
  if (const auto fault = FaultBelow(s.asgct, *seam, s.shadow.first(s.mount_at))) return *fault;
  return CompareAbove(s, *seam, code);
}

}  // namespace

std::optional<size_t> SeamOf(std::span<const Frame> top_first) {
  for (size_t i = top_first.size(); i > 0; i--) {
    const MethodInfo* info = top_first[i - 1].info;
    if (info != nullptr && info->role == Role::kContinuation) return i - 1;
  }
  return std::nullopt;
}

bool Mounts(const Frame& f) {
  return f.info != nullptr &&
         (f.info->class_name == kContinuationClass || f.info->class_name.starts_with(kVirtualThreadClass));
}

std::optional<uint32_t> Unknown(std::span<const Frame> top_first) {
  for (size_t i = top_first.size(); i > 0; i--) {
    const Frame& f = top_first[i - 1];
    if (f.info == nullptr && f.method != 0) return static_cast<uint32_t>(top_first.size() - i);
  }
  return std::nullopt;
}

Verdict CompareAsgctShadow(const Sample& s, const CodeLookup& code) {
  if (s.code <= 0) return JudgeCode(s.code, s.region, s.at_pc, s.deoptimises);
  if (s.deeper || s.asgct.size() >= s.limit) return Verdict::Void(Reason::kDepth);
  if (const auto at = Unknown(s.asgct); at && s.all_described) {
    return Verdict::Mismatch(Kind::kWrongMethod, std::min(*at, static_cast<uint32_t>(s.shadow.size())));
  }
  if (s.mounted == Mounted::kKnown) return CompareMounted(s, code);
  if (const auto seam = SeamOf(s.asgct)) return CompareCarrier(s, *seam);
  return CompareWalk(s, code);
}

bool CertainlyOnShadow(const MethodInfo& method, int32_t bci) {
  const Frame frame = {.bci = bci, .info = &method};
  return PresenceOf(frame, nullptr) == Presence::kOn;
}

Verdict CompareTrace(std::span<const Frame> trace, const Sample& s, const CodeLookup& code) {
  const std::vector<Location> suspect = Locations(s.asgct, false);
  const size_t sure = suspect.size() - TopGroup(s.asgct, s.region, s.at_pc, code);
  bool nameless = false;
  bool renamed = false;
  for (size_t i = 0; i < trace.size() && i < suspect.size() && i <= sure; i++) {
    // GetStackTrace's constant for natives, as in gst-asgct.
    const int32_t bci = trace[i].bci == -1 ? -3 : trace[i].bci;
    const bool moves = i + 1 == trace.size() || i == sure;
    if (suspect[i].method == trace[i].method || suspect[i].method == 0) {
      if (!moves && suspect[i].bci != bci) return Verdict::Mismatch(Kind::kWrongBci, static_cast<uint32_t>(i));
      nameless |= suspect[i].method == 0;
      continue;
    }
    const MethodInfo* walked = s.asgct[s.asgct.size() - 1 - i].info;
    if (walked == nullptr || trace[i].info == nullptr) return Verdict::Void(Reason::kUnknownMethod);
    if (OtherVersion(*walked, *trace[i].info)) {  // its bci is another code's
      renamed = true;
      continue;
    }
    // Named by what is below the method that moves: above it the trace says nothing.
    std::vector<Location> trusted;
    for (const Frame& f : trace.first(trace.size() - 1)) trusted.push_back({f.method, f.bci == -1 ? -3 : f.bci});
    // The bottom was lost when what is sure of the walk stands higher up, as far as the trace goes.
    for (size_t j = 1; i == 0 && sure > 0 && j < trusted.size(); j++) {
      const auto upper = std::span(trusted).subspan(j, std::min(trusted.size() - j, sure));
      if (std::equal(upper.begin(), upper.end(), suspect.begin())) {
        return Verdict::Mismatch(Kind::kTruncated, static_cast<uint32_t>(j));
      }
    }
    const Verdict v = Classify<Location>(trusted, std::span(suspect).first(std::min(suspect.size(), trusted.size())));
    return v.divergence == i ? v : Verdict::Mismatch(Kind::kForeign, static_cast<uint32_t>(i));
  }
  if (renamed) return Verdict::Tolerated(Rule::kRetransformed);
  return nameless ? Verdict::Tolerated(Rule::kNullMethodId) : Verdict::Match();
}

bool MayBeEarly(const Sample& s, const Verdict& v) {
  if (v.outcome == Outcome::kVoid) return v.reason == Reason::kUnknownMethod;
  return v.outcome == Outcome::kMismatch && s.code >= -10;  // wherever pc is, compiled code may have called it
}

}  // namespace misstep
