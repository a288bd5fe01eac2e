// The time up to which the JVM has announced its code. Announcements are late: a compiler installs code, then queues
// the event, and the Service Thread posts it (HotSpot: nmethod::post_compiled_method_load_event,
// ServiceThread::service_thread_entry). On a busy machine either may wait long for a CPU, so elapsed time alone proves
// nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace misstep {

// Whether a thread sleeps according to its /proc/TID/stat. A thread that waits for memory does not: it has work.
bool Sleeps(std::string_view stat);

// Determines that time by grace periods. A grace period is over when each of the VM's threads has rested, or run for a
// while, since it began, and the thread that posts events has then rested at several looks in a row: at a single look
// it may be blocked at a safepoint or a lock while it posts an event. Not thread-safe.
class Grace {
 public:
  struct Thread {
    int32_t tid = 0;
    uint64_t cpu_nanos = 0;  // at the beginning, 0 if unknown
  };
  // How the threads are observed; tests have their own view.
  struct View {
    // The threads that may have code to announce; nullopt if they cannot be listed.
    std::function<std::optional<std::vector<int32_t>>()> threads;
    std::function<bool(int32_t tid)> rests;  // sleeps, or has ended
    std::function<uint64_t(int32_t tid)> cpu_nanos;
    std::function<int32_t()> sender;  // the thread that posts events; 0 as long as there was none
  };
  explicit Grace(View view) : view_(std::move(view)) {}

  // Looks at the threads if the last look was a while ago.
  void Look(uint64_t now);
  // The time up to which everything has been announced.
  uint64_t AnnouncedUntil() const { return announced_until_; }

  static constexpr uint64_t kLookNanos = 20'000'000;
  static constexpr uint32_t kRests = 5;
  // CPU time that certainly takes a compiler from the installation of code to its event.
  static constexpr uint64_t kWhileNanos = 1'000'000;

 private:
  void Begin(uint64_t now);

  const View view_;
  uint64_t begun_ = 0;
  uint64_t announced_until_ = 0;
  uint64_t next_ = 0;
  std::vector<Thread> open_;  // threads that have neither rested nor run for a while
  uint32_t rests_ = 0;        // looks in a row at which the sender rested, once open_ is empty
};

}  // namespace misstep
