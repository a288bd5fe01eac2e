#include "inlining.h"

#include <algorithm>

#include "align.h"

namespace misstep {

namespace {

// The code of a frame's method, of an instrumented one whichever version.
std::vector<NmethodRef> CodeOf(const Frame& frame, const CodeLookup& code) {
  std::vector<NmethodRef> all = code.OfMethod(frame.method);
  if (frame.info == nullptr || frame.info->key == 0 || !Changed(*frame.info)) return all;
  for (NmethodRef& other : code.OfKey(frame.info->key)) {
    if (std::find(all.begin(), all.end(), other) == all.end()) all.push_back(std::move(other));
  }
  return all;
}

// The length of the chain at a node when the top frames of ASGCT are exactly it, else 0.
size_t ChainOnTop(const Nmethod& nmethod, size_t node, std::span<const Frame> asgct) {
  size_t length = 0;
  for (auto at = static_cast<int32_t>(node); at >= 0; at = nmethod.nodes[static_cast<size_t>(at)].parent) {
    const Frame f = nmethod.At(static_cast<size_t>(at));
    if (length == asgct.size() || !IsAt(f, asgct[length])) return 0;
    length++;
  }
  return length;
}

// Tries to explain the shadow with the top k frames of ASGCT as one piece of compiled code: everything below must agree
// exactly, and what is left of the shadow must be a position of that code.
bool ExplainedByGroup(const Sample& s, size_t k, const Nmethod& nmethod) {
  const Stack below = BottomFirst(s.asgct.subspan(k));
  const Frame* above = k > 0 ? &s.asgct[k - 1] : nullptr;
  return Align(below, above, s.shadow,
               [&](size_t at, const Tolerances&) { return Explains(nmethod, s.shadow.subspan(at)); });
}

}  // namespace

bool Explains(const Nmethod& nmethod, std::span<const uint32_t> rest) {
  for (size_t i = 0; i < nmethod.nodes.size(); i++) {
    if (AlignAll(BottomFirst(nmethod.Chain(i)), rest)) return true;
  }
  return false;
}

bool InlineImprecision(const Sample& s, const CodeLookup& code) {
  for (const NmethodRef& nmethod : s.at_pc) {
    size_t tried = 0;
    for (size_t i = 0; i < nmethod->nodes.size(); i++) {
      const size_t k = ChainOnTop(*nmethod, i, s.asgct);
      if (k == 0 || k == tried) continue;
      if (ExplainedByGroup(s, k, *nmethod)) return true;
      tried = k;
    }
    // No debug info at pc: ASGCT names the compiled method alone.
    if (!s.asgct.empty() && s.asgct[0].method == nmethod->method && ExplainedByGroup(s, 1, *nmethod)) return true;
  }
  if (s.region == Region::kCompiled) return false;
  // pc is in a stub or native code that compiled code called without debug info of its own (a leaf call): the group is
  // the compiled method that some frame near the top belongs to, or the one on top alone, at 0 (HotSpot:
  // vframeStreamCommon::fill_from_compiled_native_frame), where no position is near the call.
  const bool called = s.region == Region::kNative || s.region == Region::kStub;
  for (size_t k = 1; k <= std::min(s.asgct.size(), kMostInlined); k++) {
    for (const NmethodRef& nmethod : CodeOf(s.asgct[k - 1], code)) {
      bool is_group = called && k == 1 && s.asgct[0].bci == 0 && s.asgct[0].method == nmethod->method;
      for (size_t i = 0; i < nmethod->nodes.size() && !is_group; i++) {
        is_group = ChainOnTop(*nmethod, i, s.asgct) == k;
      }
      if (is_group && ExplainedByGroup(s, k, *nmethod)) return true;
    }
  }
  return false;
}

size_t TopGroup(std::span<const Frame> asgct, Region region, std::span<const NmethodRef> at_pc,
                const CodeLookup& code) {
  const size_t most = std::min(asgct.size(), kMostInlined);
  const auto chain = [&](const Nmethod& nmethod) {
    size_t longest = 0;
    for (size_t i = 0; i < nmethod.nodes.size(); i++) longest = std::max(longest, ChainOnTop(nmethod, i, asgct));
    return longest;
  };
  size_t group = std::min<size_t>(asgct.size(), 1);
  for (const NmethodRef& nmethod : at_pc) {
    const size_t exact = chain(*nmethod);
    group = std::max(group, exact);
    if (exact != 0) continue;
    // No debug info at pc. A method may be inlined in itself: the deepest place it can have.
    for (size_t k = 1; k <= most; k++) {
      if (asgct[k - 1].method == nmethod->method) group = std::max(group, k);
    }
  }
  if (region == Region::kCompiled) return group;
  // A leaf call from compiled code: see InlineImprecision.
  for (size_t k = 1; k <= most; k++) {
    for (const NmethodRef& nmethod : CodeOf(asgct[k - 1], code)) {
      if (chain(*nmethod) == k) group = std::max(group, k);
    }
  }
  return group;
}

}  // namespace misstep
