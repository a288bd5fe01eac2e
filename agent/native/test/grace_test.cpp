#include "../src/grace.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>

namespace misstep {
namespace {

TEST(GraceTest, SleepsIsTheStateBehindTheName) {
  EXPECT_TRUE(Sleeps("12 (Service Thread) S 1 2 3"));
  EXPECT_FALSE(Sleeps("12 (Service Thread) R 1 2 3"));
  EXPECT_FALSE(Sleeps("12 (a) S (b) R 1"));
  EXPECT_FALSE(Sleeps("12 (Service Thread) D 1 2 3")) << "it waits for memory, and goes on";
  for (const char* none : {"", "12", "12 (a)", "12 (a) ", "S"}) EXPECT_FALSE(Sleeps(none)) << none;
}

struct Fake {
  bool rests = true;
  uint64_t cpu_nanos = 1;
};

class GracePeriods : public testing::Test {
 protected:
  void Look(uint64_t times) {
    for (uint64_t i = 0; i < times; i++) grace.Look(now += Grace::kLookNanos);
  }

  // The looks of a whole period where all rest: its beginning, the threads, the sender.
  static constexpr uint64_t kPeriod = 2 + Grace::kRests;

  uint64_t now = 1'000'000'000;
  std::map<int32_t, Fake> threads;
  bool listed = true;
  int32_t sender = 0;
  Grace grace{{
      .threads = [this]() -> std::optional<std::vector<int32_t>> {
        if (!listed) return std::nullopt;
        std::vector<int32_t> all;
        for (const auto& [tid, thread] : threads) all.push_back(tid);
        return all;
      },
      .rests = [this](int32_t tid) { return !threads.contains(tid) || threads[tid].rests; },
      .cpu_nanos = [this](int32_t tid) { return threads.contains(tid) ? threads[tid].cpu_nanos : 0; },
      .sender = [this] { return sender; },
  }};
};

TEST_F(GracePeriods, IsSoonOverWhereAllRest) {
  threads[1] = threads[2] = {};
  sender = 2;
  Look(kPeriod - 1);
  EXPECT_EQ(grace.AnnouncedUntil(), 0u);
  const uint64_t since = now;  // a sample may come after a period began
  Look(1);
  EXPECT_LT(grace.AnnouncedUntil(), since);
  Look(kPeriod - 1);
  EXPECT_GE(grace.AnnouncedUntil(), since);
  EXPECT_LT(grace.AnnouncedUntil(), now);
}

TEST_F(GracePeriods, WaitsForACompilerWithoutAProcessor) {
  threads[1] = {};
  threads[3] = {.rests = false};
  Look(1);
  const uint64_t begun = now;
  Look(50);
  EXPECT_EQ(grace.AnnouncedUntil(), 0u);
  threads[3].cpu_nanos += Grace::kWhileNanos - 1;
  Look(50);
  EXPECT_EQ(grace.AnnouncedUntil(), 0u) << "it may not have come to the event";
  threads[3].cpu_nanos += 1;
  Look(kPeriod);
  EXPECT_EQ(grace.AnnouncedUntil(), begun);
  Look(50);
  EXPECT_EQ(grace.AnnouncedUntil(), begun) << "the next period waits for it again";
  threads[3].rests = true;
  Look(kPeriod);
  EXPECT_GT(grace.AnnouncedUntil(), begun);
}

TEST_F(GracePeriods, ATimeThatIsNotKnownIsNoRun) {
  threads[3] = {.rests = false, .cpu_nanos = 0};
  Look(1);
  threads[3].cpu_nanos = 2 * Grace::kWhileNanos;
  Look(50);
  EXPECT_EQ(grace.AnnouncedUntil(), 0u);
}

TEST_F(GracePeriods, WaitsForTheSenderToRest) {
  threads[1] = {.rests = false};
  sender = 1;
  for (int i = 0; i < 50; i++) {
    threads[1].cpu_nanos += Grace::kWhileNanos;  // it runs, and may have more to send
    Look(1);
  }
  EXPECT_EQ(grace.AnnouncedUntil(), 0u);
  for (int i = 0; i < 10; i++) {  // held up by safepoints, with something to send
    threads[1].rests = true;
    Look(Grace::kRests - 1);
    threads[1].rests = false;
    Look(1);
  }
  EXPECT_EQ(grace.AnnouncedUntil(), 0u);
  threads[1].rests = true;
  Look(Grace::kRests);
  EXPECT_GT(grace.AnnouncedUntil(), 0u);
}

TEST_F(GracePeriods, ThreadsThatEndOrBeginAreNotWaitedFor) {
  threads[1] = {.rests = false};
  Look(1);
  threads[2] = {.rests = false};
  threads.erase(1);
  const uint64_t begun = now;
  Look(kPeriod - 1);
  EXPECT_EQ(grace.AnnouncedUntil(), begun);
}

TEST_F(GracePeriods, NothingIsToldWhereThreadsCannotBeListed) {
  listed = false;
  Look(50);
  EXPECT_EQ(grace.AnnouncedUntil(), 0u);
  listed = true;
  Look(kPeriod);
  EXPECT_GT(grace.AnnouncedUntil(), 0u);
}

TEST_F(GracePeriods, LooksSeldom) {
  Look(1);
  for (int i = 0; i < 100; i++) grace.Look(now + static_cast<uint64_t>(i));
  EXPECT_EQ(grace.AnnouncedUntil(), 0u);
}

}  // namespace
}  // namespace misstep
