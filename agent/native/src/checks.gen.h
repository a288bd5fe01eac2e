// Code generated from recipe/checks.go by go generate ./recipe; DO NOT EDIT.
// clang-format off
#pragma once

#include <cstddef>
#include <cstdint>

// The number of checks in the status file; abi.h has the layout of one.
#define MISSTEP_CHECK_COUNT 6

// The names of the options, for messages.
#define MISSTEP_CHECK_OPTIONS "gst-asgct, shadow-gst, asgct-shadow, asgct-gst-bracket, edges, liveness"

namespace misstep {

// The agent's checks in the order of the status file.
enum class Check : uint8_t {
  kGstAsgct,
  kShadowGst,
  kAsgctShadow,
  kAsgctGstBracket,
  kEdges,
  kLiveness,
  kCount,
};

// Names of the checks, which are also their options.
inline constexpr const char* kCheckNames[] = {
  "gst-asgct",
  "shadow-gst",
  "asgct-shadow",
  "asgct-gst-bracket",
  "edges",
  "liveness",
};

// Properties of a check.
struct CheckFacts {
  double share;  // if its option is left out; 0 means off
  bool methods;  // it needs instrumented methods
  bool signals;  // it needs signals
};

inline constexpr CheckFacts kCheckFacts[] = {
  {0.001, true, false},  // gst-asgct
  {0.001, true, false},  // shadow-gst
  {1, true, true},  // asgct-shadow
  {0, false, true},  // asgct-gst-bracket
  {0, false, false},  // edges
  {1, false, false},  // liveness
};

constexpr const char* NameOf(Check check) { return kCheckNames[static_cast<size_t>(check)]; }
constexpr const CheckFacts& FactsOf(Check check) { return kCheckFacts[static_cast<size_t>(check)]; }

// The interval between looks of liveness in milliseconds, if its option is left out.
inline constexpr uint32_t kLivenessMillis = 100;

}  // namespace misstep
