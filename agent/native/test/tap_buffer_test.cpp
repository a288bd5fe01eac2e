#include "tap_buffer.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "tap_file.h"

namespace misstep {
namespace {

// A record as it is handed on.
struct Taken {
  uint32_t kind;
  uint64_t number;  // in pc
  uint64_t end_nanos;
  std::vector<uint32_t> entries;
};

Taken Read(std::span<const uint8_t> bytes) {
  auto* call = reinterpret_cast<TapCall*>(const_cast<uint8_t*>(bytes.data()));
  const uint32_t* entries = call->Entries();
  return {
      static_cast<uint32_t>(call->head.load() >> 32), call->pc, call->end_nanos, {entries, entries + call->entries}};
}

std::vector<Taken> Drain(TapBuffers* buffers, bool last = false) {
  std::vector<Taken> all;
  buffers->Drain(last, [&](std::span<const uint8_t> bytes) { all.push_back(Read(bytes)); });
  return all;
}

// Begins a call, null if there is no room. Its entries follow from its number.
TapCall* Begin(TapRing* ring, uint64_t number, uint32_t entries, uint32_t frames = 0) {
  TapCall* call = ring->Reserve({.entries = entries, .frames = frames});
  if (call == nullptr) return nullptr;
  call->pc = number;
  for (uint32_t i = 0; i < entries; i++) call->Entries()[i] = static_cast<uint32_t>(number) + i;
  for (uint32_t i = 0; i < frames; i++) call->Frames()[i] = {static_cast<int32_t>(i), number + i};
  TapRing::Begin(call);
  return call;
}

void End(TapCall* call) {
  call->end_nanos = 7;
  TapRing::End(call);
}

std::unique_ptr<TapBuffers> Buffers() {
  auto buffers = std::make_unique<TapBuffers>();
  EXPECT_TRUE(buffers->Allocate());
  return buffers;
}

TEST(TapBuffer, AThreadKeepsItsRing) {
  const auto buffers = Buffers();
  TapRing* one = buffers->Claim(5);
  EXPECT_EQ(buffers->Claim(5), one);
  EXPECT_NE(buffers->Claim(5 + TapBuffers::kRings), one) << "the same place";
}

TEST(TapBuffer, MoreThreadsThanRingsGetNone) {
  const auto buffers = Buffers();
  for (size_t i = 1; i <= TapBuffers::kRings; i++) ASSERT_NE(buffers->Claim(static_cast<int32_t>(i)), nullptr);
  EXPECT_EQ(buffers->Claim(TapBuffers::kRings + 1), nullptr);
  buffers->Free([](int32_t tid) { return tid != 3; });
  EXPECT_NE(buffers->Claim(TapBuffers::kRings + 1), nullptr);
  EXPECT_EQ(buffers->Claim(TapBuffers::kRings + 2), nullptr);
}

TEST(TapBuffer, ARingWithRecordsIsNotFreed) {
  const auto buffers = Buffers();
  TapRing* ring = buffers->Claim(3);
  End(Begin(ring, 1, 0));
  buffers->Free([](int32_t) { return false; });
  EXPECT_EQ(Drain(buffers.get()).size(), 1u);
  buffers->Free([](int32_t) { return false; });
  EXPECT_EQ(buffers->Claim(3 + TapBuffers::kRings), ring);
}

// A new thread that has got the id of one that ended keeps the ring, should it have asked for it.
TEST(TapBuffer, ARingWhoseThreadIsBackIsNotFreed) {
  const auto buffers = Buffers();
  TapRing* ring = buffers->Claim(3);
  int asked = 0;
  buffers->Free([&](int32_t) { return asked++ > 0; });
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(buffers->Claim(3), ring);
}

TEST(TapBuffer, NestedCallsComeInTheOrderOfTheirBeginning) {
  const auto buffers = Buffers();
  TapRing* ring = buffers->Claim(3);
  TapCall* outer = Begin(ring, 1, 3);
  End(Begin(ring, 2, 1));
  EXPECT_TRUE(Drain(buffers.get()).empty()) << "the outer one has not returned";
  End(outer);
  const std::vector<Taken> all = Drain(buffers.get());
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].number, 1u);
  EXPECT_EQ(all[0].entries, (std::vector<uint32_t>{1, 2, 3}));
  EXPECT_EQ(all[1].number, 2u);
  EXPECT_TRUE(ring->Empty());
}

TEST(TapBuffer, AtTheEndACallThatHasNotReturnedIsHandedOnWithoutItsReturn) {
  const auto buffers = Buffers();
  TapRing* ring = buffers->Claim(3);
  Begin(ring, 1, 2)->end_nanos = 99;
  End(Begin(ring, 2, 0));
  const std::vector<Taken> all = Drain(buffers.get(), true);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].kind, uint32_t{MISSTEP_TAP_CALL});
  EXPECT_EQ(all[0].end_nanos, 0u);
  EXPECT_EQ(all[0].entries, (std::vector<uint32_t>{1, 2}));
  EXPECT_EQ(all[1].end_nanos, 7u);
}

TEST(TapBuffer, AFullRingTakesNoneUntilItIsDrained) {
  const auto buffers = Buffers();
  TapRing* ring = buffers->Claim(3);
  uint64_t fit = 0;
  while (TapCall* call = Begin(ring, fit, MISSTEP_TAP_MOST_ENTRIES)) {
    End(call);
    fit++;
  }
  EXPECT_GE(fit, 6u);
  EXPECT_EQ(Drain(buffers.get()).size(), fit);
  EXPECT_NE(ring->Reserve({.entries = MISSTEP_TAP_MOST_ENTRIES}), nullptr);
}

// Records of all sizes pass the ring's end many times while another thread drains it.
TEST(TapBuffer, RecordsAreWholeAndInOrder) {
  const auto buffers = Buffers();
  constexpr uint64_t kRecords = 20000;
  std::atomic<bool> done = false;
  std::atomic<uint64_t> lost = 0;
  std::thread writer([&] {
    TapRing* ring = buffers->Claim(3);
    for (uint64_t i = 1; i <= kRecords; i++) {
      TapCall* call = Begin(ring, i, static_cast<uint32_t>(i * i % 301));
      if (call == nullptr) {
        lost++;
        std::this_thread::yield();
        continue;
      }
      if (i % 7 == 0) {
        if (TapCall* inner = Begin(ring, 0, 5)) End(inner);
      }
      End(call);
    }
    done = true;
  });
  uint64_t last = 0;
  uint64_t taken = 0;
  for (bool more = true; more;) {
    more = !done;
    for (const Taken& t : Drain(buffers.get())) {
      ASSERT_EQ(t.end_nanos, 7u);
      for (size_t i = 0; i < t.entries.size(); i++) ASSERT_EQ(t.entries[i], t.number + i);
      if (t.number == 0) continue;
      ASSERT_GT(t.number, last);
      ASSERT_EQ(t.entries.size(), t.number * t.number % 301);
      last = t.number;
      taken++;
    }
  }
  writer.join();
  EXPECT_EQ(taken + lost, kRecords);
  EXPECT_GT(taken, 100u);
}

TEST(TapFile, SaysWhatIsWrongWithItsPlace) {
  TapFile file;
  const uint32_t signals[] = {27, 12};
  EXPECT_NE(file.Create("/nonexistent/tap.bin", signals), "");
  ASSERT_EQ(file.Create("/dev/shm/misstep-tap-test.bin", signals), "");
  const std::vector<uint8_t> call(MISSTEP_TAP_CALL_SIZE);
  file.Call(call);
  file.Name(1, "C.m()V");
  file.Clock();
  file.Flush();
  EXPECT_EQ(file.header()->lost[MISSTEP_TAP_LOST_FILE], 0u);
  std::remove("/dev/shm/misstep-tap-test.bin");
}

// What could be written once there is room again would have ids whose names are lost.
TEST(TapFile, IsOverOnceSomethingCannotBeWritten) {
  constexpr const char* kPath = "/dev/shm/misstep-tap-full-test.bin";
  TapFile file;
  const uint32_t signals[] = {27, 12};
  ASSERT_EQ(file.Create(kPath, signals), "");
  const std::vector<uint8_t> call(MISSTEP_TAP_CALL_SIZE);
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  auto* const ignored = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small = {MISSTEP_TAP_HEADER + MISSTEP_TAP_CALL_SIZE, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  file.Name(1, "C.m()V");
  file.Call(call);
  file.Flush();
  EXPECT_EQ(file.header()->lost[MISSTEP_TAP_LOST_FILE], 1u);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, ignored);
  file.Call(call);
  file.Flush();
  EXPECT_EQ(file.header()->lost[MISSTEP_TAP_LOST_FILE], 2u);
  struct stat now = {};
  ASSERT_EQ(stat(kPath, &now), 0);
  EXPECT_EQ(now.st_size, MISSTEP_TAP_HEADER) << "no record is cut, and none follows";
  std::remove(kPath);
}

}  // namespace
}  // namespace misstep
