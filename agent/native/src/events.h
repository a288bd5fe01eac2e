// How far the JVM is with posting its events, for verdicts that may depend on events still to come.
#pragma once

#include <cstdint>
#include <span>

#include "frame.h"
#include "grace.h"
#include "verdict.h"

namespace misstep {

struct State;

constexpr uint64_t kEarlyNanos = 250'000'000;        // a verdict waits at least this long for events still to come
constexpr uint64_t kMostEarlyNanos = 5'000'000'000;  // and at most this long

// For the judge's thread, or the thread that takes its place at the end.
class Events {
 public:
  explicit Events(const State& state);

  // Updates how far the JVM is.
  void Look(uint64_t now_nanos) { grace_.Look(now_nanos); }
  // Whether a verdict that has waited for events since since_nanos may be given: the JVM has announced its code, or the
  // longest wait is over. While a class that may be in question is being published, the wait is longer.
  bool WaitedLong(uint64_t since_nanos) const;
  // The verdict after waiting since since_nanos: a mismatch is void if the JVM has not announced its code.
  Verdict After(const Verdict& verdict, uint64_t since_nanos) const;
  // Whether events will eventually describe the methods of frames without info, if those are methods. With edges off,
  // the stacks of GetStackTrace are not resolved, nor are retransformations announced.
  bool MayDescribe(std::span<const Frame> frames) const;
  // Whether events have described every method that a walk since since_nanos may show: then frames without info have
  // ids of no method. To be called before the frames are resolved for the last time.
  bool AllDescribed(std::span<const Frame> frames, uint64_t since_nanos) const;
  // The final verdict on a walk, resolved for the last time: no match may rest on a frame without info that events
  // would have described, unless the JVM itself returned its id.
  Verdict Proven(const Verdict& verdict, std::span<const Frame> frames) const;

 private:
  const State& state_;
  Grace grace_;
};

}  // namespace misstep
