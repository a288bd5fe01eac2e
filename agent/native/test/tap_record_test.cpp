#include "tap_record.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

namespace misstep {
namespace {

// A call as it is in a ring.
struct Made {
  std::vector<uint64_t> words;
  TapCall* call() { return reinterpret_cast<TapCall*>(words.data()); }
  std::span<const uint8_t> bytes() const { return {reinterpret_cast<const uint8_t*>(words.data()), 8 * words.size()}; }
};

Made MakeCall(uint64_t pc, std::vector<uint32_t> entries, std::vector<TapFrame> frames, std::string_view code = "") {
  Made m;
  m.words.resize(sizeof(TapCall) / 8 + (entries.size() + 1) / 2 + 2 * frames.size() + (code.size() + 7) / 8);
  TapCall* c = m.call();
  c->head = 8 * m.words.size() | uint64_t{MISSTEP_TAP_CALL} << 32;
  c->pc = pc;
  c->entries = static_cast<uint32_t>(entries.size());
  c->frames = static_cast<uint32_t>(frames.size());
  c->return_size = static_cast<uint32_t>(code.size());
  std::copy(entries.begin(), entries.end(), c->Entries());
  std::copy(frames.begin(), frames.end(), c->Frames());
  std::copy(code.begin(), code.end(), c->ReturnCode());
  return m;
}

// A record of the file.
struct Read {
  uint64_t pc;
  uint32_t state, return_state, compiled;
  std::vector<std::pair<int32_t, uint32_t>> frames;
  std::string return_code;
};

class TapRecord : public testing::Test {
 protected:
  void SetUp() override {
    path_ = testing::TempDir() + "/misstep-tap-record.bin";
    ASSERT_EQ(file_.Create(path_, {27, 12}), "");
    methods_.Publish("p/A", std::vector<PreparedMethod>{{.method = 8, .name = "one", .descriptor = "()V"}}, {});
    Nmethod n;
    n.start = 0x1000;
    n.size = 0x100;
    n.method = 8;
    code_.Load(n, 0, 1);
    code_.AddStub("Interpreter", 0x3000, 0x100);
    code_.AddStub("other", 0x4000, 0x100);
  }
  void TearDown() override { std::remove(path_.c_str()); }

  // The calls in the file, and the names before them.
  std::vector<Read> Written() {
    file_.Flush();
    std::ifstream in(path_, std::ios::binary);
    const std::string all((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    std::vector<Read> calls;
    for (size_t at = MISSTEP_TAP_HEADER; at < all.size();) {
      const auto u32 = [&](size_t offset) {
        uint32_t v = 0;
        std::memcpy(&v, all.data() + at + offset, sizeof(v));
        return v;
      };
      if (u32(4) == MISSTEP_TAP_NAME) {
        names_[u32(MISSTEP_TAP_NAME_ID_OFFSET)] =
            all.substr(at + MISSTEP_TAP_NAME_SIZE, u32(MISSTEP_TAP_NAME_LENGTH_OFFSET));
      } else {
        Read r = {u32(MISSTEP_TAP_CALL_PC_OFFSET),
                  u32(MISSTEP_TAP_CALL_STATE_OFFSET),
                  u32(MISSTEP_TAP_CALL_RETURN_STATE_OFFSET),
                  u32(MISSTEP_TAP_CALL_COMPILED_OFFSET),
                  {},
                  ""};
        size_t from = MISSTEP_TAP_CALL_SIZE + (u32(MISSTEP_TAP_CALL_ENTRIES_OFFSET) + 1) / 2 * 8;
        for (uint32_t i = 0; i < u32(MISSTEP_TAP_CALL_FRAMES_OFFSET); i++, from += 8) {
          r.frames.emplace_back(static_cast<int32_t>(u32(from)), u32(from + 4));
        }
        r.return_code = all.substr(at + from, u32(MISSTEP_TAP_CALL_RETURN_SIZE_OFFSET));
        calls.push_back(r);
      }
      EXPECT_EQ(u32(0) % 8, 0u);
      at += u32(0);
    }
    return calls;
  }

  std::string path_;
  MethodTable methods_;
  CodeMap code_;
  TapFile file_;
  TapRecords records_{methods_, code_, &file_};
  std::map<uint32_t, std::string> names_;
};

TEST_F(TapRecord, SaysWhatRan) {
  Made native = MakeCall(0x9000, {1, 2, 3}, {}, "abc");
  native.call()->return_pc = 0x3010;
  records_.Add(MakeCall(0x1010, {}, {{5, 8}, {-3, 8}, {7, 0}}).bytes(), 10);
  records_.Add(MakeCall(0x3010, {1}, {}).bytes(), 10);
  records_.Add(MakeCall(0x4010, {}, {}).bytes(), 10);
  records_.Add(native.bytes(), 10);
  const std::vector<Read> all = Written();
  ASSERT_EQ(all.size(), 4u);
  constexpr uint32_t kOne = MISSTEP_TAP_METHODS + 1;
  EXPECT_EQ(all[0].state, uint32_t{MISSTEP_TAP_STATE_COMPILED});
  EXPECT_EQ(all[0].compiled, kOne);
  EXPECT_EQ(all[0].frames, (std::vector<std::pair<int32_t, uint32_t>>{{5, kOne}, {-3, kOne}, {7, 0}}));
  EXPECT_EQ(names_, (std::map<uint32_t, std::string>{{kOne, "p/A.one()V"}}));
  EXPECT_EQ(all[1].state, uint32_t{MISSTEP_TAP_STATE_INTERPRETED});
  EXPECT_EQ(all[2].state, uint32_t{MISSTEP_TAP_STATE_STUB});
  EXPECT_EQ(all[3].state, uint32_t{MISSTEP_TAP_STATE_NATIVE});
  EXPECT_EQ(all[3].return_state, uint32_t{MISSTEP_TAP_STATE_INTERPRETED});
  EXPECT_EQ(all[3].return_code, "abc");
}

// Code runs before the JVM announces it, and a class may be walked before its methods are known.
TEST_F(TapRecord, WhatIsNotAnnouncedYetIsWaitedFor) {
  constexpr uint64_t kLate = 10 + TapRecords::kWaitNanos;
  records_.Add(MakeCall(0x2010, {}, {}).bytes(), 10);
  records_.Add(MakeCall(0x2020, {}, {{1, 16}}).bytes(), 10);
  records_.Add(MakeCall(0x2800, {}, {{1, 24}}).bytes(), 11);
  records_.Settle(kLate - 1, false);
  EXPECT_TRUE(Written().empty());
  Nmethod n;
  n.start = 0x2000;
  n.size = 0x100;
  n.method = 16;
  code_.Load(n, 0, 1);
  methods_.Publish("p/B", std::vector<PreparedMethod>{{.method = 16, .name = "two", .descriptor = "()V"}}, {});
  records_.Settle(kLate, false);
  std::vector<Read> all = Written();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].state, uint32_t{MISSTEP_TAP_STATE_COMPILED});
  EXPECT_EQ(names_[all[1].compiled], "p/B.two()V");
  EXPECT_EQ(names_[all[1].frames[0].second], "p/B.two()V");
  records_.Settle(kLate, true);
  all = Written();
  ASSERT_EQ(all.size(), 3u) << "at the end none waits";
  EXPECT_EQ(all[2].state, uint32_t{MISSTEP_TAP_STATE_UNKNOWN});
  EXPECT_EQ(all[2].frames[0].second, uint32_t{MISSTEP_TAP_METHODS});
}

}  // namespace
}  // namespace misstep
