// Java stacks of a JVM in which a walk hangs in a signal handler: its thread does not reach a safepoint, so the JVM
// cannot dump the stacks itself.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "status.h"
#include "threads.h"

namespace misstep {

struct State;

constexpr uint64_t kOverdueNanos = 5'000'000'000;  // a thread that is in the agent for longer is overdue
// The same in a handler, which never waits: the runner looks for the file a second later (runner/jvm: inWalkAge).
constexpr uint64_t kHandlerOverdueNanos = 3'000'000'000;

// Whether a thread that is in the agent has been there for longer than nanos. Read its phase first.
bool Overdue(const ThreadStatus& s, uint64_t now_nanos, uint64_t nanos = kOverdueNanos);

// The first thread that has been in a signal handler for longer than nanos, null for none.
const ThreadStatus* FindInHandler(const Threads& threads, uint64_t now_nanos, uint64_t nanos);

// Writes the shadow stacks of all threads to a file when a handler is overdue that was not reported yet: in the format
// of HotSpot's thread dump, below a line that names the sample and the thread ("sample N of TID"). If the thread of the
// handler has no shadow stack, the methods that words of its stack point at are listed. For the judge's thread, not for
// signal handlers; calls neither JNI nor JVMTI.
class HungWalks {
 public:
  HungWalks(const State& state, std::string path) : state_(state), path_(std::move(path)) {}
  void Look(uint64_t now_nanos);

 private:
  static constexpr int kMostReported = 256;  // each report replaces the file

  const State& state_;
  std::string path_;
  uint64_t next_nanos_ = 0;
  uint64_t last_ = 0;  // sample of the handler that was reported last
  int reported_ = 0;
};

}  // namespace misstep
