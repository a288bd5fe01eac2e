#include "perturb.h"

#include <gtest/gtest.h>
#include <policy.h>  // of schedule/: the decisions have one definition
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <thread>
#include <vector>

#include "../../abi.h"

namespace misstep {
namespace {

// A folder of its own for each test.
class Perturb : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/misstep-perturb-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
  }
  void TearDown() override {
    std::remove(Plan().c_str());
    std::remove(Schedule().c_str());
    rmdir(folder_.c_str());
  }
  std::string Plan() const { return folder_ + "/perturb.bin"; }
  std::string Schedule() const { return folder_ + "/schedule.bin"; }

  static misstep_config Delays(uint64_t seed) {
    misstep_config c = {};
    c.seed = seed;
    c.strategy = MISSTEP_STRATEGY_DELAY;
    c.knobs.order = MISSTEP_ORDER_FIFO;
    c.knobs.target = MISSTEP_ONE;
    c.knobs.delay_wakeup = c.knobs.delay_expiry = MISSTEP_ONE / 2;
    c.knobs.delay_min = 1000;
    c.knobs.delay_max = 50000;
    c.knobs.slice_long = 5000000;
    return c;
  }

  void Write(const misstep_config& c) const {
    std::ofstream(Plan(), std::ios::binary).write(reinterpret_cast<const char*>(&c), sizeof(c));
  }

  std::vector<misstep_record> Records() const {
    std::ifstream in(Schedule(), std::ios::binary);
    uint64_t header[3] = {};
    in.read(reinterpret_cast<char*>(header), sizeof(header));
    EXPECT_EQ(header[0], uint64_t{MISSTEP_SCHEDULE_MAGIC});
    std::vector<misstep_record> records(header[2]);
    in.seekg(MISSTEP_SCHEDULE_RECORDS_OFFSET);
    in.read(reinterpret_cast<char*>(records.data()),
            static_cast<std::streamsize>(records.size() * sizeof(misstep_record)));
    return records;
  }

  // What two threads of names that come again and again are told in so many points.
  std::vector<misstep_record> Run(uint64_t seed, int points) {
    Write(Delays(seed));
    Perturber p;
    EXPECT_EQ(p.Open(Plan(), Schedule()), "");
    p.Others([](size_t) -> PointState* { return nullptr; }, [] { return size_t{0}; });
    PointState a;
    PointState b;
    p.Begin(&a, "worker", 11);
    p.Begin(&b, "worker", 12);
    for (int i = 0; i < points; i++) {
      EXPECT_EQ(p.Point(&a, kEventExpiry), 5000000 / static_cast<int64_t>(kNanosPerEntry) + 1);
      p.Point(&b, kEventWakeup);
    }
    return Records();
  }

  std::string folder_;
};

// A page of a mapped file for which the disk has no room is a SIGBUS in the JVM: a crash caused by the agent.
TEST_F(Perturb, TheScheduleHasItsRoomOnTheDisk) {
  Write(Delays(1));
  Perturber p;
  ASSERT_EQ(p.Open(Plan(), Schedule()), "");
  struct stat st = {};
  ASSERT_EQ(stat(Schedule().c_str(), &st), 0);
  EXPECT_GE(st.st_blocks * 512, st.st_size);
}

TEST_F(Perturb, DecisionsComeFromTheSeed) {
  const auto one = Run(7, 100);
  const auto again = Run(7, 100);
  const auto other = Run(8, 100);
  ASSERT_EQ(one.size(), 202u);
  ASSERT_EQ(again.size(), one.size());
  int delays = 0;
  int differ = 0;
  for (size_t i = 0; i < one.size(); i++) {
    EXPECT_EQ(one[i].path, again[i].path);
    EXPECT_EQ(one[i].delay, again[i].delay);
    EXPECT_EQ(one[i].counter, again[i].counter);
    delays += one[i].kind == MISSTEP_RECORD_DECISION && one[i].delay > 0;
    differ += one[i].delay != other[i].delay;
  }
  // Binomial with p = 1/2 and n = 200: beyond these bounds with a probability below 1e-9.
  EXPECT_GT(delays, 57);
  EXPECT_LT(delays, 143);
  EXPECT_GT(differ, 100);
  EXPECT_NE(one[0].path, one[1].path) << "two threads of one name are two threads";
}

TEST_F(Perturb, ADelayIsWaitedFor) {
  misstep_config c = Delays(1);
  c.knobs.delay_expiry = MISSTEP_ONE;
  c.knobs.delay_min = c.knobs.delay_max = 3'000'000;
  Write(c);
  Perturber p;
  ASSERT_EQ(p.Open(Plan(), Schedule()), "");
  PointState s;
  p.Begin(&s, "main", 1);
  const auto before = std::chrono::steady_clock::now();
  p.Point(&s, kEventExpiry);
  EXPECT_GE(std::chrono::steady_clock::now() - before, std::chrono::milliseconds(3));
}

// A wait that ended by its time is one that the thread chose; one that a notification ended is not.
TEST_F(Perturb, AThreadIsAwayAfterAWaitThatTimedOut) {
  misstep_config c = Delays(1);
  c.knobs.delay_wakeup = c.knobs.delay_expiry = 0;
  c.knobs.away_sleep = MISSTEP_ONE;
  c.knobs.away_min = c.knobs.away_max = 1000;
  Write(c);
  Perturber p;
  ASSERT_EQ(p.Open(Plan(), Schedule()), "");
  PointState s;
  p.Begin(&s, "main", 1);
  p.Point(&s, kEventStart);
  for (const uint32_t waker : {kWakerOutside, kWakerThread}) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    p.Point(&s, kEventWakeup, waker);
  }
  const auto records = Records();
  ASSERT_EQ(records.size(), 4u);
  EXPECT_EQ(records[2].marks, MISSTEP_MARK_AWAY);
  EXPECT_EQ(records[2].delay, 1000u);
  EXPECT_EQ(records[3].marks, 0);
}

PointState ahead;

TEST_F(Perturb, ARankLetsOthersPassAndIsBounded) {
  misstep_config c = Delays(3);
  c.strategy = MISSTEP_STRATEGY_POS;
  c.knobs.delay_wakeup = c.knobs.delay_expiry = 0;
  c.knobs.order = MISSTEP_ORDER_POS;
  c.knobs.wait_max = 4'000'000;
  Write(c);
  Perturber p;
  ASSERT_EQ(p.Open(Plan(), Schedule()), "");
  p.Others([](size_t) { return &ahead; }, [] { return size_t{1}; });
  PointState s;
  p.Begin(&s, "low", 1);
  const auto timed = [&] {
    const auto before = std::chrono::steady_clock::now();
    for (int i = 0; i < 20; i++) p.Point(&s, kEventExpiry);
    return std::chrono::steady_clock::now() - before;
  };
  // Nobody came to a point yet, so nobody is let pass.
  EXPECT_LT(timed(), std::chrono::milliseconds(30));
  // Somebody of the highest rank was just seen, and stays so: waits are as long as the ranks, no longer.
  ahead.rank = 0;
  ahead.seen = UINT64_MAX / 2;
  const auto waited = timed();
  EXPECT_GT(waited, std::chrono::milliseconds(10));
  uint64_t ranks = 0;
  for (const misstep_record& r : Records()) {
    if (r.kind == MISSTEP_RECORD_DECISION && r.counter >= 20) ranks += r.rank;
  }
  EXPECT_GE(waited, std::chrono::nanoseconds(ranks));
  // Who waits itself need not be let pass.
  ahead.waiting = true;
  EXPECT_LT(timed(), std::chrono::milliseconds(30));
}

TEST_F(Perturb, OtherFilesAreNoPlans) {
  Perturber p;
  EXPECT_NE(p.Open(folder_ + "/none", Schedule()).find("cannot read"), std::string::npos);
  std::ofstream(Plan()) << "no plan";
  EXPECT_NE(p.Open(Plan(), Schedule()).find("expected a plan"), std::string::npos);
  misstep_config c = Delays(1);
  c.strategy = 99;
  Write(c);
  EXPECT_NE(p.Open(Plan(), Schedule()).find("expected a plan"), std::string::npos);
  EXPECT_FALSE(p.on());
  Write(Delays(1));
  EXPECT_NE(p.Open(Plan(), folder_ + "/no/folder").find("cannot create"), std::string::npos);
}

}  // namespace
}  // namespace misstep
