#include "bracket.h"

#include <algorithm>
#include <iterator>

#include "edges.h"

namespace misstep {
namespace {

// A walk, bottom first. Frames below sure are exact; only the method of the one at sure is exact: it is the compiled
// method on top, whose inlined frames and bci may be those of a neighbouring position (compare.h), or the top itself.
struct Level {
  uint64_t method;
  int32_t bci;
  const MethodInfo* info;
};
Frame FrameOf(const Level& level) { return {level.method, level.bci, level.info}; }

struct Levels {
  std::vector<Level> all;
  size_t sure = 0;
};

Levels LevelsOf(std::span<const Frame> top_first, size_t unsure) {
  Levels l;
  l.all.reserve(top_first.size());
  for (auto f = top_first.rbegin(); f != top_first.rend(); ++f) l.all.push_back({f->method, f->bci, f->info});
  l.sure = l.all.size() - std::min(unsure, l.all.size());
  return l;
}

// How many frames above the carrier's own a walk shows when a virtual thread is mounted, 0 when none is.
size_t MountedFrames(std::span<const Frame> top_first) {
  const auto seam = SeamOf(top_first);
  return seam ? *seam + 1 : 0;
}

// The lowest bci that can be reached from a bci. Forward branches are assumed to be possible everywhere.
int32_t LowestFrom(const Body& body, int32_t from, bool* branched) {
  int32_t low = from;
  *branched = false;
  for (auto site = body.sites.rbegin(); site != body.sites.rend(); ++site) {
    // Sites are ordered by bci, so those that a lower target makes reachable are still to come.
    if (site->bci < low) break;
    if (!site->back) continue;
    const auto to = static_cast<int32_t>(site->back_to);
    if (to <= low) {
      low = to;
      *branched = true;
    }
  }
  return low;
}

bool IsCalled(const Level& level, std::string_view name, std::string_view descriptor) {
  return level.info != nullptr && level.info->name == name && level.info->descriptor == descriptor;
}

// The bottom frame of a thread that Java started, for its whole life. Native code may call any other run repeatedly.
bool IsRun(const Level& root) {
  return IsCalled(root, "run", "()V") && (root.info->klass == nullptr || MayBeThread(root.info->klass));
}

// The main method that the launcher calls, since 21 also one without arguments (JEP 512). Before and after it the same
// thread looks up the class and shuts down.
bool IsMain(const Level& root) {
  return IsCalled(root, "main", "([Ljava/lang/String;)V") || IsCalled(root, "main", "()V");
}

// Whether the launcher may create an object with this constructor to call its main, which the class may inherit.
bool MakesMain(const MethodInfo& m, const Level& main) {
  return m.name == "<init>" && m.descriptor == "()V" && !main.info->is_static;
}

// Bottom frames that occur only once: a class initialiser, and the launcher's search for main. Native code that
// initialises a class through JNI then continues to use it, on any thread.
bool IsOnce(const Level& root) {
  return IsCalled(root, "<clinit>", "()V") || (root.info != nullptr && root.info->name == "checkAndLoadMain" &&
                                               root.info->class_name == "sun/launcher/LauncherHelper");
}

// Methods that the VM calls at the end of a thread (JavaThread::exit, runtime/javaThread.cpp).
bool IsLifecycle(const MethodInfo& m) {
  return m.class_name == "java/lang/Thread" && (m.name == "exit" || m.name == "dispatchUncaughtException");
}

// Methods that run on the main thread before and after main: the launcher's own and those that it calls (java.c:
// LoadMainClass, NewPlatformString; JNI's FindClass, which initialises), those of java.base that the VM calls at
// startup (Threads::initialize_java_lang_classes, SystemDictionary::compute_java_loaders), agents, the end
// (JavaThread::invoke_shutdown_methods).
bool IsLaunchers(const MethodInfo& m) {
  constexpr std::string_view kPackages[] = {"sun/launcher/", "sun/instrument/", "misstep/agent/"};
  if (m.upcall != Upcall::kNone || IsLifecycle(m) || m.class_name == "java/lang/Shutdown") return true;
  if (m.class_name == "java/lang/String") return m.name == "<init>";
  if (m.class_name == "java/lang/System") {
    return m.name.starts_with("initPhase") || m.name == "initializeSystemClass" || m.name == "getProperty";
  }
  if (m.class_name == "java/lang/ClassLoader") return m.name.starts_with("get") && m.name.ends_with("ClassLoader");
  return std::any_of(std::begin(kPackages), std::end(kPackages),
                     [&](std::string_view p) { return m.class_name.starts_with(p); });
}

// Whether the instruction calls exactly this method, and no other one.
bool CallsPlainly(const Level& caller, const Level& callee) {
  if (callee.info == nullptr || callee.info->upcall != Upcall::kNone) return false;
  const Site* site = SiteAt(FrameOf(caller));
  if (site == nullptr || site->target < 0 || !caller.info->body->targets) return false;
  const CallTarget& target = (*caller.info->body->targets)[static_cast<size_t>(site->target)];
  return !target.polymorphic && target.name == callee.info->name && target.descriptor == callee.info->descriptor;
}

// Names the difference at a level; gst is trusted.
Verdict KindAt(const Levels& gst, const Levels& asgct, size_t at) {
  constexpr size_t kNear = 16;
  const auto occurs = [](const std::vector<Level>& in, size_t from, size_t to, uint64_t method) {
    for (size_t i = from; i < std::min(to, in.size()); i++) {
      if (in[i].method == method) return i;
    }
    return size_t{0};
  };
  const auto index = [](size_t i) { return static_cast<uint32_t>(i); };
  if (at == 0) {
    const size_t found = occurs(gst.all, 1, gst.all.size(), asgct.all[0].method);
    return found != 0 ? Verdict::Mismatch(Kind::kTruncated, index(found)) : Verdict::Mismatch(Kind::kForeign, 0);
  }
  if (occurs(gst.all, at + 1, at + kNear, asgct.all[at].method) != 0)
    return Verdict::Mismatch(Kind::kMissing, index(at));
  if (occurs(asgct.all, at + 1, at + kNear, gst.all[at].method) != 0) return Verdict::Mismatch(Kind::kExtra, index(at));
  return Verdict::Mismatch(Kind::kWrongMethod, index(at));
}

// Whether the thread can have got from one stack to the other. A mismatch names the lowest level at which it cannot; if
// a method is unknown, or is another version of a redefined one, there is no match.
Verdict CanFollow(const Levels& gst, const Levels& asgct, bool gst_first) {
  const Levels& before = gst_first ? gst : asgct;
  const Levels& after = gst_first ? asgct : gst;
  if (gst.all.empty() || asgct.all.empty()) return Verdict::Match();
  const MethodInfo* root = asgct.all[0].info;
  const Level& stays = gst.all[0];
  if ((!IsRun(stays) && !IsMain(stays) && !IsOnce(stays)) || (root != nullptr && IsLifecycle(*root))) {
    return Verdict::Void(Reason::kNoBottom);
  }
  for (size_t l = 0; l < before.all.size() && l < after.all.size(); l++) {
    const Level& b = before.all[l];
    const Level& a = after.all[l];
    if (l > before.sure || l > after.sure || asgct.all[l].method == 0) break;
    if (a.method != b.method) {
      if (a.info == nullptr || b.info == nullptr) return Verdict::Void(Reason::kUnknownMethod);
      if (OtherVersion(*a.info, *b.info)) return Verdict::Tolerated(Rule::kRetransformed);
      const Verdict v = KindAt(gst, asgct, l);
      if (l == 0) {  // the launcher's thread has several bottom frames, one after another
        const bool launchers = IsLaunchers(*root) || MakesMain(*root, stays);
        const bool another = IsMain(stays) ? launchers : IsOnce(stays);
        const bool cut = v.kind == Kind::kTruncated && !(IsOnce(stays) && gst_first);
        if (another && !cut) return Verdict::Void(Reason::kNoBottom);
      }
      return v;
    }
    if (l == before.sure || l == after.sure) break;
    if (a.info == nullptr || a.info->native || a.info->body == nullptr || a.bci < 0 || b.bci < 0) break;
    if (a.info->klass == nullptr || a.info->klass->redefined.load(std::memory_order_relaxed)) break;
    if (!CanReach(*a.info->body, b.bci, a.bci)) return Verdict::Mismatch(Kind::kWrongBci, static_cast<uint32_t>(l));
    if (a.bci != b.bci || InLoop(*a.info->body, a.bci)) break;
    if (l + 1 == before.all.size() || l + 1 == after.all.size()) break;
    if (!CallsPlainly(b, before.all[l + 1]) || !CallsPlainly(a, after.all[l + 1])) {
      // One instruction may make several calls of the VM and of method handles in turn, but no other ones.
      const bool known = l + 1 <= asgct.sure && CallsPlainly(gst.all[l], gst.all[l + 1]);
      if (known && ExplainEdge(FrameOf(asgct.all[l]), FrameOf(asgct.all[l + 1])) == Explained::kNothing) {
        return KindAt(gst, asgct, l + 1);
      }
      break;
    }
  }
  return Verdict::Match();
}

// The plain rule of brackets: gst has everything that both ASGCT walks have in common from the bottom on.
bool GstHasCommon(const Levels& before, const Levels& gst, const Levels& after) {
  for (size_t l = 0; l <= before.sure && l <= after.sure && l < before.all.size() && l < after.all.size(); l++) {
    if (before.all[l].method != after.all[l].method) return true;
    if (l == gst.all.size() || gst.all[l].method != before.all[l].method) return false;
    if (l == before.sure || l == after.sure || before.all[l].bci != after.all[l].bci) return true;
    const int32_t bci = gst.all[l].bci == -1 ? -3 : gst.all[l].bci;  // GetStackTrace's constant for natives
    if (l + 1 < before.all.size() && l + 1 < after.all.size() && bci != before.all[l].bci) return false;
  }
  return true;
}

}  // namespace

bool MayBeBottom(const MethodInfo& m) {
  const Level level = {.method = 0, .bci = 0, .info = &m};
  return IsRun(level) || IsMain(level) || (IsLaunchers(m) && m.upcall == Upcall::kNone);
}

bool CanReach(const Body& body, int32_t from, int32_t to) {
  bool branched = false;
  return to >= from || to >= LowestFrom(body, from, &branched);
}

bool InLoop(const Body& body, int32_t bci) {
  bool branched = false;
  LowestFrom(body, bci, &branched);
  return branched;
}

BracketVerdict CompareBracket(const Bracket& b, const CodeLookup& code) {
  const auto levels = [&](const BracketWalk& w, size_t mounted) {
    if (mounted != 0) return LevelsOf(w.frames.subspan(mounted), 0);
    return LevelsOf(w.frames, TopGroup(w.frames, w.region, w.at_pc, code));
  };
  const size_t mounted_before = MountedFrames(b.before.frames);
  const size_t mounted_after = MountedFrames(b.after.frames);
  const Levels before = levels(b.before, mounted_before);
  const Levels after = levels(b.after, mounted_after);
  const Levels gst = LevelsOf(b.gst.subspan(MountedFrames(b.gst)), 0);
  const auto judge = [&](const BracketWalk& w, const Levels& walk, bool gst_first) {
    if (w.code <= 0) return JudgeCode(w.code, w.region, w.at_pc, w.deoptimises);
    if (w.frames.size() >= b.limit) return Verdict::Void(Reason::kDepth);
    if (const auto at = Unknown(w.frames); at && b.all_described) return Verdict::Mismatch(Kind::kWrongMethod, *at);
    if (b.gst.size() >= b.limit) return Verdict::Void(Reason::kDepth);
    // While a virtual thread ends or is unmounted, GetStackTrace may return its stack for its carrier.
    if (!b.gst.empty() && Mounts(b.gst.back())) return Verdict::Void(Reason::kVirtualThread);
    return CanFollow(gst, walk, gst_first);
  };
  // A failed walk does not affect the verdict on the other one.
  const BracketVerdict verdicts[] = {{judge(b.before, before, false), false}, {judge(b.after, after, true), true}};
  for (const Outcome worst : {Outcome::kMismatch, Outcome::kUnwalkable, Outcome::kVoid, Outcome::kTolerated}) {
    for (const BracketVerdict& v : verdicts) {
      if (v.verdict.outcome == worst) return v;
    }
  }
  for (const Levels* l : {&before, &gst, &after}) {
    if (l->all.empty()) return {Verdict::Void(Reason::kGstError)};
  }
  const auto nameless = [](const Levels& l) {
    return std::any_of(l.all.begin(), l.all.end(), [](const Level& level) { return level.method == 0; });
  };
  if (nameless(before) || nameless(after)) return {Verdict::Tolerated(Rule::kNullMethodId)};
  // Only the carrier's own frames were compared.
  if (mounted_before != 0 || mounted_after != 0) return {Verdict::Tolerated(Rule::kVirtualThread)};
  if (!GstHasCommon(before, gst, after)) return {Verdict::Tolerated(Rule::kMoved)};
  return {Verdict::Match()};
}

}  // namespace misstep
