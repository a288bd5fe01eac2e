#include "compare.h"

#include <algorithm>

#include "align.h"
#include "difference.h"

namespace misstep {

namespace {

// Whether ASGCT may return this code for a signal at pc. In compiled Java code the thread is in Java: ASGCT may find no
// frame to start from (-5), one that it cannot walk (-6), or an invalid method (-2); all other codes are for threads in
// other states, or new, or exited (HotSpot: forte.cpp, where ticks_safepoint, -10, is unused).
bool Possible(int32_t code, Region region, std::span<const NmethodRef> at_pc) {
  if (code < kDeoptCode) return false;
  if (region != Region::kCompiled || code == -2 || code == -5 || code == -6) return true;
  return !AllJava(at_pc);
}

}  // namespace

bool SamePlaces(std::span<const Frame> a, std::span<const Frame> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Frame& x, const Frame& y) { return x.bci == y.bci; });
}

Verdict CompareGstAsgct(std::span<const Frame> gst, std::span<const Frame> asgct, int32_t asgct_code, uint32_t limit,
                        bool deoptimises) {
  if (asgct_code <= 0) {
    if (asgct_code == kDeoptCode && deoptimises) return Verdict::Tolerated(Rule::kDeoptUpcall);
    // GetStackTrace has just walked this stack, and the thread is in a native method: ASGCT must be able to walk it.
    // Only a collection by another thread may take longer than a retry.
    if (asgct_code != -2) return Verdict::Mismatch(Kind::kCode, 0);
    return Verdict::Unwalkable(asgct_code);
  }
  const std::vector<Location> g = Locations(gst, true);
  const std::vector<Location> a = Locations(asgct, false);
  if (g == a) return Verdict::Match();
  const auto top_equal = [&](size_t n) { return std::equal(g.end() - n, g.end(), a.end() - n, a.end()); };
  // One of them was cut, the other ends next to it; at equal lengths both were, at the same place. A walk that ends
  // well before the limit was not cut by it.
  const size_t shorter = std::min(g.size(), a.size());
  if (std::max(g.size(), a.size()) >= limit && shorter + 1 >= limit && top_equal(shorter)) {
    return Verdict::Tolerated(Rule::kDepthLimit);
  }
  // On a virtual thread GetStackTrace ends at its bottom, while ASGCT continues through Continuation.enterSpecial into
  // the carrier: what is above that must be equal all the same.
  for (size_t i = 0; i < asgct.size(); i++) {
    if (asgct[i].info == nullptr || asgct[i].info->role != Role::kContinuation) continue;
    const std::vector<Location> own = Locations(asgct.first(i), false);
    if (own == g) return Verdict::Tolerated(Rule::kVirtualThread);
    return Classify<Location>(g, own);
  }
  if (a.size() == g.size()) {
    bool null_only = true;
    bool bci_only = true;
    size_t first = a.size();
    for (size_t i = 0; i < a.size(); i++) {
      if (a[i] == g[i]) continue;
      if (first == a.size()) first = i;
      if (a[i].method != 0 || a[i].bci != g[i].bci) null_only = false;
      if (a[i].method != g[i].method) bci_only = false;
    }
    if (null_only) return Verdict::Tolerated(Rule::kNullMethodId);
    if (bci_only) return Verdict::Mismatch(Kind::kWrongBci, static_cast<uint32_t>(first));
  }
  return Classify<Location>(g, a);
}

bool WorthRetrying(int32_t asgct_code, std::span<const Frame> asgct) {
  return asgct_code == -2 || std::any_of(asgct.begin(), asgct.end(), [](const Frame& f) { return f.method == 0; });
}

Verdict AfterRetry(const Verdict& second) {
  return second.outcome == Outcome::kMatch ? Verdict::Tolerated(Rule::kRetried) : second;
}

Verdict CompareShadowGst(std::span<const uint32_t> shadow, std::span<const Frame> gst, uint32_t limit) {
  if (gst.size() >= limit) return Verdict::Void(Reason::kDepth);
  const Stack stack = BottomFirst(gst);
  if (const auto tolerances = AlignAll(stack, shadow)) return tolerances->AsVerdict();
  if (SeamOf(gst)) return Verdict::Void(Reason::kVirtualThread);
  return ClassifyShadow(shadow, stack);
}

Verdict JudgeCode(int32_t code, Region region, std::span<const NmethodRef> at_pc, bool deoptimises) {
  if (Possible(code, region, at_pc)) return Verdict::Unwalkable(code);
  return code == kDeoptCode && deoptimises ? Verdict::Tolerated(Rule::kDeoptUpcall) : Verdict::Mismatch(Kind::kCode, 0);
}

Verdict AtTheEnd(const Verdict& v, int32_t code, bool ended) {
  const bool off = v.outcome == Outcome::kMismatch && v.kind == Kind::kCode && code == kNoClassLoadCode;
  return off && ended ? Verdict::Void(Reason::kExit) : v;
}

Verdict Settled(const Verdict& v, int32_t code, Region region, bool ended) {
  const bool unknown = v.outcome == Outcome::kMismatch && region == Region::kUnknown;
  return unknown ? Verdict::Void(Reason::kUnknownCode) : AtTheEnd(v, code, ended);
}

bool AllJava(std::span<const NmethodRef> at_pc) {
  return std::all_of(at_pc.begin(), at_pc.end(), [](const NmethodRef& n) {
    // Of a native method's wrapper no position is known.
    if (n->nodes.empty()) return false;
    const MethodInfo* info = n->At(0).info;
    return info != nullptr && !info->native;
  });
}

}  // namespace misstep
