// Each rule of the comparisons: a case in which it fires, and a real fault behind it that is still caught.

#include "compare.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <string>

namespace misstep {
namespace {

constexpr uint32_t kLimit = 64;

// A small world of methods: instrumented ones have push_end 5 and a pop at [90, 95) whose return stands at 94.
class World {
 public:
  World() {
    Add("enter").role = Role::kEnter;
    Add("exit").role = Role::kExit;
    Add("check").role = Role::kRuntime;
    Add("enterSpecial").role = Role::kContinuation;
    Add("jdk");  // not instrumented
    Add("loadClass").upcall = Upcall::kLoad;
    Info("init").name = "<init>";
    for (const char* name : {"runContinuation", "switch"}) {
      MethodInfo& m = Add(name);
      m.class_name = "java/lang/VirtualThread";
      m.name = name;
    }
    MethodInfo& first = Add("first");  // of a continuation
    first.class_name = "jdk/internal/vm/Continuation";
    first.name = "enter";
  }
  MethodInfo& Add(const std::string& name) {
    MethodInfo& m = infos_.emplace_back();
    names_.push_back(name);
    ids_[name] = infos_.size();
    return m;
  }
  uint32_t Key(const std::string& name) { return Info(name).key; }
  MethodInfo& Info(const std::string& name) {
    if (!ids_.contains(name)) {
      MethodInfo& m = Add(name);
      m.key = static_cast<uint32_t>(infos_.size());
      m.push_end = 5;
      m.exits = {{90, 95}};
    }
    return infos_[ids_[name] - 1];
  }
  Frame At(const std::string& name, int32_t bci) {
    const MethodInfo& info = Info(name);
    return {ids_[name], bci, &info};
  }

 private:
  std::deque<MethodInfo> infos_;
  std::deque<std::string> names_;
  std::map<std::string, uint64_t> ids_;
};

struct CompareTest : testing::Test, CodeLookup {
  World world;
  std::multimap<uint64_t, NmethodRef> of_method;
  std::multimap<uint32_t, NmethodRef> of_key;

  std::vector<NmethodRef> OfMethod(uint64_t method) const override { return Get(of_method, method); }
  std::vector<NmethodRef> OfKey(uint32_t key) const override { return Get(of_key, key); }
  template <typename K>
  static std::vector<NmethodRef> Get(const std::multimap<K, NmethodRef>& map, K key) {
    std::vector<NmethodRef> found;
    for (auto [at, end] = map.equal_range(key); at != end; ++at) found.push_back(at->second);
    return found;
  }

  // "c@50 b@50 a@50", top first.
  std::vector<Frame> Frames(const std::string& text) {
    std::vector<Frame> frames;
    size_t at = 0;
    while (at < text.size()) {
      size_t end = text.find(' ', at);
      if (end == std::string::npos) end = text.size();
      const std::string one = text.substr(at, end - at);
      const size_t sign = one.find('@');
      frames.push_back(world.At(one.substr(0, sign), std::stoi(one.substr(sign + 1))));
      at = end + 1;
    }
    return frames;
  }
  // "a b c", bottom first.
  std::vector<uint32_t> Shadow(const std::string& text) {
    std::vector<uint32_t> keys;
    size_t at = 0;
    while (at < text.size()) {
      size_t end = text.find(' ', at);
      if (end == std::string::npos) end = text.size();
      keys.push_back(world.Key(text.substr(at, end - at)));
      at = end + 1;
    }
    return keys;
  }
  // Compiled code of the method at the chains' ends; each chain is "top@bci ... root@bci".
  NmethodRef Compiled(const std::vector<std::string>& chains) {
    auto n = std::make_shared<Nmethod>();
    for (const std::string& text : chains) {
      const std::vector<Frame> frames = Frames(text);
      int32_t parent = -1;
      for (auto f = frames.rbegin(); f != frames.rend(); ++f) parent = n->Add(parent, *f);
      n->method = frames.back().method;
    }
    of_method.emplace(n->method, n);
    return n;
  }
  // A sample with what it looks at.
  struct Given {
    Given(std::vector<uint32_t> shadow, std::vector<Frame> asgct, Region region = Region::kUnknown)
        : keys(std::move(shadow)), frames(std::move(asgct)) {
      s.shadow = keys;
      s.asgct = frames;
      s.code = static_cast<int32_t>(frames.size());
      s.limit = kLimit;
      s.region = region;
    }
    Given(const Given&) = delete;
    std::vector<uint32_t> keys;
    std::vector<Frame> frames;
    Sample s;
  };
  Verdict Judge(const std::string& shadow, const std::string& asgct, Region region = Region::kInterpreter,
                std::vector<NmethodRef> at_pc = {}, uint64_t root = 0) {
    Given g(Shadow(shadow), Frames(asgct), region);
    g.s.root = root;
    g.s.at_pc = std::move(at_pc);
    return CompareAsgctShadow(g.s, *this);
  }
  Verdict JudgeMounted(const std::string& carrier, const std::string& own, const std::string& asgct,
                       Region region = Region::kInterpreter, const std::string& root = "",
                       Mounted mounted = Mounted::kKnown) {
    std::vector<uint32_t> shadow = Shadow(carrier);
    const size_t mount_at = shadow.size();
    for (const uint32_t key : Shadow(own)) shadow.push_back(key);
    Given g(std::move(shadow), Frames(asgct), region);
    g.s.mounted = mounted;
    g.s.mount_at = mount_at;
    if (!root.empty()) g.s.root = Frames(root + "@0").front().method;
    return CompareAsgctShadow(g.s, *this);
  }
  Verdict JudgeEntry(const std::string& shadow, const std::string& gst) {
    return CompareShadowGst(Shadow(shadow), Frames(gst), kLimit);
  }
  Verdict JudgeWalks(const std::string& gst, const std::string& asgct) {
    const std::vector<Frame> a = Frames(asgct);
    return CompareGstAsgct(Frames(gst), a, static_cast<int32_t>(a.size()), kLimit);
  }
};

#define EXPECT_MATCH(v) EXPECT_EQ((v).outcome, Outcome::kMatch)
#define EXPECT_RULE(v, r)                             \
  do {                                                \
    const Verdict verdict_ = (v);                     \
    EXPECT_EQ(verdict_.outcome, Outcome::kTolerated); \
    EXPECT_EQ(verdict_.rule, r);                      \
  } while (0)
#define EXPECT_MISMATCH(v, k, at)                                                               \
  do {                                                                                          \
    const Verdict verdict_ = (v);                                                               \
    EXPECT_EQ(verdict_.outcome, Outcome::kMismatch);                                            \
    EXPECT_STREQ(kKindNames[static_cast<int>(verdict_.kind)], kKindNames[static_cast<int>(k)]); \
    EXPECT_EQ(verdict_.divergence, static_cast<uint32_t>(at));                                  \
  } while (0)
#define EXPECT_VOID(v, r)                        \
  do {                                           \
    const Verdict verdict_ = (v);                \
    EXPECT_EQ(verdict_.outcome, Outcome::kVoid); \
    EXPECT_EQ(verdict_.reason, r);               \
  } while (0)

// --- gst-asgct ---

TEST_F(CompareTest, WalksMatchWithTheNativeConstant) {
  EXPECT_MATCH(JudgeWalks("check@-1 a@7 b@9", "check@-3 a@7 b@9"));
}

// A method that asks for its own compilation at its entry has the classes of its signature loaded there.
TEST_F(CompareTest, WalksMatchAtACompiledEntry) {
  EXPECT_MATCH(JudgeWalks("check@-1 loadClass@1 a@0 b@9", "check@-3 loadClass@1 a@-1 b@9"));
  EXPECT_MISMATCH(JudgeWalks("check@-1 loadClass@1 a@7 b@9", "check@-3 loadClass@1 a@-1 b@9"), Kind::kWrongBci, 1);
  EXPECT_MISMATCH(JudgeWalks("check@-1 c@1 a@0 b@9", "check@-3 c@1 a@-1 b@9"), Kind::kWrongBci, 1);
}

TEST_F(CompareTest, TheNativeConstantIsOnlyThatOfNatives) {
  EXPECT_MISMATCH(JudgeWalks("check@-1 a@7", "check@-3 a@-3"), Kind::kWrongBci, 0);
}

TEST_F(CompareTest, WrongBciIsFound) { EXPECT_MISMATCH(JudgeWalks("a@7 b@9 c@1", "a@7 b@8 c@1"), Kind::kWrongBci, 1); }

TEST_F(CompareTest, WrongMethodIsFound) {
  EXPECT_MISMATCH(JudgeWalks("a@7 b@9 c@1", "a@7 d@9 c@1"), Kind::kWrongMethod, 1);
}

// JDK-8303444: everything below the upcall is lost; the divergence is the deepest frame that is left.
TEST_F(CompareTest, LostBottomIsTruncated) {
  EXPECT_MISMATCH(JudgeWalks("check@-1 clinit@2 trigger@6 main@6", "check@-3 clinit@2"), Kind::kTruncated, 2);
}

TEST_F(CompareTest, LostMiddleIsMissing) { EXPECT_MISMATCH(JudgeWalks("a@1 b@1 c@1", "a@1 c@1"), Kind::kMissing, 1); }
TEST_F(CompareTest, LostTopIsMissing) { EXPECT_MISMATCH(JudgeWalks("a@1 b@1 c@1", "b@1 c@1"), Kind::kMissing, 2); }
TEST_F(CompareTest, AddedFrameIsExtra) { EXPECT_MISMATCH(JudgeWalks("a@1 c@1", "a@1 b@1 c@1"), Kind::kExtra, 1); }
TEST_F(CompareTest, OtherStackIsForeign) {
  EXPECT_MISMATCH(JudgeWalks("a@1 b@1 c@1", "d@1 e@1 f@1"), Kind::kForeign, 0);
}

TEST_F(CompareTest, AtAnEntryOnlyACollectionMakesAStackUnwalkable) {
  const Verdict v = CompareGstAsgct(Frames("a@1"), {}, -2, kLimit);
  EXPECT_EQ(v.outcome, Outcome::kUnwalkable);
  EXPECT_EQ(v.code, -2);
  for (const int32_t code : {0, -1, -3, -4, -5, -6, -7, -8, -9, -10, -11}) {
    EXPECT_MISMATCH(CompareGstAsgct(Frames("a@1"), {}, code, kLimit), Kind::kCode, 0);
  }
}

// A class loader's code within a deoptimisation: not walked, at entries and in samples alike.
TEST_F(CompareTest, MinusNineInAnUpcallOfADeoptimisation) {
  EXPECT_RULE(CompareGstAsgct(Frames("a@1"), {}, -9, kLimit, true), Rule::kDeoptUpcall);
  Sample s;
  s.limit = kLimit;
  s.region = Region::kCompiled;
  s.at_pc = {Compiled({"b@50 a@50"})};
  s.code = -9;
  s.deoptimises = true;
  EXPECT_RULE(CompareAsgctShadow(s, *this), Rule::kDeoptUpcall);
}
TEST_F(CompareTest, MinusNineWithoutADeoptimisationIsWrong) {
  EXPECT_MISMATCH(CompareGstAsgct(Frames("a@1"), {}, -9, kLimit, false), Kind::kCode, 0);
  Sample s;
  s.limit = kLimit;
  s.region = Region::kCompiled;
  s.at_pc = {Compiled({"b@50 a@50"})};
  s.code = -9;
  EXPECT_MISMATCH(CompareAsgctShadow(s, *this), Kind::kCode, 0);
  // Nor does one explain any other code.
  s.deoptimises = true;
  for (const int32_t code : {0, -1, -3, -4, -7, -8, -10}) {
    s.code = code;
    EXPECT_MISMATCH(CompareAsgctShadow(s, *this), Kind::kCode, 0);
    EXPECT_MISMATCH(CompareGstAsgct(Frames("a@1"), {}, code, kLimit, true), Kind::kCode, 0);
  }
}

TEST_F(CompareTest, VirtualThreadGoesOnIntoTheCarrier) {
  EXPECT_RULE(JudgeWalks("a@1 b@1", "a@1 b@1 enterSpecial@4 jdk@3"), Rule::kVirtualThread);
}
TEST_F(CompareTest, VirtualThreadHidesNoLostFrame) {
  // Frames frozen in the heap are lost: the divergence is the deepest frame that is left.
  EXPECT_MISMATCH(JudgeWalks("a@1 b@1 c@1", "a@1 b@1 enterSpecial@4 jdk@3"), Kind::kTruncated, 1);
  EXPECT_MISMATCH(JudgeWalks("a@1 b@1 c@1", "a@1 c@1 enterSpecial@4 jdk@3"), Kind::kMissing, 1);
  EXPECT_MISMATCH(JudgeWalks("a@1 b@1", "a@1 b@1 jdk@3"), Kind::kExtra, 0);
}

TEST_F(CompareTest, NullMethodIdIsTolerated) {
  std::vector<Frame> a = Frames("a@1 b@2 c@3");
  a[1].method = 0;
  EXPECT_RULE(CompareGstAsgct(Frames("a@1 b@2 c@3"), a, 3, kLimit), Rule::kNullMethodId);
  EXPECT_MISMATCH(CompareGstAsgct(Frames("a@1 b@9 c@3"), a, 3, kLimit), Kind::kWrongMethod, 1);
}
TEST_F(CompareTest, NullMethodIdHidesNoFaultElsewhere) {
  std::vector<Frame> a = Frames("a@1 b@2 c@3");
  a[1].method = 0;
  EXPECT_EQ(CompareGstAsgct(Frames("a@1 b@2 c@9"), a, 3, kLimit).outcome, Outcome::kMismatch) << "another place";
  EXPECT_EQ(CompareGstAsgct(Frames("a@1 b@2 d@3"), a, 3, kLimit).outcome, Outcome::kMismatch) << "another method";
  EXPECT_EQ(CompareGstAsgct(Frames("a@1 b@2 c@3 d@4"), a, 3, kLimit).outcome, Outcome::kMismatch) << "a lost bottom";
}

// A walk during a GC, or with a method without its jmethodID, is repeated.
TEST_F(CompareTest, ASecondWalkThatIsEqualIsRetried) {
  EXPECT_TRUE(WorthRetrying(-2, {}));
  std::vector<Frame> a = Frames("a@1 b@2");
  EXPECT_FALSE(WorthRetrying(2, a));
  a[1].method = 0;
  EXPECT_TRUE(WorthRetrying(2, a));
  EXPECT_RULE(AfterRetry(JudgeWalks("a@1 b@2", "a@1 b@2")), Rule::kRetried);
}
TEST_F(CompareTest, RetriedHidesNoLostFrame) {
  EXPECT_FALSE(WorthRetrying(-5, {}));
  // The first walk is judged, too: one that is worth a second may have lost its bottom besides.
  std::vector<Frame> first = Frames("a@1 b@2");
  first[0].method = 0;
  EXPECT_TRUE(WorthRetrying(2, first));
  EXPECT_EQ(CompareGstAsgct(Frames("a@1 b@2 c@3"), first, 2, kLimit).outcome, Outcome::kMismatch);
  EXPECT_MISMATCH(AfterRetry(JudgeWalks("a@1 b@2 c@3", "a@1 b@2")), Kind::kTruncated, 1);
}

TEST_F(CompareTest, DepthLimitComparesWhatIsThere) {
  std::string deep;
  for (uint32_t i = 0; i < kLimit; i++) deep += (i > 0 ? " a@1" : "a@1");
  EXPECT_MATCH(JudgeWalks(deep, deep));
  // GetStackTrace was cut, ASGCT counts one frame less: still the same top.
  EXPECT_RULE(JudgeWalks(deep, deep.substr(0, deep.size() - 4)), Rule::kDepthLimit);
  std::string other = deep;
  other.replace(8, 3, "b@1");
  EXPECT_EQ(JudgeWalks(deep, other).outcome, Outcome::kMismatch);
}
TEST_F(CompareTest, DepthLimitHidesNoLostBottom) {
  std::string deep = "c@1 b@1";
  for (uint32_t i = 2; i < kLimit; i++) deep += " a@1";
  EXPECT_MISMATCH(JudgeWalks(deep, "c@1 b@1"), Kind::kTruncated, kLimit - 2);
  EXPECT_MISMATCH(JudgeWalks("c@1 b@1", deep), Kind::kExtra, 0);
}

// --- shadow-gst ---

TEST_F(CompareTest, EntryMatches) { EXPECT_MATCH(JudgeEntry("a b", "check@-1 enter@9 b@1 jdk@3 a@50")); }

TEST_F(CompareTest, EntryBeforeItsPush) {
  EXPECT_RULE(JudgeEntry("a", "check@-1 enter@9 b@1 a@50"), Rule::kPushPopWindow);
}

TEST_F(CompareTest, PushWindowIsOnlyThatOfTheMethodItself) {
  // b's caller is past its push: it must be on the shadow.
  EXPECT_MISMATCH(JudgeEntry("a", "check@-1 enter@9 c@1 b@50 a@50"), Kind::kExtra, 1);
}

TEST_F(CompareTest, ConstructorPrologueIsOffTheShadow) {
  EXPECT_RULE(JudgeEntry("a b", "check@-1 enter@9 b@1 init@2 a@50"), Rule::kConstructorPrologue);
}

TEST_F(CompareTest, ConstructorPrologueIsCertain) {
  // A constructor at its super() call cannot be on the shadow.
  EXPECT_EQ(JudgeEntry("a init b", "check@-1 enter@9 b@1 init@2 a@50").outcome, Outcome::kMismatch);
  EXPECT_EQ(JudgeEntry("a", "check@-1 enter@9 b@50 init@2 a@50").outcome, Outcome::kMismatch);
}

// An ordinary method calls nothing before its push, but for the VM on its behalf.
TEST_F(CompareTest, ConstructorPrologueIsNoOrdinaryMethods) {
  EXPECT_RULE(JudgeEntry("a", "loadClass@1 b@0 a@50"), Rule::kConstructorPrologue);
  EXPECT_RULE(JudgeEntry("a", "loadClass@1 b@-1 a@50"), Rule::kPushPopWindow);
  EXPECT_MISMATCH(Judge("a b", "b@50 x@0 a@50"), Kind::kExtra, 1);
  EXPECT_MISMATCH(Judge("a b", "b@50 x@-1 a@50"), Kind::kExtra, 1);
}

TEST_F(CompareTest, PopWindow) {
  EXPECT_RULE(JudgeEntry("a", "exit@9 b@91 a@50"), Rule::kPushPopWindow);
  EXPECT_MATCH(JudgeEntry("a b", "exit@9 b@91 a@50"));
  // An upcall at the pop that is not the pop: still on the shadow.
  EXPECT_EQ(JudgeEntry("a", "jdk@9 b@91 a@50").outcome, Outcome::kMismatch);
  // At the return after the pop.
  EXPECT_RULE(JudgeEntry("a", "jdk@9 b@94 a@50"), Rule::kPushPopWindow);
  // The instruction behind the return of one branch is another branch's.
  EXPECT_EQ(JudgeEntry("a", "jdk@9 b@95 a@50").outcome, Outcome::kMismatch);
  EXPECT_MATCH(JudgeEntry("a b", "jdk@9 b@95 a@50"));
}

TEST_F(CompareTest, RetransformedMethodsMayRunWithoutShadow) {
  world.Info("old").retransformed = true;
  EXPECT_RULE(JudgeEntry("a b", "check@-1 enter@9 b@1 old@50 a@50"), Rule::kRetransformed);
  EXPECT_MATCH(JudgeEntry("a old b", "check@-1 enter@9 b@1 old@50 a@50"));
  EXPECT_EQ(JudgeEntry("b", "check@-1 enter@9 b@1 old@50 a@50").outcome, Outcome::kMismatch);
}

TEST_F(CompareTest, EntryFindsMissingFrames) {
  EXPECT_MISMATCH(JudgeEntry("a b c", "enter@9 c@1 a@50"), Kind::kMissing, 1);
  EXPECT_MISMATCH(JudgeEntry("a b c", "enter@9 c@20 b@50"), Kind::kTruncated, 1);
}

TEST_F(CompareTest, EntryAtTheDepthLimitIsVoid) {
  std::string deep = "enter@9";
  for (uint32_t i = 1; i < kLimit; i++) deep += " a@50";
  EXPECT_VOID(JudgeEntry("a", deep), Reason::kDepth);
}

// --- asgct-shadow ---

TEST_F(CompareTest, SampleMatches) { EXPECT_MATCH(Judge("a b c", "c@50 jdk@2 b@50 a@50 jdk@1")); }
TEST_F(CompareTest, SampleInJdkOnly) { EXPECT_MATCH(Judge("", "jdk@50 jdk@2")); }

TEST_F(CompareTest, SampleInPushWindow) {
  EXPECT_RULE(Judge("a b", "c@0 b@50 a@50"), Rule::kPushPopWindow);
  EXPECT_RULE(Judge("a b", "check@-3 enter@2 c@1 b@50 a@50"), Rule::kPushPopWindow);
  EXPECT_RULE(Judge("a b", "c@92 b@50 a@50"), Rule::kPushPopWindow);
  EXPECT_RULE(Judge("a b", "c@94 b@50 a@50"), Rule::kPushPopWindow);
}

TEST_F(CompareTest, PushWindowHidesNothingBelow) {
  EXPECT_EQ(Judge("a b", "c@0 a@50").outcome, Outcome::kMismatch);            // b lost
  EXPECT_EQ(Judge("a b", "c@0 x@50 b@50 a@50").outcome, Outcome::kMismatch);  // x is bogus
  EXPECT_EQ(Judge("a b", "c@50 b@50 a@50", Region::kInterpreter).outcome, Outcome::kMismatch);
}

TEST_F(CompareTest, InlineImprecisionSwapsTheTop) {
  // m has b and c inlined; the shadow says b, ASGCT says c.
  const NmethodRef m = Compiled({"b@50 m@20", "c@50 m@30", "c@50 b@40 m@20"});
  EXPECT_RULE(Judge("a m b", "c@50 m@30 a@50", Region::kCompiled, {m}), Rule::kInlineImprecision);
  EXPECT_RULE(Judge("a m b c", "c@50 m@30 a@50", Region::kCompiled, {m}), Rule::kInlineImprecision);
  EXPECT_RULE(Judge("a m", "c@50 m@30 a@50", Region::kCompiled, {m}), Rule::kInlineImprecision);
}

TEST_F(CompareTest, InlineImprecisionOnlyWithinThatCode) {
  const NmethodRef m = Compiled({"b@50 m@20", "c@50 m@30"});
  // d is not inlined in m.
  EXPECT_EQ(Judge("a m d", "c@50 m@30 a@50", Region::kCompiled, {m}).outcome, Outcome::kMismatch);
  // Below the compiled method everything must agree.
  EXPECT_EQ(Judge("a x m b", "c@50 m@30 a@50", Region::kCompiled, {m}).outcome, Outcome::kMismatch);
  EXPECT_EQ(Judge("m b", "c@50 m@30 a@50", Region::kCompiled, {m}).outcome, Outcome::kMismatch);
  EXPECT_MISMATCH(Judge("z a m b", "c@50 m@30 a@50", Region::kCompiled, {m}), Kind::kTruncated, 1);
  // The compiled method itself is no matter of inlining.
  EXPECT_EQ(Judge("a n", "c@50 m@30 a@50", Region::kCompiled, {m}).outcome, Outcome::kMismatch);
}

TEST_F(CompareTest, InlineImprecisionInALeafCall) {
  // pc is in a stub that compiled code called: the group is found by its chain.
  Compiled({"b@50 m@20", "c@50 m@30", "b@50 c@40 m@30"});
  EXPECT_RULE(Judge("a m b", "c@50 m@30 a@50", Region::kStub), Rule::kInlineImprecision);
  EXPECT_EQ(Judge("a m d", "c@50 m@30 a@50", Region::kStub).outcome, Outcome::kMismatch);
  // Where no position is near the call, as in the slow path of a barrier, the compiled method stands alone.
  EXPECT_RULE(Judge("a m c b", "m@0 a@50", Region::kNative), Rule::kInlineImprecision);
  EXPECT_EQ(Judge("a m d e", "m@0 a@50", Region::kNative).outcome, Outcome::kMismatch) << "d is not inlined in m";
  EXPECT_EQ(Judge("a x m b", "m@0 a@50", Region::kNative).outcome, Outcome::kMismatch) << "x is lost";
  EXPECT_EQ(Judge("a m c b", "m@0 a@50", Region::kInterpreter).outcome, Outcome::kMismatch) << "that is called by none";
  EXPECT_EQ(Judge("a m b c d", "b@0 m@50 a@50", Region::kNative).outcome, Outcome::kMismatch)
      << "b has code of its own";
}

TEST_F(CompareTest, TopFrameMissing) {
  EXPECT_RULE(Judge("a b c", "b@50 a@50", Region::kInterpreter), Rule::kTopFrameMissing);
  EXPECT_RULE(Judge("a b c", "b@50 a@50", Region::kStub), Rule::kTopFrameMissing);
  EXPECT_RULE(Judge("a b c", "b@50 a@50", Region::kNative), Rule::kTopFrameMissing);
  of_key.emplace(world.Key("c"), Compiled({"d@50 c@30"}));
  EXPECT_RULE(Judge("a b c d", "b@50 a@50", Region::kInterpreter), Rule::kTopFrameMissing);
}

TEST_F(CompareTest, TopFrameMissingIsOnePhysicalFrame) {
  EXPECT_MISMATCH(Judge("a b c d", "b@50 a@50", Region::kInterpreter), Kind::kMissing, 2);
  EXPECT_MISMATCH(Judge("a b c", "b@50 a@50", Region::kCompiled), Kind::kMissing, 2);
  EXPECT_MISMATCH(Judge("a b c d", "c@50 b@50", Region::kInterpreter), Kind::kTruncated, 1);
  EXPECT_MISMATCH(Judge("a b c d", "d@50 b@50 a@50", Region::kInterpreter), Kind::kMissing, 2);
}

// What ends at an unknown bottom has lost that, not its top.
TEST_F(CompareTest, TopFrameMissingNeedsAKnownBottom) {
  Given g(Shadow("a"), Frames("jdk@3"), Region::kInterpreter);
  Sample& s = g.s;
  EXPECT_RULE(CompareAsgctShadow(s, *this), Rule::kTopFrameMissing);
  s.known_bottom = false;
  const Verdict v = CompareAsgctShadow(s, *this);
  EXPECT_MISMATCH(v, Kind::kTruncated, 1);
  EXPECT_TRUE(MayBeEarly(s, v));
}

// C1's code calls a function of the VM that leaves no debug information, before its method's push. The VM reports the
// code after the sample was judged first.
TEST_F(CompareTest, ALeafCallOfCodeThatIsNotKnownYetIsEarly) {
  const Given g(Shadow("a"), Frames("b@9 a@50"), Region::kNative);
  const Sample& s = g.s;
  const Verdict v = CompareAsgctShadow(s, *this);
  EXPECT_MISMATCH(v, Kind::kExtra, 1);
  EXPECT_TRUE(MayBeEarly(s, v));
  Compiled({"b@2", "b@9"});
  EXPECT_RULE(CompareAsgctShadow(s, *this), Rule::kInlineImprecision);
}

TEST_F(CompareTest, Truncated) {
  EXPECT_MISMATCH(Judge("a b c", "c@50 jdk@3"), Kind::kTruncated, 2);
  EXPECT_MISMATCH(Judge("a b c", "jdk@3"), Kind::kTruncated, 3);
  // A frame was also missed on top.
  EXPECT_MISMATCH(Judge("a b c d", "c@50 jdk@3"), Kind::kTruncated, 2);
}

TEST_F(CompareTest, LostTopDownToTheRootIsMissing) {
  Given g(Shadow("a b c"), Frames("jdk@3"));
  Sample& s = g.s;
  s.root = g.frames[0].method;
  EXPECT_MISMATCH(CompareAsgctShadow(s, *this), Kind::kMissing, 0);
  s.root = g.frames[0].method + 1;
  EXPECT_MISMATCH(CompareAsgctShadow(s, *this), Kind::kTruncated, 3);
}

TEST_F(CompareTest, Fabricated) {
  EXPECT_MISMATCH(Judge("a b", "b@50 x@50 a@50"), Kind::kExtra, 1);
  EXPECT_MISMATCH(Judge("a b c", "c@50 x@50 a@50"), Kind::kWrongMethod, 1);
  EXPECT_MISMATCH(Judge("a b", "x@50 y@50 z@50"), Kind::kForeign, 0);
}

TEST_F(CompareTest, RecursionIsCounted) {
  EXPECT_MATCH(Judge("a r r r", "r@50 r@50 r@50 a@50"));
  EXPECT_RULE(Judge("a r r", "r@0 r@50 r@50 a@50"), Rule::kPushPopWindow);
  EXPECT_EQ(Judge("a r r r r", "r@50 r@50 a@50").outcome, Outcome::kMismatch);
  EXPECT_EQ(Judge("a r r", "r@50 r@50 r@50 r@50 a@50").outcome, Outcome::kMismatch);
}

// What is left of a recursion is its top when the thread's bottom has gone, and its bottom when that is there.
TEST_F(CompareTest, ARecursionThatIsCutOffIsTruncated) {
  Given g(Shadow("r r r r"), Frames("r@50 r@50 jdk@3"));
  Sample& s = g.s;
  s.root = g.frames[2].method + 1;
  EXPECT_MISMATCH(CompareAsgctShadow(s, *this), Kind::kTruncated, 2);
  s.root = g.frames[2].method;
  EXPECT_MISMATCH(CompareAsgctShadow(s, *this), Kind::kMissing, 2);
}

// Its top may be anything that is tolerated: here a frame in its push, and one that is not the innermost inlined one.
TEST_F(CompareTest, ARecursionThatIsCutOffBelowAnImpreciseTopIsTruncated) {
  constexpr uint64_t kElsewhere = 1 << 20;
  EXPECT_MISMATCH(Judge("r q r q r q", "q@3 q@50 r@50 jdk@3", Region::kInterpreter, {}, kElsewhere), Kind::kTruncated,
                  4);
  const NmethodRef n = Compiled({"r@50", "x@50 r@60"});
  EXPECT_MISMATCH(Judge("r q r q r x", "r@50 q@50 r@50 jdk@3", Region::kCompiled, {n}, kElsewhere), Kind::kTruncated,
                  2);
  // There is no such position.
  EXPECT_MISMATCH(Judge("r q r q r y", "r@50 q@50 r@50 jdk@3", Region::kCompiled, {n}, kElsewhere), Kind::kMissing, 3);
}

// Nothing of the shadow is left below a compiled frame that is in its push, whatever position the walk takes for it.
TEST_F(CompareTest, AWalkOfOneFrameInItsPushIsTruncated) {
  const NmethodRef n = Compiled({"r@3", "v@3 r@50"});
  Given g(Shadow("a b c"), Frames("v@3 r@50"), Region::kNative);
  g.s.root = g.frames[0].method + 100;
  g.s.known_bottom = false;
  EXPECT_MISMATCH(CompareAsgctShadow(g.s, *this), Kind::kTruncated, 3);
  g.s.known_bottom = true;
  EXPECT_MISMATCH(CompareAsgctShadow(g.s, *this), Kind::kForeign, 0);
  // Code without a position in the push, and two physical frames.
  Compiled({"v@3 q@50"});
  Given other(Shadow("a b c"), Frames("v@3 q@50"), Region::kNative);
  other.s.root = g.s.root;
  other.s.known_bottom = false;
  EXPECT_MISMATCH(CompareAsgctShadow(other.s, *this), Kind::kForeign, 0);
  Given two(Shadow("a b c"), Frames("v@3 r@50 q@50"), Region::kNative);
  two.s.root = g.s.root;
  two.s.known_bottom = false;
  EXPECT_MISMATCH(CompareAsgctShadow(two.s, *this), Kind::kForeign, 0);
}

// Code of a method that was replaced since: its frames have another id, which is known or not.
TEST_F(CompareTest, ThePositionsOfCodeOfAnotherVersion) {
  const NmethodRef n = Compiled({"b@50 m@20"});
  std::vector<Frame> frames = Frames("b@50 m@20 a@50");
  MethodInfo obsolete = *frames[1].info;
  frames[1].method = 1000;
  frames[1].info = nullptr;
  EXPECT_FALSE(n->Begins(frames)) << "nothing was replaced";
  frames[1].info = &obsolete;
  EXPECT_FALSE(n->Begins(frames)) << "a namesake";
  obsolete.retransformed = true;
  EXPECT_TRUE(n->Begins(frames));
  frames[1].bci = 21;
  EXPECT_FALSE(n->Begins(frames)) << "another call";
  frames[1] = {.method = 1000, .bci = 20, .info = nullptr};
  MethodInfo replaced = obsolete;
  Nmethod later = *n;
  for (Frame& f : later.methods) {
    if (f.info->name == replaced.name) f.info = &replaced;
  }
  EXPECT_TRUE(later.Begins(frames)) << "of which no event told";
}

// A deoptimised caller has the position at which the reference continues, not any other one.
TEST_F(CompareTest, ThePositionsOfCodeInAReference) {
  const NmethodRef n = Compiled({"b@50 m@20", "m@30", "jdk@3"});
  EXPECT_TRUE(n->Begins(Frames("b@50 m@20 a@50")));
  EXPECT_TRUE(n->Begins(Frames("m@30")));
  EXPECT_FALSE(n->Begins(Frames("b@50 a@50"))) << "interpreted";
  EXPECT_FALSE(n->Begins(Frames("b@50"))) << "the code's method is not there";
  EXPECT_FALSE(n->Begins(Frames("b@51 m@20 a@50"))) << "another call";
  EXPECT_FALSE(n->Begins(Frames("a@50 b@50 m@20"))) << "further down";
  EXPECT_FALSE(n->Begins({}));
  EXPECT_TRUE(n->Ends(Shadow("a m b"), false));
  EXPECT_TRUE(n->Ends(Shadow("a m"), false));
  EXPECT_FALSE(n->Ends(Shadow("a b"), false)) << "interpreted";
  EXPECT_FALSE(n->Ends(Shadow("m b a"), false)) << "further down";
  EXPECT_TRUE(n->Ends(Shadow("a"), true)) << "a position without entries";
}

// Of a walk through a mounted virtual thread the carrier's own frames are compared.
TEST_F(CompareTest, CarrierBelowAVirtualThread) {
  EXPECT_RULE(Judge("a b", "c@50 enterSpecial@3 runContinuation@2 b@50 a@50"), Rule::kVirtualThread);
  EXPECT_RULE(Judge("a b", "c@50 switch@1 enterSpecial@3 runContinuation@2 b@50 a@50"), Rule::kVirtualThread);
  // What runs above as the carrier is on its shadow.
  EXPECT_VOID(Judge("a b c", "c@50 switch@1 enterSpecial@3 runContinuation@2 b@50 a@50"), Reason::kVirtualThread);
  EXPECT_VOID(Judge("c", "c@50 switch@1 enterSpecial@3 runContinuation@2 jdk@2"), Reason::kVirtualThread);
  // Nothing to compare, and a continuation that is no virtual thread's.
  EXPECT_VOID(Judge("", "c@50 enterSpecial@3 runContinuation@2 jdk@2"), Reason::kVirtualThread);
  EXPECT_VOID(Judge("a c", "c@50 enterSpecial@3 jdk@2 a@50"), Reason::kVirtualThread);
}
TEST_F(CompareTest, CarrierBelowAVirtualThreadHidesNoFault) {
  EXPECT_MISMATCH(Judge("", "c@50 enterSpecial@3"), Kind::kTruncated, 0);
  EXPECT_MISMATCH(Judge("a", "c@50 enterSpecial@3 runContinuation@2"), Kind::kTruncated, 1);
  EXPECT_MISMATCH(Judge("a b", "c@50 enterSpecial@3 runContinuation@2 b@50"), Kind::kTruncated, 1);
  EXPECT_MISMATCH(Judge("a b", "c@50 enterSpecial@3 runContinuation@2 jdk@2"), Kind::kTruncated, 2);
  EXPECT_MISMATCH(Judge("a b", "c@50 enterSpecial@3 runContinuation@2 a@50"), Kind::kMissing, 1);
  EXPECT_MISMATCH(Judge("a b d", "c@50 switch@1 enterSpecial@3 runContinuation@2 d@50 a@50"), Kind::kMissing, 1);
  EXPECT_MISMATCH(Judge("a", "c@50 enterSpecial@3 runContinuation@2 b@50 a@50"), Kind::kExtra, 1);
}

// With the shadow of a mounted virtual thread between those entries of its carrier's from before the mount and since.
TEST_F(CompareTest, MountedVirtualThreadIsJudged) {
  const std::string carrier = "enterSpecial@3 runContinuation@2 b@50 a@50";
  EXPECT_MATCH(JudgeMounted("a b", "c d", "d@50 c@50 jdk@1 first@2 " + carrier));
  EXPECT_MATCH(JudgeMounted("a b", "", "jdk@1 first@2 " + carrier));                  // nothing was called yet
  EXPECT_MATCH(JudgeMounted("a b", "c e", "e@50 switch@1 c@50 first@2 " + carrier));  // e runs as the carrier
  EXPECT_RULE(JudgeMounted("a b", "c", "d@2 c@50 first@2 " + carrier), Rule::kPushPopWindow);
  EXPECT_RULE(JudgeMounted("a b", "c d", "c@50 first@2 " + carrier, Region::kNative), Rule::kTopFrameMissing);
}
TEST_F(CompareTest, FramesThatAreFrozenAreCutOff) {
  const std::string carrier = "enterSpecial@3 runContinuation@2 b@50 a@50";
  EXPECT_MISMATCH(JudgeMounted("a b", "c d e", "e@50 d@50 " + carrier), Kind::kTruncated, 3);
  EXPECT_MISMATCH(JudgeMounted("a b", "c d e", "e@50 " + carrier), Kind::kTruncated, 4);
  EXPECT_MISMATCH(JudgeMounted("a b", "c c c c", "c@50 " + carrier), Kind::kTruncated, 5);   // a recursion
  EXPECT_MISMATCH(JudgeMounted("a b", "c d", "d@50 c@50 " + carrier), Kind::kTruncated, 2);  // below all of the shadow
}
TEST_F(CompareTest, MountedVirtualThreadHidesNoFault) {
  const std::string carrier = "enterSpecial@3 runContinuation@2 b@50 a@50";
  EXPECT_MISMATCH(JudgeMounted("a b", "c d e", "e@50 c@50 first@2 " + carrier), Kind::kMissing, 3);
  EXPECT_MISMATCH(JudgeMounted("a b", "c d", "d@50 x@50 c@50 first@2 " + carrier), Kind::kExtra, 3);
  EXPECT_MISMATCH(JudgeMounted("a b", "c d e", "e@50 x@50 c@50 first@2 " + carrier), Kind::kWrongMethod, 3);
  EXPECT_MISMATCH(JudgeMounted("a b", "c", "c@50 first@2 enterSpecial@3 runContinuation@2 b@50"), Kind::kTruncated, 1);
  EXPECT_MISMATCH(JudgeMounted("a b", "c", "c@50 first@2 enterSpecial@3 runContinuation@2"), Kind::kTruncated, 2);
  EXPECT_MISMATCH(JudgeMounted("a b", "c", "c@50 first@2 enterSpecial@3 runContinuation@2 a@50"), Kind::kMissing, 1);
  EXPECT_MISMATCH(JudgeMounted("a b", "c d", "d@50 c@50 first@2"), Kind::kTruncated, 2);  // cut off at the seam
  EXPECT_MISMATCH(JudgeMounted("a b", "c d", "d@50"), Kind::kTruncated, 3);               // and above it
  EXPECT_VOID(JudgeMounted("", "", "jdk@2"), Reason::kVirtualThread);                     // nothing to compare
}
TEST_F(CompareTest, VirtualThreadSwitchHasTheCarriersFrames) {
  EXPECT_RULE(JudgeMounted("a b", "c d", "runContinuation@2 b@50 a@50"), Rule::kVirtualThreadSwitch);  // mounting
  EXPECT_RULE(JudgeMounted("a b", "c d", "enterSpecial@3 runContinuation@2 b@50 a@50", Region::kStub),
              Rule::kVirtualThreadSwitch);  // thawing
  EXPECT_RULE(JudgeMounted("a b", "c d", "b@50 a@50", Region::kStub, "a"),
              Rule::kVirtualThreadSwitch);  // the top frame is missing
  // Which shadow has what mounting calls is not known.
  EXPECT_VOID(JudgeMounted("a b", "c d", "x@50 runContinuation@2 b@50 a@50"), Reason::kVirtualThreadSwitch);
}
TEST_F(CompareTest, VirtualThreadSwitchHidesNoFault) {
  EXPECT_MISMATCH(JudgeMounted("a b", "c d", "runContinuation@2 b@50"), Kind::kTruncated, 1);
  EXPECT_MISMATCH(JudgeMounted("a b", "c d", "runContinuation@2 a@50"), Kind::kMissing, 1);
  EXPECT_MISMATCH(JudgeMounted("a b", "c d", "enterSpecial@3 runContinuation@2 b@50 a@50"), Kind::kTruncated,
                  4);  // pc is in Java code, which has a frame
  EXPECT_MISMATCH(JudgeMounted("a b", "c d", "d@50 b@50 a@50", Region::kStub, "a"), Kind::kMissing,
                  2);  // the virtual thread's bottom and the seam are missing
}
TEST_F(CompareTest, MountedWithoutAShadow) {
  EXPECT_RULE(JudgeMounted("a b", "", "c@50 first@2 enterSpecial@3 runContinuation@2 b@50 a@50", Region::kInterpreter,
                           "", Mounted::kUnknown),
              Rule::kVirtualThread);
}

TEST_F(CompareTest, TruncatedOnACarrierIsVoidUnlessItsBottomIsThere) {
  const std::vector<Frame> frames = Frames("x@50 jdk@3");
  const std::vector<uint32_t> keys = Shadow("a b");
  Sample s;
  s.shadow = keys;
  s.asgct = frames;
  s.code = 2;
  s.limit = kLimit;
  s.carrier = true;
  EXPECT_VOID(CompareAsgctShadow(s, *this), Reason::kVirtualThread);
  s.root = frames[1].method;
  EXPECT_EQ(CompareAsgctShadow(s, *this).outcome, Outcome::kMismatch);
}

TEST_F(CompareTest, UnknownMethodsAreNotJudged) {
  std::vector<Frame> frames = Frames("c@50 b@50 a@50");
  const std::vector<uint32_t> keys = Shadow("a b");
  frames[0].info = nullptr;
  Sample s;
  s.shadow = keys;
  s.asgct = frames;
  s.code = 3;
  s.limit = kLimit;
  EXPECT_MATCH(CompareAsgctShadow(s, *this));
  const std::vector<uint32_t> more = Shadow("a b c");
  s.shadow = more;
  const Verdict v = CompareAsgctShadow(s, *this);
  EXPECT_VOID(v, Reason::kUnknownMethod);
  EXPECT_TRUE(MayBeEarly(s, v));
}

// Class load events may be off a moment before the JVM announces its end.
TEST_F(CompareTest, NoClassLoadIsNoFaultAtTheEnd) {
  const Verdict code = Verdict::Mismatch(Kind::kCode, 0);
  EXPECT_VOID(AtTheEnd(code, -1, true), Reason::kExit);
  EXPECT_MISMATCH(AtTheEnd(code, -1, false), Kind::kCode, 0);
  EXPECT_MISMATCH(AtTheEnd(code, -4, true), Kind::kCode, 0);
  EXPECT_MISMATCH(AtTheEnd(Verdict::Mismatch(Kind::kTruncated, 1), 3, true), Kind::kTruncated, 1);
}

// Once events have described every method, an id of no method is a fault of the walk, wherever it is: even where the
// shadow stack would accept a frame of any other method.
TEST_F(CompareTest, AnIdOfNoMethodIsAMismatchAtLast) {
  const std::vector<uint32_t> keys = Shadow("a b");
  for (size_t i = 0; i < 3; i++) {
    std::vector<Frame> frames = Frames("c@50 b@50 a@50");
    frames[i].info = nullptr;
    Sample s;
    s.shadow = keys;
    s.asgct = frames;
    s.code = 3;
    s.limit = kLimit;
    s.all_described = true;
    const Verdict v = CompareAsgctShadow(s, *this);
    EXPECT_EQ(v.kind, Kind::kWrongMethod);
    EXPECT_EQ(v.divergence, 2 - i);
  }
}

// A method without an id stands for one entry of the shadow, or for none.
TEST_F(CompareTest, NullMethodIdOnTheShadow) {
  for (size_t i = 0; i < 3; i++) {
    std::vector<Frame> frames = Frames("c@50 b@50 a@50");
    frames[i] = {.method = 0, .bci = 50, .info = nullptr};
    const auto judge = [&](const std::string& shadow) {
      const Given g(Shadow(shadow), frames, Region::kInterpreter);
      return CompareAsgctShadow(g.s, *this);
    };
    EXPECT_RULE(judge("a b c"), Rule::kNullMethodId);
    EXPECT_MISMATCH(judge("x y a b c"), Kind::kTruncated, i == 2 ? 3 : 2);
    EXPECT_EQ(judge("a x y b c").outcome, Outcome::kMismatch) << "a lost frame beside it";
    EXPECT_EQ(judge("x y z").outcome, Outcome::kMismatch);
  }
  std::vector<Frame> frames = Frames("c@50 b@50 a@50");
  frames[1] = {.method = 0, .bci = 50, .info = nullptr};
  const Given g(Shadow("a c"), frames, Region::kInterpreter);
  EXPECT_RULE(CompareAsgctShadow(g.s, *this), Rule::kNullMethodId);
}

TEST_F(CompareTest, DeepSamplesAreVoid) {
  std::string deep = "a@50";
  for (uint32_t i = 1; i < kLimit; i++) deep += " a@50";
  EXPECT_VOID(Judge("a", deep), Reason::kDepth);
}

// asgct-shadow by the trace stack: frames that are not instrumented and bcis count, too; the last one moves.
TEST_F(CompareTest, TraceIsExactBelowTheMethodThatMoves) {
  const auto judge = [&](const std::string& trace, const std::string& asgct) {
    const std::vector<Frame> top_first = Frames(trace);
    const std::vector<Frame> bottom_first(top_first.rbegin(), top_first.rend());
    const std::vector<Frame> walk = Frames(asgct);
    Sample s;
    s.asgct = walk;
    s.code = static_cast<int32_t>(walk.size());
    s.limit = kLimit;
    s.region = Region::kInterpreter;
    return CompareTrace(bottom_first, s, *this);
  };
  EXPECT_MATCH(judge("b@1 jdk@3 a@50", "c@7 b@60 jdk@3 a@50"));
  EXPECT_MATCH(judge("b@1 jdk@-1 a@50", "c@7 b@60 jdk@-3 a@50"));
  EXPECT_MATCH(judge("b@1 jdk@3 a@50", "jdk@3 a@50"));
  EXPECT_MISMATCH(judge("b@1 jdk@3 a@50", "c@7 b@60 jdk@4 a@50"), Kind::kWrongBci, 1);
  EXPECT_MISMATCH(judge("b@1 jdk@3 a@50", "c@7 b@60 a@50"), Kind::kWrongMethod, 1);
  EXPECT_EQ(judge("b@1 jdk@3 a@50", "c@7 b@60 jdk@3 x@2 a@50").outcome, Outcome::kMismatch);
  EXPECT_MISMATCH(judge("b@1 jdk@3 e@4 a@50", "c@7 b@60 jdk@3"), Kind::kTruncated, 2);
}

// Compiled code on top names frames that are not there: the walk lost its bottom all the same.
TEST_F(CompareTest, TraceNamesALostBottomBelowAnImpreciseTop) {
  const std::vector<Frame> trace = Frames("a@50 e@4 jdk@3 b@1 d@2 c@1");  // bottom first
  const auto judge = [&](const std::string& asgct) {
    Given g({}, Frames(asgct), Region::kCompiled);
    g.s.at_pc = {Compiled({"x@7 b@2"})};
    return CompareTrace(trace, g.s, *this);
  };
  EXPECT_MATCH(judge("x@7 b@2 jdk@3 e@4 a@50"));
  EXPECT_MISMATCH(judge("x@7 b@2 jdk@3 e@4"), Kind::kTruncated, 1);
  EXPECT_MISMATCH(judge("x@7 b@2 jdk@3 e@5"), Kind::kForeign, 0);
  EXPECT_MISMATCH(judge("x@7 b@2"), Kind::kForeign, 0);  // nothing is sure
}

TEST_F(CompareTest, NullMethodIdInATrace) {
  const std::vector<Frame> trace = Frames("a@50 e@4 jdk@3 b@1");  // bottom first
  const auto judge = [&](const std::string& asgct) {
    Given g({}, Frames(asgct), Region::kInterpreter);
    g.frames[g.frames.size() - 2].method = 0;
    g.frames[g.frames.size() - 2].info = nullptr;
    return CompareTrace(trace, g.s, *this);
  };
  EXPECT_RULE(judge("c@7 b@60 jdk@3 e@4 a@50"), Rule::kNullMethodId);
  EXPECT_EQ(judge("c@7 b@60 jdk@3 e@5 a@50").outcome, Outcome::kMismatch) << "its own place";
  EXPECT_MISMATCH(judge("c@7 b@60 jdk@4 e@4 a@50"), Kind::kWrongBci, 2);
  EXPECT_EQ(judge("c@7 b@60 e@4 a@50").outcome, Outcome::kMismatch) << "a lost frame above it";
}

// A frame of a class that was redefined since the trace was taken.
// gst-asgct is done anew when GetStackTrace gives other ids for the same frames. What it compares then is compared as
// ever.
TEST_F(CompareTest, RetransformedIdsHideNoFault) {
  const std::vector<Frame> gst = Frames("c@50 b@60 a@50");
  std::vector<Frame> now = gst;
  now[1].method = 1000;
  EXPECT_TRUE(SamePlaces(gst, now));
  EXPECT_FALSE(SamePlaces(gst, Frames("c@50 b@61 a@50"))) << "another place";
  EXPECT_FALSE(SamePlaces(gst, Frames("c@50 a@50"))) << "a frame is lost";
  EXPECT_FALSE(SamePlaces(Frames("c@50 a@50"), gst));
  EXPECT_MATCH(CompareGstAsgct(now, now, 3, kLimit));
  std::vector<Frame> walk = now;
  walk[1].bci = 61;
  EXPECT_MISMATCH(CompareGstAsgct(now, walk, 3, kLimit), Kind::kWrongBci, 1);
  walk.erase(walk.begin() + 1);
  EXPECT_MISMATCH(CompareGstAsgct(now, walk, 2, kLimit), Kind::kMissing, 1);
  // A frame that may or may not be on the shadow says nothing for others.
  world.Info("old").retransformed = true;
  EXPECT_RULE(JudgeEntry("a b", "check@-1 enter@9 b@1 old@50 a@50"), Rule::kRetransformed);
  EXPECT_EQ(JudgeEntry("a c b", "check@-1 enter@9 b@1 old@50 a@50").outcome, Outcome::kMismatch) << "c is lost";
  EXPECT_EQ(JudgeEntry("b", "check@-1 enter@9 b@1 old@50 a@50").outcome, Outcome::kMismatch) << "a is made up";
}

TEST_F(CompareTest, TraceOfARedefinedMethod) {
  const std::vector<Frame> trace = Frames("a@50 jdk@3 e@4 b@1");  // bottom first
  MethodInfo obsolete = *Frames("jdk@3")[0].info;
  const auto judge = [&](const MethodInfo* info, const std::string& asgct) {
    std::vector<Frame> walk = Frames(asgct);
    Frame& other = walk[walk.size() - 2];
    other.method = 1000;
    other.info = info;
    Sample s;
    s.asgct = walk;
    s.code = static_cast<int32_t>(walk.size());
    s.limit = kLimit;
    s.region = Region::kInterpreter;
    return CompareTrace(trace, s, *this);
  };
  EXPECT_VOID(judge(nullptr, "c@7 b@60 e@4 jdk@3 a@50"), Reason::kUnknownMethod);
  EXPECT_MISMATCH(judge(&obsolete, "c@7 b@60 e@4 jdk@3 a@50"), Kind::kWrongMethod, 1);
  obsolete.retransformed = true;
  EXPECT_RULE(judge(&obsolete, "c@7 b@60 e@4 jdk@3 a@50"), Rule::kRetransformed);
  EXPECT_MISMATCH(judge(&obsolete, "c@7 b@60 e@5 jdk@3 a@50"), Kind::kWrongBci, 2);  // above it
  EXPECT_EQ(judge(&obsolete, "c@7 b@60 jdk@3 a@50").outcome, Outcome::kMismatch) << "e is lost";
  obsolete.name = "other";
  EXPECT_MISMATCH(judge(&obsolete, "c@7 b@60 e@4 jdk@3 a@50"), Kind::kWrongMethod, 1);
}

TEST_F(CompareTest, SampleErrorCodes) {
  Sample s;
  s.limit = kLimit;
  for (int32_t code = -9; code <= 0; code++) {
    s.code = code;
    EXPECT_EQ(CompareAsgctShadow(s, *this).outcome, Outcome::kUnwalkable);
  }
  for (const int32_t code : {-10, -42}) {
    s.code = code;
    EXPECT_MISMATCH(CompareAsgctShadow(s, *this), Kind::kCode, 0);
  }
}

// A thread whose pc is in compiled Java code is in Java.
TEST_F(CompareTest, SampleErrorCodesFitTheirPlace) {
  Sample s;
  s.limit = kLimit;
  s.region = Region::kCompiled;
  s.at_pc = {Compiled({"b@50 a@50"})};
  for (int32_t code = -10; code <= 0; code++) {
    s.code = code;
    const Verdict v = CompareAsgctShadow(s, *this);
    if (code == -2 || code == -5 || code == -6) {
      EXPECT_EQ(v.outcome, Outcome::kUnwalkable);
    } else {
      EXPECT_MISMATCH(v, Kind::kCode, 0);
      EXPECT_TRUE(MayBeEarly(s, v));
    }
  }
  // The wrapper of a native method, of which no position is told, or whose method is known.
  s.code = -4;
  s.at_pc.push_back(std::make_shared<Nmethod>());
  EXPECT_EQ(CompareAsgctShadow(s, *this).outcome, Outcome::kUnwalkable);
  world.Info("n").native = true;
  s.at_pc = {Compiled({"n@50"})};
  EXPECT_EQ(CompareAsgctShadow(s, *this).outcome, Outcome::kUnwalkable);
}

// Whatever is asked, there is exactly one verdict and a mismatch never lacks its kind. Seeded by MISSTEP_SEED.
TEST_F(CompareTest, RandomFaultsAreFoundOrNamed) {
  const char* given = std::getenv("MISSTEP_SEED");
  uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : 1;
  SCOPED_TRACE("MISSTEP_SEED=" + std::to_string(seed));
  const auto next = [&] {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
  };
  const std::string names = "abcdefgh";
  for (int round = 0; round < 20000; round++) {
    std::string shadow;
    std::string asgct;
    const size_t n = 3 + next() % 8;
    std::vector<std::string> stack;
    for (size_t i = 0; i < n; i++) stack.push_back(std::string(1, names[next() % names.size()]));
    for (const std::string& m : stack) {
      shadow += (shadow.empty() ? "" : " ") + m;
      asgct = m + "@50" + (asgct.empty() ? "" : " ") + asgct;
    }
    ASSERT_EQ(Judge(shadow, asgct).outcome, Outcome::kMatch);
    // A frame dropped anywhere but on top changes the count, so no rule may take it.
    std::vector<std::string> fewer = stack;
    fewer.erase(fewer.begin() + static_cast<long>(next() % (n - 1)));
    if (fewer.back() != stack.back() || std::vector(stack.begin(), stack.end() - 1) == fewer) continue;
    std::string walked;
    for (const std::string& m : fewer) walked = m + "@50" + (walked.empty() ? "" : " ") + walked;
    const Verdict v = Judge(shadow, walked);
    ASSERT_EQ(v.outcome, Outcome::kMismatch) << shadow << " / " << walked;
    ASSERT_NE(v.kind, Kind::kUnspecified);
  }
}

}  // namespace
}  // namespace misstep
