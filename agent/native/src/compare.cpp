#include "compare.h"

#include <algorithm>
#include <optional>

namespace misstep {
namespace {

// Whether a frame has an entry on the shadow.
enum class Presence : uint8_t { kOn, kOff, kMaybe };

// Frames bottom first, as the shadow is.
using Stack = std::vector<Frame>;

Stack BottomFirst(std::span<const Frame> top_first) { return Stack(top_first.rbegin(), top_first.rend()); }

bool Instrumented(const Frame& f) { return f.info != nullptr && f.info->key != 0; }

// The presence of a frame by its bci; callee is the frame above it, null for the top one.
//
// At a call the bci is exact. Below push_end the push has not happened, unless the call is the push itself: there
// constructors call others, and the VM calls its own. Within a pop the entry is gone once exit() has run; its last
// instruction is the return (or athrow), where it is gone already. A compiled method at its entry has a bci of -1.
Presence PresenceOf(const Frame& f, const Frame* callee) {
  if (!Instrumented(f)) return Presence::kOff;
  const MethodInfo& m = *f.info;
  if (m.retransformed) return Presence::kMaybe;
  const Role role = callee != nullptr && callee->info != nullptr ? callee->info->role : Role::kPlain;
  const bool in_push = callee == nullptr || role == Role::kEnter || role == Role::kRuntime;
  const bool in_pop = callee == nullptr || role == Role::kExit;
  if (f.bci < m.push_end) {
    if (in_push) return Presence::kMaybe;
    const bool upcall = callee->info == nullptr || callee->info->upcall != Upcall::kNone;
    if (f.bci < 0 && upcall) return Presence::kMaybe;
    return upcall || m.name == "<init>" ? Presence::kOff : Presence::kOn;
  }
  for (const auto& [start, end] : m.exits) {
    if (f.bci == end - 1) return Presence::kMaybe;
    if (f.bci >= start && f.bci < end) return in_pop ? Presence::kMaybe : Presence::kOn;
  }
  return Presence::kOn;
}

// What it took to make both sides agree.
struct Taken {
  bool off = false;            // a frame below its push
  bool window = false;         // a frame in its push or pop, not on the shadow
  bool retransformed = false;  // such a frame of a retransformed class
  bool nameless = false;       // a frame without a jmethodID, on the shadow or not
  bool operator==(const Taken&) const = default;

  Verdict AsVerdict() const {
    if (nameless) return Verdict::Tolerated(Rule::kNullMethodId);
    if (retransformed) return Verdict::Tolerated(Rule::kRetransformed);
    if (window) return Verdict::Tolerated(Rule::kPushPopWindow);
    if (off) return Verdict::Tolerated(Rule::kConstructorPrologue);
    return Verdict::Match();
  }
};

// One way in which the frames so far stand for shadow[0..at).
struct Way {
  size_t at = 0;
  Taken taken;
  bool operator==(const Way&) const = default;
};

// Finds the ways in which the stack can stand for shadow[0..n): calls done(n, taken) for each until it says true.
// Frames that may or may not be on the shadow are the only branches; both are followed, being on it first. Ways that
// have come to the same place by the same means are one, so there are never more than sixteen times as many as entries
// of the shadow.
template <typename Done>
bool Align(const Stack& stack, const Frame* above, std::span<const uint32_t> shadow, const Done& done) {
  std::vector<Way> ways(1);
  std::vector<Way> next;
  for (size_t i = 0; i < stack.size() && !ways.empty(); i++) {
    const Frame& f = stack[i];
    const Frame* callee = i + 1 < stack.size() ? &stack[i + 1] : above;
    const bool nameless = f.method == 0;
    const Presence presence = nameless ? Presence::kMaybe : PresenceOf(f, callee);
    if (presence == Presence::kOff && !Instrumented(f)) continue;
    next.clear();
    const auto add = [&](const Way& way) {
      if (std::find(next.begin(), next.end(), way) == next.end()) next.push_back(way);
    };
    for (Way way : ways) {
      way.taken.nameless |= nameless;
      if (presence != Presence::kOff && way.at < shadow.size() && (nameless || shadow[way.at] == f.info->key)) {
        add({.at = way.at + 1, .taken = way.taken});
      }
      if (presence == Presence::kOn) continue;
      (nameless                     ? way.taken.nameless
       : presence == Presence::kOff ? way.taken.off
       : f.info->retransformed      ? way.taken.retransformed
                                    : way.taken.window) = true;
      add(way);
    }
    ways.swap(next);
  }
  return std::any_of(ways.begin(), ways.end(), [&](const Way& way) { return done(way.at, way.taken); });
}

// The ways in which the whole stack stands for the whole shadow.
std::optional<Taken> AlignAll(const Stack& stack, std::span<const uint32_t> shadow) {
  std::optional<Taken> found;
  Align(stack, nullptr, shadow, [&](size_t at, const Taken& taken) {
    if (at != shadow.size()) return false;
    found = taken;
    return true;
  });
  return found;
}

// Names the difference between a trusted and a suspect sequence, both bottom first.
template <typename T>
Verdict Classify(std::span<const T> trusted, std::span<const T> suspect) {
  const size_t n = trusted.size();
  const size_t m = suspect.size();
  size_t bottom = 0;
  while (bottom < n && bottom < m && trusted[bottom] == suspect[bottom]) bottom++;
  size_t top = 0;
  while (top < n && top < m && trusted[n - 1 - top] == suspect[m - 1 - top]) top++;
  const auto at = [](size_t i) { return static_cast<uint32_t>(i); };
  if (m < n) {
    if (top == m)
      return Verdict::Mismatch(bottom == m && m > 0 ? Kind::kMissing : Kind::kTruncated,
                               bottom == m && m > 0 ? at(bottom) : at(n - m));
    if (bottom == 0) {
      // Truncated with a top that differs too: the suspect's bottom continues somewhere above the trusted one's.
      for (size_t j = 1; j < n; j++) {
        size_t run = 0;
        while (run < m && j + run < n && trusted[j + run] == suspect[run]) run++;
        if (run > 0 && run + 2 >= m) return Verdict::Mismatch(Kind::kTruncated, at(j));
      }
      return Verdict::Mismatch(Kind::kForeign, 0);
    }
    return Verdict::Mismatch(bottom + top >= m ? Kind::kMissing : Kind::kForeign, at(bottom));
  }
  if (m > n) return Verdict::Mismatch(bottom + top >= n ? Kind::kExtra : Kind::kForeign, at(bottom));
  return Verdict::Mismatch(bottom + top + 1 == n ? Kind::kWrongMethod : Kind::kForeign, at(bottom));
}

// The keys that a stack is sure to have on the shadow, bottom first.
std::vector<uint32_t> SureKeys(const Stack& stack) {
  std::vector<uint32_t> keys;
  for (size_t i = 0; i < stack.size(); i++) {
    const Frame* callee = i + 1 < stack.size() ? &stack[i + 1] : nullptr;
    if (PresenceOf(stack[i], callee) == Presence::kOn) keys.push_back(stack[i].info->key);
  }
  return keys;
}

Verdict ClassifyShadow(std::span<const uint32_t> shadow, const Stack& stack) {
  const std::vector<uint32_t> keys = SureKeys(stack);
  Verdict v = Classify<uint32_t>(shadow, keys);
  if (std::equal(shadow.begin(), shadow.end(), keys.begin(), keys.end())) {
    // Cannot be: equal sequences align. Kept as a difference on top, so that an error here is seen and not hidden.
    v = Verdict::Mismatch(Kind::kExtra, static_cast<uint32_t>(keys.size()));
  }
  return v;
}

struct Location {
  uint64_t method;
  int32_t bci;
  bool operator==(const Location&) const = default;
};

// Two constants differ between the walkers. A native method's location is -1 for GetStackTrace and -3 for ASGCT. A
// compiled method that stands at its entry, where it asks for its own compilation and so has classes loaded (C1's
// counter, CompileBroker::compile_method), is at 0 for GetStackTrace (compiledVFrame::bci) and at -1 for ASGCT. Any
// other negative number is taken as it is.
std::vector<Location> Locations(std::span<const Frame> top_first, bool gst) {
  std::vector<Location> all;
  all.reserve(top_first.size());
  for (size_t i = top_first.size(); i > 0; i--) {
    const Frame& f = top_first[i - 1];
    const MethodInfo* callee = i > 1 ? top_first[i - 2].info : nullptr;
    const bool compiles =
        callee != nullptr && (callee->upcall == Upcall::kLoad || callee->upcall == Upcall::kException);
    all.push_back({f.method, f.bci != -1 ? f.bci : gst ? -3 : compiles ? 0 : -1});
  }
  return all;
}

// The most frames that one piece of compiled code is taken to hold: HotSpot's inline depth is 15 (MaxInlineLevel).
constexpr size_t kMostInlined = 64;

// Whether a frame stands at a position of code, which goes on for the version that it was compiled of.
bool IsAt(const Frame& position, const Frame& frame) {
  if (position.bci != frame.bci) return false;
  if (position.method == frame.method) return true;
  return position.info != nullptr && frame.info != nullptr && OtherVersion(*position.info, *frame.info);
}

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

// Can some position of this compiled code stand for what the shadow has above the frames below it?
bool Explains(const Nmethod& nmethod, std::span<const uint32_t> rest) {
  for (size_t i = 0; i < nmethod.nodes.size(); i++) {
    if (AlignAll(BottomFirst(nmethod.Chain(i)), rest)) return true;
  }
  return false;
}

// Tries to explain the shadow with the top k frames of ASGCT as one piece of compiled code: everything below must agree
// exactly, and what is left of the shadow must be a position of that code.
bool ExplainedByGroup(const Sample& s, size_t k, const Nmethod& nmethod) {
  const Stack below = BottomFirst(s.asgct.subspan(k));
  const Frame* above = k > 0 ? &s.asgct[k - 1] : nullptr;
  return Align(below, above, s.shadow,
               [&](size_t at, const Taken&) { return Explains(nmethod, s.shadow.subspan(at)); });
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

// In the entry of the interpreter, of a stub or of a native function the frame pointer is still the caller's caller's:
// ASGCT then starts one physical frame too low. Everything it does show must agree, and no more than one may be
// missing.
// A walk that misses its bottom looks the same when little is on the shadow: the bottom must be one that is known.
bool TopFrameMissing(const Sample& s, const CodeLookup& code) {
  if (s.region == Region::kCompiled || !s.known_bottom) return false;
  const Stack stack = BottomFirst(s.asgct);
  return Align(stack, nullptr, s.shadow, [&](size_t at, const Taken& taken) {
    const std::span<const uint32_t> rest = s.shadow.subspan(at);
    if (rest.empty() || taken.window) return false;
    if (rest.size() == 1) return true;
    for (const NmethodRef& nmethod : code.OfKey(rest[0])) {
      if (Explains(*nmethod, rest)) return true;
    }
    return false;
  });
}

// Whether ASGCT may give this code for a signal that hit pc. In compiled Java code the thread is in Java: it may find
// no frame to start from (-5), one it cannot walk (-6) or a method that is none (-2); all other codes are for threads
// in other states, or new, or gone (HotSpot: forte.cpp, where ticks_safepoint, -10, has no use).
bool Possible(int32_t code, Region region, std::span<const NmethodRef> at_pc) {
  if (code < kDeoptCode) return false;
  if (region != Region::kCompiled || code == -2 || code == -5 || code == -6) return true;
  return !AllJava(at_pc);
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

// Whether a thread may run as its carrier here: a method of VirtualThread's own, which mounts, unmounts and switches
// (VirtualThread.switchToCarrierThread), is among these frames, or one of which nothing is known.
bool MaySwitch(std::span<const Frame> above_seam) {
  return std::any_of(above_seam.begin(), above_seam.end(), [](const Frame& f) {
    return f.info == nullptr || (f.info->class_name == kVirtualThreadClass && !f.info->name.starts_with("run"));
  });
}

// A walk through a mounted virtual thread: the shadow is the carrier's, whose own frames are below the seam, all of
// them at calls. The virtual thread's frames are on another shadow, but for what runs above the seam as the carrier.
Verdict CompareCarrier(const Sample& s, size_t seam) {
  const std::span<const Frame> own = s.asgct.subspan(seam + 1);
  if (Unknown(own)) return Verdict::Void(Reason::kUnknownMethod);
  if (own.empty() || Mounts(own.back()))
    return Verdict::Mismatch(Kind::kTruncated, static_cast<uint32_t>(s.shadow.size()));
  // A continuation that is no virtual thread's pushes onto the shadow of whichever thread runs it.
  const bool mounted = std::any_of(own.begin(), own.end(), [](const Frame& f) {
    return f.info != nullptr && f.info->class_name == kVirtualThreadClass && f.info->name == "runContinuation";
  });
  if (!mounted) return Verdict::Void(Reason::kVirtualThread);
  const Stack stack = BottomFirst(own);
  bool all = false;
  const bool some = Align(stack, &s.asgct[seam], s.shadow, [&](size_t at, const Taken&) {
    all |= at == s.shadow.size();
    return true;
  });
  const bool nothing = s.shadow.empty() && SureKeys(stack).empty();
  if (all && !nothing) return Verdict::Tolerated(Rule::kVirtualThread);
  if (nothing || (some && MaySwitch(s.asgct.first(seam)))) return Verdict::Void(Reason::kVirtualThread);
  return ClassifyShadow(s.shadow, stack);
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
         (f.info->class_name == "jdk/internal/vm/Continuation" || f.info->class_name.starts_with(kVirtualThreadClass));
}

bool Nmethod::Begins(std::span<const Frame> frames) const {
  // No event tells of the ids that frames get when their version is replaced.
  const auto is_at = [](const Frame& position, const Frame& frame) {
    const bool renamed = frame.info == nullptr && frame.method != 0 && position.info != nullptr &&
                         Changed(*position.info) && position.bci == frame.bci;
    return renamed || IsAt(position, frame);
  };
  for (size_t i = 0; i < nodes.size(); i++) {
    const std::vector<Frame> chain = Chain(i);
    if (chain.size() <= frames.size() && std::equal(chain.begin(), chain.end(), frames.begin(), is_at)) return true;
  }
  return false;
}

bool Nmethod::Ends(std::span<const uint32_t> shadow, bool bare) const {
  for (size_t i = 0; i < nodes.size(); i++) {
    const std::vector<uint32_t> keys = SureKeys(BottomFirst(Chain(i)));
    if (keys.empty() ? bare : keys.size() <= shadow.size() && std::equal(keys.rbegin(), keys.rend(), shadow.rbegin())) {
      return true;
    }
  }
  return false;
}

bool Nmethod::Calls(const MethodInfo& callee) const {
  for (size_t i = 0; i < nodes.size(); i++) {
    const Frame caller = At(i);
    const Site* site = SiteAt(caller);
    if (site == nullptr || site->target < 0 || !caller.info->body->targets) continue;
    const CallTarget& target = (*caller.info->body->targets)[static_cast<size_t>(site->target)];
    if (target.name == callee.name && target.descriptor == callee.descriptor) return true;
  }
  return false;
}

int32_t Nmethod::Add(int32_t parent, const Frame& frame) {
  // The newest first: positions come in the order of the code.
  size_t index = methods.size();
  while (index > 0 && methods[index - 1].method != frame.method) index--;
  if (index == 0) {
    methods.push_back({frame.method, 0, frame.info});
    index = methods.size();
  }
  nodes.push_back({parent, frame.bci, static_cast<uint32_t>(index) - 1});
  return static_cast<int32_t>(nodes.size()) - 1;
}

Frame Nmethod::At(size_t node) const {
  Frame frame = methods[nodes[node].method];
  frame.bci = nodes[node].bci;
  return frame;
}

std::vector<Frame> Nmethod::Chain(size_t node) const {
  std::vector<Frame> chain;
  for (auto at = static_cast<int32_t>(node); at >= 0; at = nodes[static_cast<size_t>(at)].parent) {
    chain.push_back(At(static_cast<size_t>(at)));
  }
  return chain;
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

bool SamePlaces(std::span<const Frame> a, std::span<const Frame> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Frame& x, const Frame& y) { return x.bci == y.bci; });
}

Verdict CompareGstAsgct(std::span<const Frame> gst, std::span<const Frame> asgct, int32_t asgct_code, uint32_t limit,
                        bool deoptimises) {
  if (asgct_code <= 0) {
    if (asgct_code == kDeoptCode && deoptimises) return Verdict::Tolerated(Rule::kDeoptUpcall);
    // GetStackTrace has just walked this stack, and the thread is in a native method: there is nothing that ASGCT may
    // not be able to walk. Only a collection of another thread may be under way for longer than a retry takes.
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
  // On a virtual thread GetStackTrace ends at its bottom, while ASGCT goes on through Continuation.enterSpecial into
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
  if (const auto taken = AlignAll(stack, shadow)) return taken->AsVerdict();
  if (SeamOf(gst)) return Verdict::Void(Reason::kVirtualThread);
  return ClassifyShadow(shadow, stack);
}

Verdict JudgeCode(int32_t code, Region region, std::span<const NmethodRef> at_pc, bool deoptimises) {
  if (Possible(code, region, at_pc)) return Verdict::Unwalkable(code);
  return code == kDeoptCode && deoptimises ? Verdict::Tolerated(Rule::kDeoptUpcall) : Verdict::Mismatch(Kind::kCode, 0);
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
  if (const auto at = Unknown(s.asgct); at && s.told) {
    return Verdict::Mismatch(Kind::kWrongMethod, std::min(*at, static_cast<uint32_t>(s.shadow.size())));
  }
  if (const auto seam = SeamOf(s.asgct)) return CompareCarrier(s, *seam);
  const Stack stack = BottomFirst(s.asgct);
  if (const auto taken = AlignAll(stack, s.shadow)) {
    return taken->AsVerdict();
  }
  // Truncated above the seam, a virtual thread's stack looks like a wrong one of its carrier.
  if (s.carrier && stack.front().method != s.root) return Verdict::Void(Reason::kVirtualThread);
  // A method that no event has told of may be any of the shadow's: nothing can be said.
  if (Unknown(s.asgct)) return Verdict::Void(Reason::kUnknownMethod);
  if (InlineImprecision(s, code)) return Verdict::Tolerated(Rule::kInlineImprecision);
  if (TopFrameMissing(s, code)) return Verdict::Tolerated(Rule::kTopFrameMissing);
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

bool MayBeEarly(const Sample& s, const Verdict& v) {
  if (v.outcome == Outcome::kVoid) return v.reason == Reason::kUnknownMethod;
  return v.outcome == Outcome::kMismatch && s.code >= -10;  // wherever pc is, compiled code may have called it
}

}  // namespace misstep
