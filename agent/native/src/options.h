// Options of the agent: parsed and validated before the JVM starts, immutable afterwards.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace misstep {

struct Options {
  std::string out;                  // folder for status.bin, mismatches.jsonl and agent.log; required
  uint64_t seed = 1;                // of method choice, entry checks and sampler
  double methods = 1.0;             // share of methods to instrument, 0..1 (used by the Java half)
  double gst_asgct = 0.001;         // share of method entries
  double shadow_gst = 0.001;        // share of method entries
  double asgct_shadow = 1.0;        // share of the sampler's ticks
  double bracket = 0.0;             // asgct-gst-bracket: share of the sampler's ticks
  double edges = 0.0;               // share of the traces that the other checks take
  uint32_t liveness_millis = 100;   // between probes, 0 = off
  uint32_t interval_micros = 1000;  // between signals
  double jitter = 0.1;              // share of the interval by which it varies, 0..1
  int signal = 27;                  // SIGPROF
  uint32_t depth = 2048;            // frames a walk may have
  uint32_t max_mismatches = 64;     // distinct records kept
};

// Parses "key=value,key=value". Returns an empty string, or one line that says what is wrong and what was expected.
std::string ParseOptions(std::string_view text, Options* options);

}  // namespace misstep
