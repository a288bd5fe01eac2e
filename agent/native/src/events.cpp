#include "events.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "clock.h"
#include "compare.h"
#include "state.h"

namespace misstep {

namespace {

// Whether a thread sleeps or has ended. When that cannot be found out, it may have work.
bool Rests(int32_t tid) {
  char stat[128];  // the state follows the name, which has at most 15 characters
  const int fd = open(("/proc/self/task/" + std::to_string(tid) + "/stat").c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return errno == ENOENT;
  const ssize_t n = read(fd, stat, sizeof(stat));
  const bool ended = n < 0 && errno == ESRCH;
  close(fd);
  return ended || (n > 0 && Sleeps({stat, static_cast<size_t>(n)}));
}

// The threads of this process that are not the application's, apart from this one. One without a slot is taken for the
// VM's.
std::optional<std::vector<int32_t>> ThreadsOfVM(const Threads& threads) {
  DIR* dir = opendir("/proc/self/task");
  if (dir == nullptr) return std::nullopt;
  std::set<int32_t> application = {static_cast<int32_t>(syscall(SYS_gettid))};
  for (size_t i = 0; i < threads.size(); i++) {
    const Slot& slot = *threads.at(i);
    if (HasThread(slot)) application.insert(slot.tid.load());
  }
  std::vector<int32_t> all;
  while (const dirent* entry = readdir(dir)) {
    const auto tid = static_cast<int32_t>(strtol(entry->d_name, nullptr, 10));
    if (tid > 0 && !application.contains(tid)) all.push_back(tid);
  }
  closedir(dir);
  return all;
}

}  // namespace

Events::Events(const State& state)
    : state_(state),
      grace_({.threads = [&state] { return ThreadsOfVM(state.threads); },
              .rests = Rests,
              .cpu_nanos = ThreadCpuNanos,
              .sender = [&state] { return state.sender.load(); }}) {}

bool Events::WaitedLong(uint64_t since_nanos) const {
  const uint64_t now_nanos = MonotonicNanos();
  if (grace_.AnnouncedUntil() < since_nanos) return since_nanos + kMostEarlyNanos <= now_nanos;
  return since_nanos + kEarlyNanos <= now_nanos &&
         (state_.publications.EndedOf(since_nanos + kEarlyNanos) || since_nanos + kMostEarlyNanos <= now_nanos);
}

Verdict Events::After(const Verdict& verdict, uint64_t since_nanos) const {
  const bool late = verdict.outcome == Outcome::kMismatch && grace_.AnnouncedUntil() < since_nanos;
  return late ? Verdict::Void(Reason::kEventsLate) : verdict;
}

bool Events::MayDescribe(std::span<const Frame> frames) const {
  return Unknown(frames) && state_.options.edges > 0 && !state_.redefines.load();
}

bool Events::AllDescribed(std::span<const Frame> frames, uint64_t since_nanos) const {
  return MayDescribe(frames) && since_nanos + kEarlyNanos <= MonotonicNanos() &&
         state_.publications.EndedOf(since_nanos + kEarlyNanos) && !state_.methods.WasGiven(frames);
}

Verdict Events::Proven(const Verdict& verdict, std::span<const Frame> frames) const {
  const bool agrees = verdict.outcome == Outcome::kMatch || verdict.outcome == Outcome::kTolerated;
  const bool rests = agrees && MayDescribe(frames) && !state_.methods.WasGiven(frames);
  return rests ? Verdict::Void(Reason::kUnknownMethod) : verdict;
}

}  // namespace misstep
