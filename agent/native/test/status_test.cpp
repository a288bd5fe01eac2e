#include "status.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>

namespace misstep {
namespace {

uint64_t Sum(const CheckStatus& c) {
  uint64_t sum = c.match + c.mismatch;
  for (const auto& n : c.unwalkable) sum += n;
  for (const auto& n : c.tolerated) sum += n.count;
  for (const auto& n : c.voided) sum += n.count;
  return sum;
}

TEST(Status, VerdictsAddUp) {
  const std::string path = testing::TempDir() + "status-" + std::to_string(getpid()) + ".bin";
  std::string error;
  StatusFile* s = CreateStatus(path, &error);
  ASSERT_NE(s, nullptr) << error;
  Count(s, Check::kGstAsgct, Verdict::Match());
  Count(s, Check::kGstAsgct, Verdict::Mismatch(Kind::kTruncated, 1));
  for (int r = 1; r < static_cast<int>(Rule::kCount); r++)
    Count(s, Check::kGstAsgct, Verdict::Tolerated(static_cast<Rule>(r)));
  for (int r = 1; r < static_cast<int>(Reason::kCount); r++)
    Count(s, Check::kGstAsgct, Verdict::Void(static_cast<Reason>(r)));
  for (int code = 0; code >= -20; code--) Count(s, Check::kGstAsgct, Verdict::Unwalkable(code));
  const uint64_t before = s->checks[0].match;
  Count(s, Check::kGstAsgct, Verdict::Match(), 7);
  EXPECT_EQ(s->checks[0].match, before + 7);
  EXPECT_EQ(s->checks[0].total, Sum(s->checks[0]));
  EXPECT_EQ(s->checks[1].total, 0u);
  EXPECT_STREQ(s->checks[2].name, "asgct-shadow");
  munmap(s, sizeof(StatusFile));
  std::remove(path.c_str());
}

TEST(Status, SaysWhyItCannot) {
  std::string error;
  EXPECT_EQ(CreateStatus("/nonexistent/folder/status.bin", &error), nullptr);
  EXPECT_NE(error.find("/nonexistent/folder/status.bin"), std::string::npos);
}

}  // namespace
}  // namespace misstep
