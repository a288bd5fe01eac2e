// Options of the agent: parsed and validated before the JVM starts, immutable afterwards.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "checks.gen.h"

namespace misstep {

// Which of the threads that ran recently is signalled.
enum class ThreadChoice : uint8_t {
  kRunning,     // any of them
  kRoundRobin,  // each in turn
  kName,        // any of them whose name matches a pattern
  kCpu,         // by the CPU time that each used
};

// Which mismatches have a record of their own.
enum class Evidence : uint8_t {
  kDistinct,  // the first of each check, kind and boundary; it counts the others
  kEvery,     // each, as long as there is room
};

struct Options {
  std::string perturb;   // plan of the perturbation at instrumentation points, empty for none
  std::string only;      // file of the methods to instrument, empty for a choice (used by the Java half)
  std::string out;       // folder for status.bin, mismatches.jsonl and agent.log; required
  uint64_t seed = 1;     // of method choice, entry checks and sampler
  double methods = 1.0;  // share of methods to instrument, 0..1 (used by the Java half)
  double gst_asgct = FactsOf(Check::kGstAsgct).share;        // share of method entries
  double shadow_gst = FactsOf(Check::kShadowGst).share;      // share of method entries
  double asgct_shadow = FactsOf(Check::kAsgctShadow).share;  // share of the sampler's ticks
  double bracket = FactsOf(Check::kAsgctGstBracket).share;   // share of the sampler's ticks
  double budget = 0.0;                          // share of a thread's CPU time for its entry checks, 0 = unbounded
  double trace = 0.0;                           // asgct-shadow also by traces: share of method entries that are traced
  double edges = FactsOf(Check::kEdges).share;  // share of the traces that the other checks take
  uint32_t liveness_millis = kLivenessMillis;   // between probes, 0 = off
  uint32_t interval_micros = 1000;              // between signals
  double jitter = 0.1;                          // share of the interval by which it varies, 0..1
  uint32_t burst = 1;                           // signals back to back at each tick of asgct-shadow
  uint32_t guesses = 0;                         // words of the stack to walk from after a code (stack scanning)
  ThreadChoice threads = ThreadChoice::kRunning;
  std::string thread_pattern = "*";  // of names, for kName
  int signal = 27;                   // SIGPROF
  bool tap_prof = false;             // tap the handler of SIGPROF
  bool tap_usr2 = false;             // tap the handler of the signal by which the JVM suspends threads
  double tap_asgct = 0.05;           // share of the tapped calls in which AsyncGetCallTrace is asked as well
  bool sites = false;                // write sites.bin
  uint32_t stacks_micros = 0;        // between calls of Thread.getAllStackTraces(), 0 = none (used by the Java half)
  uint32_t depth = 2048;             // frames a walk may have
  Evidence evidence = Evidence::kDistinct;
  uint32_t max_mismatches = 64;  // records kept

  bool TapsAny() const { return tap_prof || tap_usr2; }
};

// Whether any check, or a tap, needs instrumented methods, and with them the patch of java.lang.Thread.
bool NeedsMethods(const Options& o);

// Whether a thread that the sampler chooses takes the ticks of some milliseconds by its own timer: the sampler's thread
// is not woken up often enough for short intervals.
inline bool UsesTurns(const Options& o) { return o.asgct_shadow > 0 && o.burst == 1 && o.interval_micros < 1000; }

// Whether a thread that the sampler chooses takes the brackets of some milliseconds, one right after the other.
inline bool UsesBracketTurns(const Options& o) { return o.bracket > 0 && o.interval_micros < 1000; }

// Whether any check, or the option sites, reads bytecode.
inline bool NeedsCode(const Options& o) {
  return o.edges > 0 || o.bracket > 0 || o.shadow_gst > 0 || o.asgct_shadow > 0 || o.sites;
}

// Whether text matches a pattern in which * stands for any run of characters.
bool Matches(std::string_view pattern, std::string_view text);

// Parses "key=value,key=value". Returns an empty string, or one line with the error and what was expected.
std::string ParseOptions(std::string_view text, Options* options);

}  // namespace misstep
