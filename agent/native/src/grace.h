// Until when the JVM has announced its code. It does so late: a compiler installs code, then puts the event into a
// queue, and the Service Thread sends it (HotSpot: nmethod::post_compiled_method_load_event,
// ServiceThread::service_thread_entry). On a busy machine either may wait long for a processor, so time alone proves
// nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace misstep {

// What /proc/TID/stat says of a thread: whether it sleeps. One that waits for memory does not: it has work.
bool Sleeps(std::string_view stat);

// Finds out by grace periods. One is over when each thread of the VM's own has rested, or run for a while, since it
// began, and after that the thread that sends events has rested at several looks in a row: at one it may be held up by
// a safepoint or a lock, with an event in its hands. Not for several threads at a time.
class Grace {
 public:
  struct Thread {
    int32_t tid = 0;
    uint64_t cpu_nanos = 0;  // at the beginning, 0 when that is not known
  };
  // How the threads are seen; tests have their own.
  struct View {
    // Those that may have code to announce; nothing when they cannot be listed.
    std::function<std::optional<std::vector<int32_t>>()> threads;
    std::function<bool(int32_t tid)> rests;  // sleeps, or has ended
    std::function<uint64_t(int32_t tid)> cpu_nanos;
    std::function<int32_t()> sender;  // of events; 0 as long as there was none
  };
  explicit Grace(View view) : view_(std::move(view)) {}

  // Looks at the threads, when the last look was a while ago.
  void Look(uint64_t now);
  // The time until which everything has been announced.
  uint64_t Told() const { return told_; }

  static constexpr uint64_t kLookNanos = 20'000'000;
  static constexpr uint32_t kRests = 5;
  // Of CPU time that take a compiler from code's installation to its event for sure.
  static constexpr uint64_t kWhileNanos = 1'000'000;

 private:
  void Begin(uint64_t now);

  const View view_;
  uint64_t begun_ = 0;
  uint64_t told_ = 0;
  uint64_t next_ = 0;
  std::vector<Thread> open_;  // have neither rested nor run for a while
  uint32_t rests_ = 0;        // looks in a row at which the sender rested, once only that is waited for
};

}  // namespace misstep
