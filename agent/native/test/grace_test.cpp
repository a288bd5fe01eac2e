#include "../src/grace.h"

#include <gtest/gtest.h>

#include <map>

namespace misstep {
namespace {

TEST(GraceTest, RunnableIsTheStateBehindTheName) {
  EXPECT_TRUE(Runnable("12 (C2 CompilerThre) R 1 2 3"));
  EXPECT_FALSE(Runnable("12 (C2 CompilerThre) S 1 2 3"));
  EXPECT_TRUE(Runnable("12 (a) S (b) R 1"));
  EXPECT_FALSE(Runnable("12 (a) R (b) D 1"));
  for (const char* none : {"", "12", "12 (a)", "12 (a) ", "R"}) EXPECT_FALSE(Runnable(none)) << none;
}

struct Fake {
  bool runnable = false;
  uint64_t cpu_nanos = 0;
};

class GracePeriods : public testing::Test {
 protected:
  // Looks until now, as often as that makes a difference.
  void Until(uint64_t looks) {
    for (uint64_t i = 0; i < looks; i++) grace.Look(now += Grace::kLookNanos);
  }

  uint64_t now = 1'000'000'000;
  std::map<int32_t, Fake> threads;
  int32_t sender = 0;
  Grace grace{{
      .threads =
          [this] {
            std::vector<int32_t> all;
            for (const auto& [tid, thread] : threads) all.push_back(tid);
            return all;
          },
      .runnable = [this](int32_t tid) { return threads.contains(tid) && threads[tid].runnable; },
      .cpu_nanos = [this](int32_t tid) { return threads.contains(tid) ? threads[tid].cpu_nanos : 0; },
      .sender = [this] { return sender; },
  }};
};

TEST_F(GracePeriods, IsSoonOverWhereAllRest) {
  threads[1] = threads[2] = {};
  sender = 2;
  const uint64_t since = now;
  Until(6);  // a sample may come right after one began
  EXPECT_GE(grace.Told(), since);
  EXPECT_LT(grace.Told(), now);
}

TEST_F(GracePeriods, WaitsForACompilerWithoutAProcessor) {
  threads[1] = {};
  threads[3] = {.runnable = true};
  Until(1);
  const uint64_t since = now + 1;
  Until(50);
  EXPECT_LT(grace.Told(), since);
  threads[3].cpu_nanos += Grace::kWhileNanos - 1;
  Until(50);
  EXPECT_LT(grace.Told(), since) << "it may not have come to the event";
  threads[3].cpu_nanos += 1;
  Until(2);
  EXPECT_LT(grace.Told(), since) << "that period began before";
  Until(50);
  EXPECT_LT(grace.Told(), since) << "another one waits for it again";
  threads[3].runnable = false;
  Until(2);
  EXPECT_GE(grace.Told(), since);
}

TEST_F(GracePeriods, WaitsForTheSenderToRest) {
  threads[1] = {.runnable = true};
  sender = 1;
  const uint64_t since = now;
  for (int i = 0; i < 50; i++) {
    threads[1].cpu_nanos += Grace::kWhileNanos;  // it runs, and may have more to send
    Until(1);
  }
  EXPECT_LT(grace.Told(), since);
  threads[1].runnable = false;
  Until(1);
  EXPECT_GE(grace.Told(), since);
}

TEST_F(GracePeriods, ThreadsThatEndOrBeginAreNotWaitedFor) {
  threads[1] = {.runnable = true};
  Until(1);
  threads[2] = {.runnable = true};
  threads.erase(1);
  const uint64_t begun = now;
  Until(2);
  EXPECT_EQ(grace.Told(), begun);
}

TEST_F(GracePeriods, LooksSeldom) {
  Until(1);
  const uint64_t begun = now;
  for (int i = 0; i < 100; i++) grace.Look(now + i);
  EXPECT_LT(grace.Told(), begun);
}

}  // namespace
}  // namespace misstep
