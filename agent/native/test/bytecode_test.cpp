#include "bytecode.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "pool_builder.h"

namespace misstep {
namespace {

std::vector<RawSite> Scan(const std::vector<uint8_t>& code, bool well = true) {
  std::vector<RawSite> sites;
  EXPECT_EQ(ScanCode(code, &sites), well);
  return sites;
}

TEST(ConstantPool, NamesCalls) {
  PoolBuilder b;
  b.Long();  // takes two indices
  const uint16_t method = b.Method("a/B", "x", "(I)V");
  const uint16_t interface = b.Method("a/I", "y", "()V", 11);
  const uint16_t dynamic = b.Dynamic("z", "()I");
  const ConstantPool pool(b.bytes(), b.count());
  CallRef call;
  ASSERT_TRUE(pool.CallAt(method, &call));
  EXPECT_EQ(call.owner, "a/B");
  EXPECT_EQ(call.name, "x");
  EXPECT_EQ(call.descriptor, "(I)V");
  ASSERT_TRUE(pool.CallAt(interface, &call));
  EXPECT_EQ(call.owner, "a/I");
  ASSERT_TRUE(pool.CallAt(dynamic, &call));
  EXPECT_EQ(call.owner, "");
  EXPECT_EQ(call.name, "z");
  EXPECT_FALSE(pool.CallAt(0, &call));
  EXPECT_FALSE(pool.CallAt(1, &call));       // a long
  EXPECT_FALSE(pool.CallAt(2, &call));       // its second index
  EXPECT_FALSE(pool.CallAt(0xffff, &call));  // none
}

TEST(ConstantPool, EndsWhereItIsMalformed) {
  PoolBuilder b;
  const uint16_t first = b.Method("a/B", "x", "()V");
  const size_t whole = b.bytes().size();
  const uint16_t second = b.Method("a/B", "y", "()V");
  const std::vector<uint8_t> bytes = b.bytes();
  CallRef call;
  for (size_t cut = 0; cut < bytes.size(); cut++) {
    const std::span<const uint8_t> all(bytes);
    const ConstantPool pool(all.first(cut), b.count());
    EXPECT_EQ(pool.CallAt(first, &call), cut >= whole);
    EXPECT_FALSE(pool.CallAt(second, &call));
  }
}

TEST(ScanCode, FindsWhatCanCall) {
  // aload_0; invokevirtual 7; goto -4; sipush 300; idiv; areturn
  const auto sites = Scan({0x2a, 182, 0, 7, 167, 0xff, 0xfc, 17, 1, 44, 108, 176});
  ASSERT_EQ(sites.size(), 4u);
  EXPECT_EQ(sites[0].bci, 1);
  EXPECT_EQ(sites[0].call, 7);
  EXPECT_EQ(sites[1].bci, 4);
  EXPECT_TRUE(sites[1].back);
  EXPECT_EQ(sites[2].opcode, kIdiv);
  EXPECT_EQ(sites[3].bci, 11);
}

TEST(ScanCode, LeavesOutWhatCannot) {
  // iload_0; ifeq +3; iinc 1 1; wide iinc 1 1; wide iload 9; goto_w +5; then return
  const auto sites = Scan({0x1a, 153, 0, 3, 132, 1, 1, 196, 132, 0, 1, 0, 1, 196, 21, 0, 9, 200, 0, 0, 0, 5, 177});
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_EQ(sites[0].opcode, kReturn);
  EXPECT_EQ(sites[0].bci, 22);
}

TEST(ScanCode, WhatTheInterpreterMakesOneOf) {
  // iload 4; caload; iload 5; iaload; if_acmpeq +0; ireturn
  const auto sites = Scan({21, 4, 52, 21, 5, 46, 165, 0, 0, 172});
  ASSERT_EQ(sites.size(), 5u);
  EXPECT_EQ(sites[0].bci, 0);
  EXPECT_EQ(sites[0].opcode, kIload);
  EXPECT_EQ(sites[1].opcode, kCaload);
  EXPECT_EQ(sites[2].opcode, kIaload);
  EXPECT_TRUE(sites[3].back) << "to itself";
  EXPECT_EQ(sites[3].back_to, 6);
}

TEST(ScanCode, Switches) {
  // nop; tableswitch at 1 (aligned to 4): default +30, low 0, high 1, +30, -1; then return
  const std::vector<uint8_t> table = {0, 170, 0, 0, 0, 0, 0,  30,   0,    0,    0,    0,  0,
                                      0, 0,   1, 0, 0, 0, 30, 0xff, 0xff, 0xff, 0xff, 177};
  auto sites = Scan(table);
  ASSERT_EQ(sites.size(), 2u);
  EXPECT_EQ(sites[0].opcode, kTableswitch);
  EXPECT_TRUE(sites[0].back);
  EXPECT_EQ(sites[1].bci, 24);
  // lookupswitch at 0: default +20, one pair 5: +20; then return
  sites = Scan({171, 0, 0, 0, 0, 0, 0, 20, 0, 0, 0, 1, 0, 0, 0, 5, 0, 0, 0, 20, 177});
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_EQ(sites[0].bci, 20);
}

TEST(ScanCode, RefusesTheMalformed) {
  Scan({182, 0}, false);                                            // cut off
  Scan({196}, false);                                               // wide of nothing
  Scan({203}, false);                                               // no instruction of a class file
  Scan({170, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 5, 0, 0, 0, 1}, false);  // high below low
  Scan({171, 0, 0, 0, 0, 0, 0, 9, 0x7f, 0xff, 0xff, 0xff}, false);  // more pairs than bytes
  Scan({170, 0, 0, 0, 0, 0, 0, 9, 0x80, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff}, false);
  EXPECT_TRUE(Scan({}).empty());
}

// Whatever the bytes are, reading stays inside of them (the sanitizers see to that) and sites are in order.
TEST(Bytecode, SurvivesAnything) {
  std::mt19937 random(20261121);
  PoolBuilder b;
  b.Method("a/B", "x", "(I)V");
  b.Dynamic("z", "()I");
  b.Long();
  const std::vector<uint8_t> pool_bytes = b.bytes();
  const std::vector<uint8_t> code = {0,    170,  0,    0,    0,   0, 0, 30,  0,   0, 0, 0, 0, 0,   0, 1, 0, 0, 0,  30,
                                     0xff, 0xff, 0xff, 0xff, 182, 0, 7, 196, 132, 0, 1, 0, 1, 200, 0, 0, 0, 5, 177};
  for (int i = 0; i < 50000; i++) {
    std::vector<uint8_t> bytes = i % 2 == 0 ? pool_bytes : code;
    for (uint32_t n = random() % 4; n > 0; n--) bytes[random() % bytes.size()] = static_cast<uint8_t>(random());
    bytes.resize(random() % (bytes.size() + 1));
    if (i % 2 == 0) {
      const uint32_t count = random() % 40;
      const ConstantPool pool(bytes, count);
      CallRef call;
      for (uint32_t at = 0; at < count + 2; at++) {
        if (pool.CallAt(at, &call)) {
          EXPECT_LE(call.owner.size() + call.name.size() + call.descriptor.size(), 3 * bytes.size());
        }
      }
    } else {
      std::vector<RawSite> sites;
      ScanCode(bytes, &sites);
      for (size_t s = 0; s < sites.size(); s++) {
        EXPECT_LT(sites[s].bci, bytes.size());
        if (s > 0) {
          EXPECT_LT(sites[s - 1].bci, sites[s].bci);
        }
      }
    }
  }
}

TEST(HasPatchedPool, IsSaidOfTheAnonymousClassesOfTheVM) {
  EXPECT_TRUE(HasPatchedPool("java/lang/invoke/LambdaForm$MH/1706377071"));
  EXPECT_TRUE(HasPatchedPool("a/B$$Lambda$14/0x0000000800066840"));
  for (const char* name : {"java/lang/invoke/LambdaForm$MH", "a/B$$Lambda$14", "a/B$1", "B", "a/", "",
                           "java/lang/invoke/LambdaForm$MH.0x0000000800066840"})
    EXPECT_FALSE(HasPatchedPool(name)) << name;
}

}  // namespace
}  // namespace misstep
