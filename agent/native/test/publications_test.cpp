#include "../src/publications.h"

#include <gtest/gtest.h>

namespace misstep {
namespace {

TEST(PublicationsTest, WithoutCallsAllHaveEnded) { EXPECT_TRUE(Publications().EndedOf(1'000)); }

TEST(PublicationsTest, ACallUnderWayMayHaveBegunAtAnyTime) {
  Publications p;
  p.Begin();
  EXPECT_FALSE(p.EndedOf(1));
  p.End(10);
  EXPECT_TRUE(p.EndedOf(1'000));
}

TEST(PublicationsTest, ThoseBeforeAMomentWithoutCallsHaveEndedWhateverBegins) {
  Publications p;
  p.Begin();
  p.End(10);
  p.Begin();
  EXPECT_TRUE(p.EndedOf(10));
  EXPECT_FALSE(p.EndedOf(11)) << "the call under way may have begun then";
}

TEST(PublicationsTest, TheEndOfOneOfSeveralCallsIsNoSuchMoment) {
  Publications p;
  p.Begin();
  p.Begin();
  p.End(10);
  EXPECT_FALSE(p.EndedOf(1));
  p.Begin();
  p.End(20);
  EXPECT_FALSE(p.EndedOf(1));
  p.End(30);
  p.Begin();
  EXPECT_TRUE(p.EndedOf(30));
}

}  // namespace
}  // namespace misstep
