#include "options.h"

#include <gtest/gtest.h>

#include <csignal>

namespace misstep {
namespace {

TEST(Options, Defaults) {
  Options o;
  EXPECT_EQ(ParseOptions("out=/tmp/x", &o), "");
  EXPECT_EQ(o.out, "/tmp/x");
  EXPECT_EQ(o.signal, SIGPROF);
  EXPECT_EQ(o.interval_micros, 1000u);
}

TEST(Options, All) {
  Options o;
  EXPECT_EQ(ParseOptions(
                "out=/o,perturb=/o/"
                "p,budget=0.05,seed=18446744073709551615,methods=0.25,include=a.*;b.*,exclude=c.*,jfr=1,gst-asgct=1e-3,"
                "shadow-gst=1,asgct-shadow=0.5,asgct-gst-bracket=0.25,edges=0.125,liveness=20,interval=250,"
                "jitter=0.5,signal=SIGRTMIN+3,tap=both,tap-asgct=0.25,stacks=5000,depth=512,"
                "evidence=every,max-mismatches=9",
                &o),
            "");
  EXPECT_EQ(o.perturb, "/o/p");
  EXPECT_EQ(o.seed, UINT64_MAX);
  EXPECT_EQ(o.methods, 0.25);
  EXPECT_EQ(o.gst_asgct, 0.001);
  EXPECT_EQ(o.budget, 0.05);
  EXPECT_EQ(o.asgct_shadow, 0.5);
  EXPECT_EQ(o.bracket, 0.25);
  EXPECT_EQ(o.edges, 0.125);
  EXPECT_EQ(o.signal, SIGRTMIN + 3);
  EXPECT_TRUE(o.tap_prof);
  EXPECT_TRUE(o.tap_usr2);
  EXPECT_EQ(o.tap_asgct, 0.25);
  EXPECT_EQ(o.stacks_micros, 5000u);
  EXPECT_EQ(o.depth, 512u);
  EXPECT_EQ(o.evidence, Evidence::kEvery);
  EXPECT_EQ(o.max_mismatches, 9u);
}

struct Bad {
  const char* text;
  const char* says;
};

// Names the case in test reports.
void PrintTo(const Bad& bad, std::ostream* out) { *out << bad.text; }

class BadOptions : public testing::TestWithParam<Bad> {};

TEST_P(BadOptions, OneClearLine) {
  Options o;
  const std::string error = ParseOptions(GetParam().text, &o);
  EXPECT_NE(error.find(GetParam().says), std::string::npos) << error;
  EXPECT_EQ(error.find('\n'), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(
    All, BadOptions,
    testing::Values(Bad{"", "option out is missing"}, Bad{"out=relative", "absolute path"},
                    Bad{"out=/o,frobnicate=1", "unknown option frobnicate"}, Bad{"out=/o,seed", "expected key=value"},
                    Bad{"out=/o,perturb=p", "absolute path of a plan"}, Bad{"out=/o,seed=-1", "2^64-1"},
                    Bad{"out=/o,seed=18446744073709551616", "2^64-1"}, Bad{"out=/o,seed=1,seed=2", "given twice"},
                    Bad{"out=/o,methods=1.5", "share from 0 to 1"}, Bad{"out=/o,methods=nan", "share"},
                    Bad{"out=/o,gst-asgct=0x1p-3", "share"}, Bad{"out=/o,interval=1", "microseconds"},
                    Bad{"out=/o,interval=", "microseconds"}, Bad{"out=/o,jitter=2", "share"},
                    Bad{"out=/o,signal=SIGSEGV", "SIGPROF"}, Bad{"out=/o,signal=SIGRTMIN+99", "SIGRTMIN"},
                    Bad{"out=/o,depth=1", "frames from 64"}, Bad{"out=/o,max-mismatches=0", "from 1"},
                    Bad{"out=/o,evidence=some", "distinct or every"}, Bad{"out=/o,only=", "a path"},
                    Bad{"out=/o,gst-asgct=0,shadow-gst=0,asgct-shadow=0,liveness=0", "nothing would be checked"},
                    Bad{"out=/o,methods=1,only=/f", "methods contradicts only"},
                    Bad{"out=/o,only=/f,include=a.*", "include contradicts only"},
                    Bad{"out=/o,exclude=a.*,only=/f", "exclude contradicts only"},
                    Bad{"out=/o,methods=0", "contradicts"},
                    Bad{"out=/o,methods=1,gst-asgct=0,shadow-gst=0,asgct-shadow=0", "methods contradicts gst-asgct=0"},
                    Bad{"out=/o,edges=2", "share"}, Bad{"out=/o,reference=trace", "trace:SHARE"},
                    Bad{"out=/o,reference=trace:0", "trace:SHARE"}, Bad{"out=/o,tap=no", "prof, usr2 or both"},
                    Bad{"out=/o,stacks=999", "from 1000 to"}, Bad{"out=/o,tap=prof", "option signal"},
                    Bad{"out=/o,tap-asgct=0.5", "missing tap"},
                    Bad{"out=/o,tap=usr2,tap-asgct=2", "a share from 0 to 1"}, Bad{"out=/o,burst=9", "from 1 to 8"},
                    Bad{"out=/o,guesses=1025", "from 0 to 1024"}, Bad{"out=/o,asgct-shadow=0,guesses=1", "no signal"},
                    Bad{"out=/o,threads=all", "round-robin"}, Bad{"out=/o,threads=name:", "name:PATTERN"},
                    Bad{"out=/o,asgct-shadow=0,reference=trace:0.5", "that check's"},
                    Bad{"out=/o,asgct-shadow=0,reference=shadow", "that check's"},
                    Bad{"out=/o,asgct-shadow=0,asgct-gst-bracket=1,burst=2", "that check's"},
                    Bad{"out=/o,asgct-shadow=0,burst=2", "burst contradicts asgct-shadow=0"},
                    Bad{"out=/o,asgct-shadow=0,interval=100", "interval contradicts asgct-shadow=0"},
                    Bad{"out=/o,asgct-shadow=0,jitter=0", "jitter contradicts asgct-shadow=0"},
                    Bad{"out=/o,asgct-shadow=0,signal=SIGIO", "signal contradicts asgct-shadow=0"},
                    Bad{"out=/o,gst-asgct=0,shadow-gst=0,asgct-shadow=0,include=a.*", "no method is instrumented"},
                    Bad{"out=/o,gst-asgct=0,shadow-gst=0,asgct-shadow=0,only=/f", "no method is instrumented"},
                    Bad{"out=/o,liveness=-1", "milliseconds"}, Bad{"out=/o,liveness=3600001", "milliseconds"},
                    Bad{"out=/o,shadow-gst=2", "share"}, Bad{"out=/o,asgct-shadow=1.1", "share"},
                    Bad{"out=/o,include=", "patterns"}, Bad{"out=/o,include=;", "patterns"},
                    Bad{"out=/o,include=a.*;;b.*", "patterns"}, Bad{"out=/o,jfr=yes", "0 or 1"},
                    Bad{"out=/o,gst-asgct=0,shadow-gst=0,asgct-shadow=0,jfr=1", "no method is instrumented"},
                    Bad{"out=/o,exclude=", "patterns"}, Bad{"out=/o,asgct-shadow=0,threads=cpu", "no signal"},
                    Bad{"out=/o,asgct-gst-bracket=x", "share"},
                    Bad{"out=/o,gst-asgct=0,shadow-gst=0,asgct-shadow=0,edges=1", "traces that other checks take"}));

}  // namespace
}  // namespace misstep
