// How far the JVM has come with its events, for verdicts that may rest on events still to come.
#pragma once

#include <cstdint>
#include <span>

#include "frame.h"
#include "grace.h"
#include "verdict.h"

namespace misstep {

struct State;

constexpr uint64_t kEarlyNanos = 250'000'000;        // a judgement waits at least that long for events still to come
constexpr uint64_t kMostEarlyNanos = 5'000'000'000;  // and at most

// For the judge's thread, or for whoever stands in for it.
class Events {
 public:
  explicit Events(const State& state);

  // Looks how far the JVM has come.
  void Look(uint64_t now_nanos) { grace_.Look(now_nanos); }
  // Whether a judgement that has waited for events since then may be made: the JVM has announced its code, or it takes
  // longer than makes sense. While it publishes a class it takes a while longer.
  bool WaitedLong(uint64_t since_nanos) const;
  // What a judgement is worth that has waited since then: a difference does not count when the JVM has not announced
  // its code.
  Verdict After(const Verdict& verdict, uint64_t since_nanos) const;
  // Whether events will describe, sooner or later, the methods of frames without info, if they are any. Where edges are
  // off nobody asks about the stacks that GetStackTrace shows, nor is a retransformation announced.
  bool MayTell(std::span<const Frame> frames) const;
  // Whether events have described every method that a walk since then may show: frames without info have ids of none.
  // To be asked before they are resolved for the last time.
  bool Told(std::span<const Frame> frames, uint64_t since_nanos) const;

 private:
  const State& state_;
  Grace grace_;
};

}  // namespace misstep
