#include "code_map.h"

#include <gtest/gtest.h>

#include <cstring>

namespace misstep {
namespace {

Nmethod Code(uint64_t start, uint64_t size, uint64_t method) {
  return {.start = start, .size = size, .method = method, .nodes = {}, .methods = {}};
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
  std::vector<uint64_t> large(1 << 20);
  const auto low = reinterpret_cast<uint64_t>(large.data());
  const uint64_t high = low + large.size() * 8;
  EXPECT_FALSE(stubs.OnStack(low, high)) << "a large stack is no excuse";
  large.back() = 1050;
  EXPECT_TRUE(stubs.OnStack(low, high));
}

// A little code cache: two compiled methods of 64 bytes, each with a deoptimisation entry at 48, and the blobs that
// entries jump to.
class DeoptimisedTest : public testing::Test {
 protected:
  static constexpr uint64_t kOne = 7;
  static constexpr uint64_t kOther = 8;

  DeoptimisedTest() {
    map_.Load(Code(At(0), 64, kOne), 0, 0);
    map_.Load(Code(At(64), 64, kOther), 0, 0);
    map_.AddStub("DeoptimizationBlob", At(200), 20);
    stubs_.Add("UncommonTrapBlob", At(220), 20);
    stubs_.Add("DeoptimizationBlob", At(200), 20);
    Entry(48, 200);
    Entry(64 + 48, 200);
  }

  uint64_t At(size_t offset) const { return reinterpret_cast<uint64_t>(code_) + offset; }

  // C2's form until 25: call the next instruction, subtract 5 from the address that it pushed, jump.
  void Entry(size_t at, size_t target) {
    const uint8_t head[] = {0xe8, 0, 0, 0, 0, 0x48, 0x83, 0x2c, 0x24, 0x05, 0xe9};
    std::memcpy(code_ + at, head, sizeof(head));
    Distance(at + sizeof(head), target);
  }

  void Distance(size_t at, size_t target) {
    const auto distance = static_cast<int32_t>(target) - static_cast<int32_t>(at + 4);
    std::memcpy(code_ + at, &distance, 4);
  }

  static std::vector<StackWord> Words(const std::vector<uint64_t>& values) {
    std::vector<StackWord> words;
    for (const uint64_t v : values) words.push_back({0, v});
    return words;
  }

  uint64_t Found(const std::vector<uint64_t>& values) const {
    const auto words = Words(values);
    const NmethodRef n = map_.Deoptimised(words, stubs_, kAny);
    return n == nullptr ? 0 : n->method;
  }

  static constexpr auto kAny = [](const Nmethod&) { return true; };
  uint8_t code_[256] = {};
  CodeMap map_;
  DeoptStubs stubs_;
};

TEST_F(DeoptimisedTest, IsFoundByItsReturnAddress) {
  EXPECT_EQ(Found({At(64 + 48)}), kOther);
  EXPECT_EQ(Found({1, 2, At(210), At(64 + 48), At(70)}), kOther);
  EXPECT_EQ(Found({}), 0u);
}

TEST_F(DeoptimisedTest, IsNoOtherPlaceOfItsCode) {
  for (size_t at = 0; at < 64; at++) EXPECT_EQ(Found({At(64 + at)}), at == 48 ? kOther : 0u) << at;
  EXPECT_EQ(Found({At(205), At(225)}), 0u) << "the blobs themselves";
}

TEST_F(DeoptimisedTest, IsTheFirstThatFits) {
  const auto words = Words({At(48), At(64 + 48)});
  const auto is = [](uint64_t method) { return [=](const Nmethod& n) { return n.method == method; }; };
  EXPECT_EQ(map_.Deoptimised(words, stubs_, kAny)->method, kOne);
  EXPECT_EQ(map_.Deoptimised(words, stubs_, is(kOther))->method, kOther);
  EXPECT_EQ(map_.Deoptimised(words, stubs_, is(10)), nullptr);
}

TEST_F(DeoptimisedTest, DoesNotTrap) {
  Entry(64 + 48, 220);
  EXPECT_EQ(Found({At(64 + 48)}), 0u) << "an uncommon trap is no entry";
}

TEST_F(DeoptimisedTest, HasOtherForms) {
  // C1's: the entry's own address by a register, jump.
  const uint8_t c1[] = {0x49, 0xba, 1, 2, 3, 4, 5, 6, 7, 8, 0x41, 0x52, 0xe9};
  std::memcpy(code_ + 64, c1, sizeof(c1));
  Distance(64 + sizeof(c1), 200);
  EXPECT_EQ(Found({At(64)}), kOther);
  // Since 26: the entry goes back to the call before it.
  code_[90] = 0xe8;
  Distance(91, 200);
  code_[95] = 0xeb;
  code_[96] = static_cast<uint8_t>(-7);
  EXPECT_EQ(Found({At(95)}), kOther);
  code_[96] = static_cast<uint8_t>(-8);
  EXPECT_EQ(Found({At(95)}), 0u) << "another jump";
}

TEST_F(DeoptimisedTest, MayLieBehindTheInstructions) {
  CodeMap map;
  map.Load(Code(At(64), 40, kOther), 0, 0);
  const auto words = Words({At(64 + 48)});
  EXPECT_NE(map.Deoptimised(words, stubs_, kAny), nullptr);
  map.AddStub("I2C/C2I adapters", At(64 + 44), 2);
  EXPECT_EQ(map.Deoptimised(words, stubs_, kAny), nullptr) << "other code is nearer";
}

TEST_F(DeoptimisedTest, BadAddressesAreRead) {
  CodeMap map;
  map.Load(Code(16, 64, kOther), 0, 0);
  const auto words = Words({20, 79, 4000, 0, UINT64_MAX});
  EXPECT_EQ(map.Deoptimised(words, stubs_, kAny), nullptr);
}

TEST(CodeMap, WordsOnStack) {
  CodeMap map;
  const uint64_t at = uint64_t{1} << 32;
  const uint64_t ahead = 1 << 20;  // code that is not known yet may be there
  uint64_t stack[] = {5, at + 50, 7, at - ahead, at - ahead - 1, at + 100 + ahead, at + 99 + ahead};
  const auto from = reinterpret_cast<uint64_t>(stack);
  StackWord words[8];
  EXPECT_EQ(map.WordsOnStack(from, from + sizeof(stack), words), 0u) << "no code is known";
  map.Load(Code(at, 100, 1), 0, 0);
  ASSERT_EQ(map.WordsOnStack(from, from + sizeof(stack), words), 3u);
  EXPECT_EQ(words[0].value, at + 50);
  EXPECT_EQ(words[0].at, from + 8);
  EXPECT_EQ(words[1].value, at - ahead);
  EXPECT_EQ(words[2].value, at + 99 + ahead);
  EXPECT_EQ(map.WordsOnStack(from, from + sizeof(stack), std::span(words, 2)), 2u) << "no more room";
  EXPECT_EQ(map.WordsOnStack(from, 0, words), 0u) << "where the stack ends is not known";
  EXPECT_EQ(map.WordsOnStack(from, from + sizeof(stack), {}), 0u);
}

class ReturnsTest : public testing::Test {
 protected:
  ReturnsTest() {
    map_.Load(Code(Address(0), sizeof(code_), 1), 0, 0);
    code_[kReturn - 5] = 0xe8;  // a call ends there
  }
  uint64_t Address(size_t i) const { return reinterpret_cast<uint64_t>(&code_[i]); }
  uint64_t At(size_t i) const { return reinterpret_cast<uint64_t>(&stack_[i]); }

  static constexpr size_t kReturn = 50;
  uint8_t code_[128] = {};
  alignas(64) uint64_t stack_[12] = {};
  CodeMap map_;
};

TEST_F(ReturnsTest, AreBehindCalls) {
  EXPECT_TRUE(BehindCall(Address(kReturn)));
  EXPECT_FALSE(BehindCall(Address(kReturn + 1)));
  EXPECT_FALSE(BehindCall(3)) << "nothing is there";
  const std::vector<std::vector<uint8_t>> calls = {{0xff, 0xd0},
                                                   {0xff, 0xd2},
                                                   {0xff, 0x50, 0x10},
                                                   {0xff, 0x14, 0xd0},
                                                   {0xff, 0x54, 0x24, 8},
                                                   {0xff, 0x90, 1, 2, 3, 4},
                                                   {0xff, 0x94, 0x24, 1, 2, 3, 4}};
  for (const auto& call : calls) {
    std::memset(code_, 0x90, sizeof(code_));
    std::copy(call.begin(), call.end(), &code_[kReturn - call.size()]);
    EXPECT_TRUE(BehindCall(Address(kReturn))) << call.size();
    code_[kReturn - call.size() + 1] ^= 0x30;  // ff /4: a jump
    EXPECT_FALSE(BehindCall(Address(kReturn))) << call.size();
  }
}

TEST_F(ReturnsTest, NextOnTheStack) {
  stack_[0] = 7;
  stack_[1] = Address(kReturn + 1);  // into code, but behind no call
  stack_[3] = Address(kReturn);
  EXPECT_EQ(map_.NextReturn(At(0), At(6)).at, At(3));
  EXPECT_EQ(map_.NextReturn(At(0), At(6)).value, Address(kReturn));
  EXPECT_EQ(map_.NextReturn(At(0), At(3)).at, 0u);
  EXPECT_EQ(map_.NextReturn(At(0), 0).at, 0u) << "where the stack ends is not known";
}

TEST_F(ReturnsTest, TheOriginalOfACopy) {
  const auto original = [&](size_t copy, size_t to) { return CodeMap::Original({At(copy), Address(kReturn)}, At(to)); };
  stack_[2] = stack_[3] = stack_[4] = Address(kReturn);
  EXPECT_EQ(original(3, 12), 0u) << "the word above is where the copy's caller had its registers";
  stack_[6] = Address(kReturn);
  EXPECT_EQ(original(3, 12), 0u) << "no call leaves its address there";
  stack_[11] = Address(kReturn);
  EXPECT_EQ(original(3, 12), At(11));
  EXPECT_EQ(original(3, 11), 0u) << "the stack ends before";
  stack_[5] = Address(kReturn);
  EXPECT_EQ(original(3, 12), At(5));
  EXPECT_EQ(original(2, 12), 0u) << "the copy is at no alignment";
  EXPECT_EQ(original(1, 12), 0u) << "the copy is at an alignment to 16 bytes, which each call has";
}

TEST_F(ReturnsTest, ByTheChainOfFramePointers) {
  // A left-over word, a frame of C code that another one called, that one, which compiled code called.
  stack_[0] = Address(kReturn);
  stack_[1] = At(4);
  stack_[5] = Address(kReturn);
  const auto returns = [&](uint64_t fp, uint64_t from, uint64_t to) { return map_.Returns(fp, from, to).at; };
  EXPECT_EQ(returns(At(1), At(0), At(6)), At(5));
  EXPECT_EQ(map_.Returns(At(1), At(0), At(6)).value, Address(kReturn));
  EXPECT_EQ(returns(At(1), At(2), At(6)), 0u) << "it is not on this part of the stack";
  EXPECT_EQ(returns(At(1), At(0), At(5)), 0u) << "the stack ends before";
  EXPECT_EQ(returns(At(5), At(0), At(6)), 0u);
  EXPECT_EQ(returns(At(1) + 1, At(0), At(6)), 0u);
  EXPECT_EQ(returns(0, At(0), At(6)), 0u);
  EXPECT_EQ(returns(At(1), At(0), 0), 0u) << "where it ends is not known";
  for (const uint64_t next : {At(1), UINT64_MAX - 7, At(0)}) {
    stack_[1] = next;
    EXPECT_EQ(returns(At(1), At(0), At(6)), 0u) << "it goes round, or nowhere";
  }
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
  EXPECT_EQ(chain[1].bci, 7);
  EXPECT_EQ(n.methods.size(), 3u);
}

// A position takes twelve bytes: with 32 the map of H2's code alone was more than all else of the agent.
TEST(NmethodBuilder, PositionsAreSmall) { EXPECT_EQ(sizeof(InlineNode), 12u); }

}  // namespace
}  // namespace misstep
