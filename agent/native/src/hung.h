// Java stacks of a JVM in which a walk hangs in a signal handler: its thread does not get to a safepoint, so that the
// JVM cannot tell them itself.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "status.h"
#include "threads.h"

namespace misstep {

struct State;

constexpr uint64_t kOverdueNanos = 5'000'000'000;  // longer in the agent than this is overdue
// In a handler, which waits for nobody: the runner looks for the file a second later (runner/jvm: inWalkAge).
constexpr uint64_t kHandlerOverdueNanos = 3'000'000'000;

// Whether a thread that is in the agent has been there for longer than that. Its phase is to be read before.
bool Overdue(const ThreadStatus& s, uint64_t now_nanos, uint64_t nanos = kOverdueNanos);

// The first thread that has been in a signal handler for longer than that, null for none.
const ThreadStatus* FindInHandler(const Threads& threads, uint64_t now_nanos, uint64_t nanos);

// Writes what is on the shadows of all threads to a file, in the form of HotSpot's thread dump below a line that says
// of which sample and thread ("sample N of TID"), when a handler is overdue that was not reported yet; of that thread
// without a shadow, what its stack points at. The judge's: not for signal handlers, and calls neither JNI nor JVMTI.
class HungWalks {
 public:
  HungWalks(const State& state, std::string path) : state_(state), path_(std::move(path)) {}
  void Look(uint64_t now_nanos);

 private:
  static constexpr int kMostReported = 256;  // each time the file is made anew

  const State& state_;
  std::string path_;
  uint64_t next_nanos_ = 0;
  uint64_t last_ = 0;  // sample of the handler that was reported last
  int told_ = 0;
};

}  // namespace misstep
