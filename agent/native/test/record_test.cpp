#include "record.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

namespace misstep {
namespace {

std::string Json(std::string_view text) {
  std::string s;
  AppendJson(&s, text);
  return s;
}

TEST(Json, Escapes) {
  EXPECT_EQ(Json("a\"b\\c\n\x01"), "\"a\\\"b\\\\c\\u000a\\u0001\"");
  EXPECT_EQ(Json("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"), "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"");
}

TEST(Json, ReplacesWhatIsNoUtf8) {
  EXPECT_EQ(Json("a\xff"), "\"a?\"");
  EXPECT_EQ(Json("\xc0\x80"), "\"??\"");            // modified UTF-8's zero
  EXPECT_EQ(Json("\xed\xa0\x80"), "\"???\"");       // a surrogate
  EXPECT_EQ(Json("\xe2\x82"), "\"??\"");            // cut
  EXPECT_EQ(Json("\xf5\x80\x80\x80"), "\"????\"");  // beyond Unicode
}

Mismatch Make(const char* method) {
  Mismatch m;
  m.check = Check::kAsgctShadow;
  m.verdict = Verdict::Mismatch(Kind::kTruncated, 1);
  m.reference = {
      .source = "shadow", .frames = {{{"a/B$C", method, "()V"}, 0}, {{"a/Main", "main", "()V"}, 3}}, .num_frames = 2};
  m.suspect = {.source = "asgct", .frames = {{{"a/B$C", method, "()V"}, 5}}, .num_frames = 1};
  m.place = {.thread = "t\"1",
             .tid = 42,
             .sequence = UINT64_MAX,
             .spot = {.pc = 16, .fp = 32, .code = {1, 2, 3, 4}, .code_size = 4, .next_code = {24, 0}},
             .top_state = "compiled"};
  return m;
}

TEST(Record, WhatTheStackTells) {
  Mismatch m = Make("x");
  m.place.spot.returns = {40, 99};
  m.place.spot.original = 56;
  m.place.spot.return_code[0] = 5;
  m.place.spot.return_size = 1;
  m.return_state = "compiled";
  m.stack = {{8, "interpreter"}, {16, "stub \"a\""}};
  size_t at = 0;
  const std::string line = MismatchLine(m, &at);
  EXPECT_NE(
      line.find(",\"returnState\":\"compiled\",\"returnCode\":\"BQ==\",\"returnCopied\":true,\"stack\":["
                "{\"at\":\"8\",\"code\":\"interpreter\"},{\"at\":\"16\",\"code\":\"stub \\\"a\\\"\"}],\"count\":"),
      std::string::npos)
      << line;
}

TEST(Record, Line) {
  size_t at = 0;
  EXPECT_EQ(
      MismatchLine(Make("x"), &at),
      "{\"check\":\"asgct-shadow\",\"kind\":\"truncated\",\"reference\":{\"source\":\"shadow\",\"frames\":["
      "{\"className\":\"a.B$C\",\"method\":\"x\",\"descriptor\":\"()V\",\"bci\":0},"
      "{\"className\":\"a.Main\",\"method\":\"main\",\"descriptor\":\"()V\",\"bci\":3}],\"numFrames\":2},"
      "\"suspect\":{\"source\":\"asgct\",\"frames\":[{\"className\":\"a.B$C\",\"method\":\"x\",\"descriptor\":\"()V\","
      "\"bci\":5}],\"numFrames\":1},\"divergence\":1,\"thread\":\"t\\\"1\",\"tid\":\"42\","
      "\"sequence\":\"18446744073709551615\",\"pc\":\"16\",\"sp\":\"0\",\"fp\":\"32\",\"returnAt\":\"24\",\"code\":"
      "\"AQIDBA==\",\"topState\":"
      "\"compiled\","
      "\"count\":\"1\"                   }\n");
}

TEST(Record, CountsInPlaceAndBounds) {
  const std::string path = testing::TempDir() + "record-" + std::to_string(getpid()) + ".jsonl";
  Recorder recorder;
  ASSERT_EQ(recorder.Open(path, 2), "");
  for (int i = 0; i < 12; i++) recorder.Report(Make("x"));
  recorder.Report(Make("y"));
  recorder.Report(Make("z"));  // beyond the bound
  recorder.Report(Make("y"));
  std::ifstream in(path);
  std::string line;
  std::vector<std::string> lines;
  while (std::getline(in, line)) lines.push_back(line);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_NE(lines[0].find("\"count\":\"12\""), std::string::npos);
  EXPECT_NE(lines[1].find("\"count\":\"2\""), std::string::npos);
  EXPECT_EQ(lines[1].back(), '}');
  std::remove(path.c_str());
}

TEST(Record, KeepsEveryOneUpToTheBound) {
  const std::string path = testing::TempDir() + "every-" + std::to_string(getpid()) + ".jsonl";
  Recorder recorder;
  ASSERT_EQ(recorder.Open(path, 3, true), "");
  for (const char* method : {"x", "x", "y", "x", "y", "z"}) recorder.Report(Make(method));
  std::ifstream in(path);
  std::string line;
  std::vector<std::string> counts;
  while (std::getline(in, line)) counts.push_back(line.substr(line.find("\"count\":") + 8, 3));
  EXPECT_EQ(counts, (std::vector<std::string>{"\"1\"", "\"2\"", "\"2\""}));
  std::remove(path.c_str());
}

TEST(Record, DeoptimisedCaller) {
  Mismatch m = Make("x");
  m.deoptimised_caller = {"a/Main", "main", "()V"};
  size_t at = 0;
  const std::string line = MismatchLine(m, &at);
  EXPECT_NE(line.find("\"topState\":\"compiled\",\"deoptimisedCaller\":"
                      "{\"className\":\"a.Main\",\"method\":\"main\",\"descriptor\":\"()V\"},\"count\":"),
            std::string::npos)
      << line;
  EXPECT_NE(Boundary(m), Boundary(Make("x"))) << "another cause of the same cut";
}

Mismatch At(std::vector<uint8_t> code, const char* state, uint64_t next_code = 0) {
  Mismatch m = Make("x");
  Spot* spot = &m.place.spot;
  *spot = {.pc = 16, .sp = 1000};
  spot->code_size = static_cast<uint32_t>(code.size());
  std::copy(code.begin(), code.end(), spot->code);
  spot->next_code.at = next_code;
  m.place.top_state = state;
  return m;
}

// The same cut at another moment of the top frame's life may have another cause: one record must not hide the other.
TEST(Record, MomentsAreToldApart) {
  const auto equal = [](const Mismatch& a, const Mismatch& b) {
    EXPECT_EQ(Boundary(a), Boundary(b));
    return Moment(a) == Moment(b);
  };
  const Mismatch pop = At({0x5d, 0x49, 0x3b, 0xa7}, "compiled");
  EXPECT_FALSE(equal(pop, At({0x55, 0x49, 0x3b, 0xa7}, "compiled"))) << "another instruction";
  EXPECT_FALSE(equal(pop, At({0x5d, 0x49, 0x3b, 0xa7}, "stub")));
  EXPECT_FALSE(equal(pop, At({0x5d, 0x49, 0x3b, 0x67}, "compiled"))) << "what follows may tell what it is";
  EXPECT_TRUE(equal(At({}, "compiled"), At({}, "compiled"))) << "code that could not be read";
  Mismatch copies = pop;
  copies.top_call = {"java/lang/System", "arraycopy", "()V"};
  EXPECT_FALSE(equal(pop, copies));

  const Mismatch c = At({0x5d}, "native", 1008);
  EXPECT_TRUE(equal(c, At({0x5d}, "native", 1048))) << "some saved registers";
  EXPECT_FALSE(equal(c, At({0x5d}, "native", 1056))) << "variables";
  EXPECT_FALSE(equal(c, At({0x5d}, "native", 0))) << "nobody to return to";
  Mismatch inside = c;
  inside.place.spot.fp = 1004;
  EXPECT_FALSE(equal(c, inside)) << "a frame pointer of its own";
  Mismatch called = c;
  called.return_state = "compiled";
  EXPECT_FALSE(equal(c, called));
  Mismatch elsewhere = called;
  elsewhere.place.spot.return_size = 3;
  elsewhere.place.spot.return_code[0] = 0x48;
  EXPECT_FALSE(equal(called, elsewhere));
}

TEST(Record, MomentsOfOnePlaceAreBounded) {
  const std::string path = testing::TempDir() + "moments-" + std::to_string(getpid()) + ".jsonl";
  Recorder recorder;
  ASSERT_EQ(recorder.Open(path, 17), "");
  for (uint8_t code = 0; code < 100; code++) EXPECT_EQ(recorder.Report(At({0x48, 0x8b, code}, "compiled")), "");
  EXPECT_EQ(recorder.Report(Make("y")), "") << "another place";
  EXPECT_NE(recorder.Report(Make("z")).find("max-mismatches"), std::string::npos);
  EXPECT_EQ(recorder.Report(Make("z")), "") << "said once";
  std::ifstream in(path);
  std::string line;
  std::vector<std::string> counts;
  while (std::getline(in, line)) counts.push_back(line.substr(line.find("\"count\":") + 9, 2));
  ASSERT_EQ(counts.size(), 17u);
  EXPECT_EQ(counts[14], "1\"");
  EXPECT_EQ(counts[15], "85") << "all others of the place";
  EXPECT_EQ(counts[16], "1\"");
  std::remove(path.c_str());
}

TEST(Record, BoundaryTellsMismatchesApart) {
  EXPECT_EQ(Boundary(Make("x")), Boundary(Make("x")));
  EXPECT_NE(Boundary(Make("x")), Boundary(Make("y")));
  Mismatch other = Make("x");
  other.verdict.kind = Kind::kMissing;
  EXPECT_NE(Boundary(Make("x")), Boundary(other));
  other.verdict.divergence = 99;  // out of the trace: no fault
  EXPECT_NE(Boundary(other), "");
}

}  // namespace
}  // namespace misstep
