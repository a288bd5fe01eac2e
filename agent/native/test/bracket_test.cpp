#include "bracket.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <string>

namespace misstep {
namespace {

constexpr uint32_t kLimit = 64;
constexpr int32_t kLoopEnd = 30;

// Methods that call, at the bci of every tenth letter, the method of that letter's name: "a" at 10, "b" at 20 and so on
// ("run" calls too). Those written with an L before their name branch from 30 back to 5, so that 10 and 20 are in a
// loop.
struct BracketTest : testing::Test, CodeLookup {
  std::vector<NmethodRef> OfMethod(uint64_t method) const override {
    const auto it = compiled.find(method);
    return it == compiled.end() ? std::vector<NmethodRef>() : std::vector<NmethodRef>{it->second};
  }
  std::vector<NmethodRef> OfKey(uint32_t) const override { return {}; }

  uint64_t Id(const std::string& name) {
    const auto [it, fresh] = ids.emplace(name, ids.size() + 1);
    if (!fresh) return it->second;
    const bool loops = name.starts_with("L");
    names.push_back(loops ? name.substr(1) : name);
    MethodInfo& m = infos.emplace_back();
    m.name = names.back();
    m.class_name = "C";
    m.descriptor = "()V";
    m.klass = &klass;
    auto targets = std::make_shared<std::vector<CallTarget>>();
    Body& body = bodies.emplace_back();
    for (int32_t i = 1; i <= 9; i++) {
      if (i * 10 == kLoopEnd && loops) {
        body.sites.push_back({.bci = kLoopEnd, .opcode = kIfeq, .back = true, .back_to = 5});
        continue;
      }
      calls.push_back(std::string(1, static_cast<char>('a' + i - 1)));
      body.sites.push_back({.bci = static_cast<uint16_t>(i * 10), .opcode = kInvokevirtual, .target = i - 1});
      targets->push_back({.owner = &klass, .name = calls.back(), .descriptor = "()V"});
    }
    while (targets->size() < 9) targets->push_back({});
    body.targets = targets;
    m.body = &body;
    return it->second;
  }
  // "c@50 b@50 run@50", top first.
  std::vector<Frame> Frames(const std::string& text) {
    std::vector<Frame> frames;
    for (size_t at = 0; at < text.size();) {
      size_t end = text.find(' ', at);
      if (end == std::string::npos) end = text.size();
      const std::string one = text.substr(at, end - at);
      const size_t sign = one.find('@');
      const uint64_t id = Id(one.substr(0, sign));
      frames.push_back({id, std::stoi(one.substr(sign + 1)), &infos[id - 1]});
      at = end + 1;
    }
    return frames;
  }
  MethodInfo& Info(const std::string& name) { return infos[Id(name) - 1]; }
  // "main", "checkAndLoadMain" and "clinit" become what runs on the launcher's thread.
  void OfTheLauncher() {
    Info("main").descriptor = "([Ljava/lang/String;)V";
    Info("checkAndLoadMain").class_name = "sun/launcher/LauncherHelper";
    Info("clinit").upcall = Upcall::kClinit;
  }
  BracketVerdict Judge(const std::string& before, const std::string& gst, const std::string& after) {
    return Judge(Frames(before), Frames(gst), Frames(after));
  }
  BracketVerdict Judge(const std::vector<Frame>& b, const std::vector<Frame>& g, const std::vector<Frame>& a) {
    const auto walk = [](const std::vector<Frame>& f) {
      return BracketWalk{.frames = f, .code = static_cast<int32_t>(f.size()), .region = Region::kInterpreter};
    };
    return CompareBracket({.before = walk(b), .gst = g, .after = walk(a), .limit = kLimit}, *this);
  }

  std::map<std::string, uint64_t> ids;
  std::deque<std::string> names;
  std::deque<std::string> calls;
  std::deque<MethodInfo> infos;
  std::deque<Body> bodies;
  std::map<uint64_t, NmethodRef> compiled;
  ClassNode klass;
};

#define EXPECT_MATCH(v) EXPECT_EQ((v).verdict.outcome, Outcome::kMatch)
#define EXPECT_VOID(v, r)                                \
  do {                                                   \
    const BracketVerdict verdict_ = (v);                 \
    EXPECT_EQ(verdict_.verdict.outcome, Outcome::kVoid); \
    EXPECT_EQ(verdict_.verdict.reason, r);               \
  } while (0)
#define EXPECT_RULE(v, r)                                     \
  do {                                                        \
    const BracketVerdict verdict_ = (v);                      \
    EXPECT_EQ(verdict_.verdict.outcome, Outcome::kTolerated); \
    EXPECT_EQ(verdict_.verdict.rule, r);                      \
  } while (0)
#define EXPECT_MISMATCH(v, k, at, second)                                                               \
  do {                                                                                                  \
    const BracketVerdict verdict_ = (v);                                                                \
    EXPECT_EQ(verdict_.verdict.outcome, Outcome::kMismatch);                                            \
    EXPECT_STREQ(kKindNames[static_cast<int>(verdict_.verdict.kind)], kKindNames[static_cast<int>(k)]); \
    EXPECT_EQ(verdict_.verdict.divergence, static_cast<uint32_t>(at));                                  \
    EXPECT_EQ(verdict_.after, second);                                                                  \
  } while (0)

TEST_F(BracketTest, TheSameStackMatches) {
  EXPECT_MATCH(Judge("b@1 a@20 run@10", "b@4 a@20 run@10", "b@7 a@20 run@10"));
}

// Its class was redefined between the first signal and GetStackTrace: the frame continues in the old version.
TEST_F(BracketTest, ARedefinedMethodHasAnotherId) {
  const std::vector<Frame> before = Frames("b@1 a@20 run@10");
  MethodInfo obsolete = *before[1].info;
  std::vector<Frame> later = before;
  later[1] = {1000, 20, &obsolete};
  EXPECT_MISMATCH(Judge(before, later, later), Kind::kWrongMethod, 1, false);
  obsolete.retransformed = true;
  EXPECT_RULE(Judge(before, later, later), Rule::kRetransformed);
  EXPECT_MISMATCH(Judge(before, later, Frames("b@1 run@10")), Kind::kMissing, 1, true);
}

// A bottom that no event has described.
TEST_F(BracketTest, AnUnknownMethodIsNotJudged) {
  const std::vector<Frame> gst = Frames("b@1 run@20");
  std::vector<Frame> before = gst;
  before[1] = {1000, 20, nullptr};
  const BracketVerdict v = Judge(before, gst, gst);
  EXPECT_EQ(v.verdict.outcome, Outcome::kVoid);
  EXPECT_EQ(v.verdict.reason, Reason::kUnknownMethod);
}

TEST_F(BracketTest, TheTopMayDoAnything) {
  EXPECT_MATCH(Judge("c@1 b@30 a@20 run@10", "b@44 a@20 run@10", "e@1 b@50 a@20 run@10"));
  EXPECT_MATCH(Judge("a@1 run@10", "run@15", "b@1 run@20"));
}

// asgct-gst-bracket, rule moved: a loop may leave a frame that both walks show and come back.
TEST_F(BracketTest, ALoopMayComeBack) {
  EXPECT_RULE(Judge("a@4 La@10 run@10", "b@4 La@20 run@10", "a@4 La@10 run@10"), Rule::kMoved);
  // Called again from the same place: another activation, so what is above may differ.
  EXPECT_RULE(Judge("b@4 a@20 La@10 run@10", "c@4 a@30 La@10 run@10", "b@4 a@20 La@10 run@10"), Rule::kMoved);
}

TEST_F(BracketTest, MovedHidesNoFrameWithoutALoop) {
  // Nothing below stands in a loop: the calls have not returned.
  EXPECT_MISMATCH(Judge("x@4 run@10", "b@4 a@20 run@10", "b@4 a@20 run@10"), Kind::kWrongMethod, 1, false);
  EXPECT_MISMATCH(Judge("b@4 run@10", "b@4 a@20 run@10", "b@4 a@20 run@10"), Kind::kMissing, 1, false);
  EXPECT_MISMATCH(Judge("c@4 b@30 a@20 run@10", "c@4 b@30 a@20 run@10", "c@4 b@30 x@9 a@20 run@10"), Kind::kExtra, 2,
                  true);
  EXPECT_MISMATCH(Judge("c@4 b@30 a@20 run@10", "c@4 b@30 a@20 run@10", "c@4 a@20 x@9 run@10"), Kind::kExtra, 1, true);
  // A loop above does not excuse what is below it.
  EXPECT_MISMATCH(Judge("c@4 La@10 b@90 run@10", "c@4 La@10 a@90 run@10", "c@4 La@10 a@90 run@10"), Kind::kWrongMethod,
                  1, false);
}

TEST_F(BracketTest, ExecutionGoesForward) {
  EXPECT_MATCH(Judge("a@4 run@10", "b@4 run@20", "c@4 run@30"));
  EXPECT_MISMATCH(Judge("b@4 run@20", "a@4 run@10", "b@4 run@20"), Kind::kWrongBci, 0, false);
  EXPECT_MISMATCH(Judge("a@4 run@10", "b@4 run@20", "a@4 run@10"), Kind::kWrongBci, 0, true);
  // Out of the loop there is no way back into it.
  EXPECT_MISMATCH(Judge("d@4 La@40 run@10", "a@4 La@10 run@10", "d@4 La@40 run@10"), Kind::kWrongBci, 1, false);
}

TEST_F(BracketTest, ALostBottomIsTruncated) {
  EXPECT_MISMATCH(Judge("b@4 a@20", "b@4 a@20 run@10", "b@4 a@20 run@10"), Kind::kTruncated, 1, false);
  EXPECT_MISMATCH(Judge("a@4 La@10 run@10", "a@4 La@10 run@10", "a@4"), Kind::kTruncated, 2, true);
  EXPECT_MISMATCH(Judge("x@4 y@20", "b@4 a@20 run@10", "b@4 a@20 run@10"), Kind::kForeign, 0, false);
}

TEST_F(BracketTest, TheLaunchersThreadDoesMoreThanMain) {
  OfTheLauncher();
  for (const char* before : {"x@4 checkAndLoadMain@4", "x@4 clinit@4"}) {
    EXPECT_VOID(Judge(before, "a@4 main@10", "a@4 main@10"), Reason::kNoBottom);
  }
  EXPECT_MISMATCH(Judge("a@4", "a@4 main@10", "a@4 main@10"), Kind::kTruncated, 1, false);
  EXPECT_MISMATCH(Judge("x@4 y@20", "a@4 main@10", "a@4 main@10"), Kind::kForeign, 0, false);
  // Before main what runs there runs once.
  const std::string own = "a@4 checkAndLoadMain@10";
  EXPECT_MATCH(Judge(own, own, own));
  EXPECT_VOID(Judge(own, own, "a@4 main@10"), Reason::kNoBottom);
  EXPECT_VOID(Judge("x@4 clinit@4", own, own), Reason::kNoBottom);
  EXPECT_MISMATCH(Judge("a@4", own, own), Kind::kTruncated, 1, false);
  EXPECT_VOID(Judge("x@4 y@20", own, own), Reason::kNoBottom);
}

// JNI initialises a class and then calls a method of it, on a thread that native code attached.
TEST_F(BracketTest, WhatComesBehindAnInitialiserIsNotKnown) {
  Info("<clinit>");
  EXPECT_VOID(Judge("x@4 <clinit>@20", "x@4 <clinit>@20", "y@4"), Reason::kNoBottom);
  EXPECT_VOID(Judge("x@4 <clinit>@20", "x@4 <clinit>@20", "x@4"), Reason::kNoBottom);  // it may call x itself
  EXPECT_MISMATCH(Judge("x@4", "x@4 <clinit>@20", "x@4 <clinit>@20"), Kind::kTruncated, 1, false);
  EXPECT_MISMATCH(Judge("x@4 <clinit>@20", "x@4 <clinit>@10", "x@4 <clinit>@10"), Kind::kWrongBci, 0, false);
}

TEST_F(BracketTest, AWalkThatFailedHidesNoOther) {
  const std::vector<Frame> whole = Frames("b@4 a@20 run@10");
  const std::vector<Frame> lost = Frames("b@4 a@20");
  const auto judge = [&](const std::vector<Frame>& b, const std::vector<Frame>& a) {
    const auto walk = [](const std::vector<Frame>& f) {
      return BracketWalk{
          .frames = f, .code = f.empty() ? -5 : static_cast<int32_t>(f.size()), .region = Region::kInterpreter};
    };
    return CompareBracket({.before = walk(b), .gst = whole, .after = walk(a), .limit = kLimit}, *this);
  };
  EXPECT_MISMATCH(judge({}, lost), Kind::kTruncated, 1, true);
  EXPECT_MISMATCH(judge(lost, {}), Kind::kTruncated, 1, false);
  for (const bool after : {false, true}) {
    const BracketVerdict v = after ? judge(whole, {}) : judge({}, whole);
    EXPECT_EQ(v.verdict.outcome, Outcome::kUnwalkable);
    EXPECT_EQ(v.after, after);
  }
}

TEST_F(BracketTest, TheVmCallsAtTheEndOfAThread) {
  for (const char* name : {"exit", "sleep"}) Info(name).class_name = "java/lang/Thread";
  EXPECT_VOID(Judge("a@4 run@10", "a@4 run@10", "exit@4"), Reason::kNoBottom);
  EXPECT_MISMATCH(Judge("sleep@-3", "a@4 run@10", "a@4 run@10"), Kind::kForeign, 0, false);
  EXPECT_MISMATCH(Judge("sleep@-3", "sleep@-1 a@20 run@10", "a@4 run@10"), Kind::kTruncated, 2, false);
}

TEST_F(BracketTest, WhereAStackMayEnd) {
  OfTheLauncher();
  for (const char* name : {"run", "main", "checkAndLoadMain"}) EXPECT_TRUE(MayBeBottom(Info(name))) << name;
  for (const char* name : {"a", "clinit"}) EXPECT_FALSE(MayBeBottom(Info(name))) << name;
}

// A thread that native code attached: whatever it called is at the end, a run that is none of a thread's among it.
TEST_F(BracketTest, WithoutABottomNothingIsJudged) {
  EXPECT_VOID(Judge("x@4", "b@4 a@10", "b@4 a@10"), Reason::kNoBottom);
  ClassNode object;
  object.kind = ClassNode::Kind::kClass;
  ClassNode runs;
  runs.kind = ClassNode::Kind::kClass;
  runs.super = &object;
  EXPECT_MISMATCH(Judge("b@4 a@20 run@20", "a@4 run@10", "a@4 run@10"), Kind::kWrongBci, 0, false);
  Info("run").klass = &runs;
  EXPECT_VOID(Judge("b@4 a@20 run@20", "a@4 run@10", "a@4 run@10"), Reason::kNoBottom);
  object.name = "java/lang/Thread";
  EXPECT_MISMATCH(Judge("b@4 a@20 run@20", "a@4 run@10", "a@4 run@10"), Kind::kWrongBci, 0, false);
}

// Since 21 main may be an object's and have no arguments.
TEST_F(BracketTest, TheLauncherMakesTheObjectWhoseMainItCalls) {
  Info("<init>");
  EXPECT_VOID(Judge("x@4 <init>@4", "a@4 main@10", "a@4 main@10"), Reason::kNoBottom);
  EXPECT_MISMATCH(Judge("a@4", "a@4 main@10", "a@4 main@10"), Kind::kTruncated, 1, false);
  Info("<init>").class_name = "D";  // which inherits main
  EXPECT_VOID(Judge("x@4 <init>@4", "a@4 main@10", "a@4 main@10"), Reason::kNoBottom);
  Info("main").is_static = true;
  EXPECT_MISMATCH(Judge("x@4 <init>@4", "a@4 main@10", "a@4 main@10"), Kind::kForeign, 0, false);
}

// The VM may make several calls at one instruction: no proof that the frame above is the same.
TEST_F(BracketTest, UpcallsComeInTurn) {
  Id("loadClass");
  infos[Id("loadClass") - 1].upcall = Upcall::kLoad;
  EXPECT_RULE(Judge("x@1 a@4 run@10", "y@1 loadClass@4 run@10", "x@1 a@4 run@10"), Rule::kMoved);
}

TEST_F(BracketTest, NativeMethodsMayCallAnything) {
  infos[Id("native") - 1].native = true;
  EXPECT_RULE(Judge("x@1 a@4 native@-3 run@10", "y@1 b@4 native@-1 run@10", "x@1 a@4 native@-3 run@10"), Rule::kMoved);
}

TEST_F(BracketTest, RedefinedClassesProveNothing) {
  klass.redefined = true;
  EXPECT_RULE(Judge("b@4 run@20", "a@4 run@10", "b@4 run@20"), Rule::kMoved);
}

// The frames of the top physical frame are as good as the debug info at pc (asgct-shadow: inline-imprecision).
TEST_F(BracketTest, TheInlinedGroupOnTopIsNotJudged) {
  auto n = std::make_shared<Nmethod>();
  const std::vector<Frame> chain = Frames("b@4 a@20");
  n->method = chain[1].method;
  n->Add(n->Add(-1, chain[1]), chain[0]);
  const std::vector<Frame> before = Frames("b@4 a@20 run@10");
  const std::vector<Frame> gst = Frames("c@4 a@10 run@10");
  const std::vector<Frame> lost = Frames("b@4 a@20 x@30 run@10");
  const auto judge = [&](const std::vector<Frame>& first) {
    BracketWalk w = {
        .frames = first, .code = static_cast<int32_t>(first.size()), .region = Region::kCompiled, .at_pc = {n}};
    return CompareBracket({.before = w, .gst = gst, .after = w, .limit = kLimit}, *this);
  };
  EXPECT_EQ(judge(before).verdict.outcome, Outcome::kMatch);
  // But the compiled method itself is.
  EXPECT_MISMATCH(judge(lost), Kind::kExtra, 1, false);
}

// GetStackTrace returned the virtual thread's stack for its carrier, in VirtualThread.run as it ended (21).
TEST_F(BracketTest, AVirtualThreadsStackIsNoCarriers) {
  const auto judge = [&] { return Judge("d@50 vrun@10 b@50 a@50 run@10", "vrun@10", "b@50 a@50 run@10"); };
  Info("vrun").name = "run";
  EXPECT_EQ(judge().verdict.outcome, Outcome::kMismatch) << "a thread that has lost its bottom";
  Info("vrun").class_name = "java/lang/VirtualThread$VThreadContinuation$1";
  EXPECT_VOID(judge(), Reason::kVirtualThread);
}

TEST_F(BracketTest, OfAVirtualThreadOnlyTheCarrierIsJudged) {
  Id("enterSpecial");
  infos[Id("enterSpecial") - 1].role = Role::kContinuation;
  EXPECT_RULE(Judge("x@4 y@3 enterSpecial@4 a@20 run@10", "a@20 run@10", "enterSpecial@4 a@20 run@10"),
              Rule::kVirtualThread);
  EXPECT_MISMATCH(Judge("x@4 y@3 enterSpecial@4 a@20", "a@20 run@10", "enterSpecial@4 a@20 run@10"), Kind::kTruncated,
                  1, false);
}

TEST_F(BracketTest, NullMethodIdsEndTheProof) {
  std::vector<Frame> walk = Frames("b@4 a@20 run@10");
  walk[1] = {.method = 0, .bci = 20, .info = nullptr};
  const std::vector<Frame> gst = Frames("b@4 a@20 run@10");
  const BracketWalk w = {.frames = walk, .code = 3, .region = Region::kInterpreter};
  EXPECT_RULE(CompareBracket({.before = w, .gst = gst, .after = w, .limit = kLimit}, *this), Rule::kNullMethodId);
}

TEST_F(BracketTest, AnIdOfNoMethodIsAMismatchAtLast) {
  const std::vector<Frame> gst = Frames("b@4 a@20 run@10");
  std::vector<Frame> walk = gst;
  walk[0].info = nullptr;
  const BracketWalk good = {.frames = gst, .code = 3, .region = Region::kInterpreter};
  const BracketWalk bad = {.frames = walk, .code = 3, .region = Region::kInterpreter};
  const auto judge = [&](const BracketWalk& before, const BracketWalk& after, bool all_described) {
    return CompareBracket(
        {.before = before, .gst = gst, .after = after, .limit = kLimit, .all_described = all_described}, *this);
  };
  EXPECT_NE(judge(bad, good, false).verdict.outcome, Outcome::kMismatch) << "the JVM may tell of it yet";
  EXPECT_MISMATCH(judge(bad, good, true), Kind::kWrongMethod, 2, false);
  EXPECT_MISMATCH(judge(good, bad, true), Kind::kWrongMethod, 2, true);
}

// What tells a deoptimised caller when GetStackTrace comes too late to show it.
TEST_F(BracketTest, TheCallsInCompiledCode) {
  Nmethod n;
  n.Add(n.Add(-1, Frames("a@20")[0]), Frames("b@40")[0]);
  n.Add(-1, Frames("a@5")[0]);
  EXPECT_TRUE(n.Calls(Info("b")));
  EXPECT_TRUE(n.Calls(Info("d")));
  EXPECT_FALSE(n.Calls(Info("c")));
  Info("d").descriptor = "(I)V";
  EXPECT_FALSE(n.Calls(Info("d"))) << "a namesake";
}

// As in asgct-shadow: a thread whose pc is in compiled Java code is in Java.
TEST_F(BracketTest, CodesFitTheirPlace) {
  const std::vector<Frame> gst = Frames("a@4 run@10");
  auto n = std::make_shared<Nmethod>();
  n->method = gst[0].method;
  n->Add(-1, gst[0]);
  const BracketWalk good = {.frames = gst, .code = 2};
  const auto judge = [&](int32_t code, bool deoptimises) {
    return CompareBracket(
        {.before = good,
         .gst = gst,
         .after = {.code = code, .region = Region::kCompiled, .at_pc = {n}, .deoptimises = deoptimises},
         .limit = kLimit},
        *this);
  };
  EXPECT_MISMATCH(judge(-4, true), Kind::kCode, 0, true);
  EXPECT_MISMATCH(judge(-9, false), Kind::kCode, 0, true);
  EXPECT_RULE(judge(-9, true), Rule::kDeoptUpcall);
  EXPECT_EQ(judge(-5, false).verdict.outcome, Outcome::kUnwalkable);
}

TEST_F(BracketTest, CodesAndDepth) {
  const std::vector<Frame> gst = Frames("a@4 run@10");
  const BracketWalk good = {.frames = gst, .code = 2};
  for (int32_t code = -9; code <= 0; code++) {
    const BracketVerdict v =
        CompareBracket({.before = {.code = code}, .gst = gst, .after = good, .limit = kLimit}, *this);
    EXPECT_EQ(v.verdict.outcome, Outcome::kUnwalkable);
    EXPECT_EQ(v.verdict.code, code);
  }
  for (const int32_t code : {-10, -77}) {
    EXPECT_MISMATCH(CompareBracket({.before = good, .gst = gst, .after = {.code = code}, .limit = kLimit}, *this),
                    Kind::kCode, 0, true);
  }
  EXPECT_EQ(CompareBracket({.before = good, .gst = gst, .after = good, .limit = 2}, *this).verdict.reason,
            Reason::kDepth);
  EXPECT_EQ(CompareBracket({.before = good, .gst = {}, .after = good, .limit = kLimit}, *this).verdict.reason,
            Reason::kGstError);
}

TEST(Flow, Branches) {
  Body body;
  body.sites = {{.bci = 10, .back = true, .back_to = 2}, {.bci = 30, .back = true, .back_to = 8}, {.bci = 50}};
  EXPECT_TRUE(CanReach(body, 5, 5));
  EXPECT_TRUE(CanReach(body, 25, 2));  // 30 to 8, forward to 10, to 2
  EXPECT_FALSE(CanReach(body, 25, 1));
  EXPECT_FALSE(CanReach(body, 40, 39));
  EXPECT_TRUE(InLoop(body, 25));
  EXPECT_TRUE(InLoop(body, 10));
  EXPECT_FALSE(InLoop(body, 1));
  EXPECT_FALSE(InLoop(body, 31));
}

}  // namespace
}  // namespace misstep
