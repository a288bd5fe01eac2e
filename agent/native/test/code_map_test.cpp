#include "code_map.h"

#include <gtest/gtest.h>

namespace misstep {
namespace {

Nmethod Code(uint64_t start, uint64_t size, uint64_t method) {
  return {.start = start, .size = size, .method = method, .nodes = {}};
}

TEST(CodeMap, FindsRegions) {
  CodeMap map;
  std::vector<NmethodRef> at;
  EXPECT_EQ(map.Find(100, &at), Region::kNative);
  map.AddStub("Interpreter", 1000, 100);
  map.AddStub("vtable stub", 2000, 10);
  map.Load(Code(3000, 100, 7), 1, 0);
  EXPECT_EQ(map.Find(1000, &at), Region::kInterpreter);
  EXPECT_EQ(map.Find(1099, &at), Region::kInterpreter);
  EXPECT_EQ(map.Find(1100, &at), Region::kUnknown);
  EXPECT_EQ(map.Find(2005, &at), Region::kStub);
  EXPECT_EQ(map.StubAt(2005), "vtable stub");
  EXPECT_EQ(map.Find(3099, &at), Region::kCompiled);
  ASSERT_EQ(at.size(), 1u);
  EXPECT_EQ(at[0]->method, 7u);
  EXPECT_EQ(map.Find(3100, &at), Region::kNative);
  EXPECT_EQ(map.OfMethod(7).size(), 1u);
  EXPECT_EQ(map.OfKey(1).size(), 1u);
}

TEST(CodeMap, KeepsUnloadedCodeForAWhile) {
  CodeMap map;
  std::vector<NmethodRef> at;
  map.Load(Code(3000, 100, 7), 1, 0);
  map.Unload(3000, 10);
  EXPECT_EQ(map.Find(3050, &at), Region::kCompiled);
  // New code in the same place: both may have been meant.
  map.Load(Code(2990, 100, 8), 2, 20);
  EXPECT_EQ(map.Find(3050, &at), Region::kCompiled);
  EXPECT_EQ(at.size(), 2u);
  map.Load(Code(9000, 10, 9), 3, 30 + CodeMap::kKeepNanos);
  EXPECT_EQ(map.Find(3050, &at), Region::kCompiled);
  ASSERT_EQ(at.size(), 1u);
  EXPECT_EQ(at[0]->method, 8u);
  EXPECT_TRUE(map.OfMethod(7).empty());
  EXPECT_TRUE(map.OfKey(1).empty());
}

TEST(CodeMap, OverlappingLoadRetires) {
  CodeMap map;
  std::vector<NmethodRef> at;
  map.Load(Code(1000, 100, 1), 0, 0);
  map.Load(Code(1100, 100, 2), 0, 0);
  map.Load(Code(1050, 100, 3), 0, 0);
  map.Load(Code(5000, 1, 4), 0, 1 + CodeMap::kKeepNanos);
  EXPECT_EQ(map.Find(1010, &at), Region::kUnknown);
  EXPECT_EQ(map.Find(1060, &at), Region::kCompiled);
  EXPECT_EQ(map.Find(1190, &at), Region::kUnknown);
}

TEST(DeoptStubs, FindsAReturnAddressOnTheStack) {
  DeoptStubs stubs;
  uint64_t stack[] = {0, 4000, 1050, 7};
  const auto at = [&](size_t i) { return reinterpret_cast<uint64_t>(stack + i); };
  EXPECT_FALSE(stubs.OnStack(at(0), at(4))) << "no stub is known";
  stubs.Add("StubRoutines (1)", 4000, 100);
  EXPECT_FALSE(stubs.OnStack(at(0), at(4))) << "another stub";
  stubs.Add("DeoptimizationBlob", 9000, 100);
  stubs.Add("UncommonTrapBlob", 1000, 100);
  EXPECT_TRUE(stubs.OnStack(at(0), at(4)));
  EXPECT_TRUE(stubs.OnStack(at(0) + 5, at(4))) << "sp is anything";
  EXPECT_FALSE(stubs.OnStack(at(3), at(4))) << "it was below";
  EXPECT_FALSE(stubs.OnStack(at(0), at(2))) << "beyond the stack's end";
  stack[2] = 1100;
  EXPECT_FALSE(stubs.OnStack(at(0), at(4))) << "just behind the stub";
}

TEST(NmethodBuilder, KeepsEachPositionOnce) {
  NmethodBuilder builder(1, 2, 3);
  const std::vector<Frame> one = {{11, 5, nullptr}, {3, 7, nullptr}};
  const std::vector<Frame> two = {{12, 5, nullptr}, {3, 7, nullptr}};
  builder.Add(one);
  builder.Add(two);
  builder.Add(one);
  const Nmethod n = builder.Take();
  ASSERT_EQ(n.nodes.size(), 3u);
  const std::vector<Frame> chain = n.Chain(2);
  ASSERT_EQ(chain.size(), 2u);
  EXPECT_EQ(chain[0].method, 12u);
  EXPECT_EQ(chain[1].method, 3u);
}

}  // namespace
}  // namespace misstep
