// Perturbation at instrumentation points, for kernels without sched_ext: the same strategies, seeds and log as the
// scheduler's (schedule/policy.h has the decisions), carried out by threads that wait at their own points.
//
// A thread has a point at its first instrumented method, then after the number of method entries that its slice
// represents, and where it blocks on a monitor or was woken. Limits: threads that run no instrumented method (the VM's,
// the collector's, the compilers') have no points; code between two points is not interrupted; a thread is identified
// by its name and its ordinal among the threads of that name instead of by its path of creation.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "lock.h"

struct misstep_config;
struct misstep_decision;
struct misstep_record;

namespace misstep {

// Nanoseconds of a slice for each method entry: a slice of 5 ms is 50,000 entries, about as many as a busy thread makes
// in that time.
constexpr uint64_t kNanosPerEntry = 100;

// Events of schedule/intf.h: the first point of a thread, a point after it was blocked, and a point after its share of
// method entries or before it blocks.
constexpr uint32_t kEventStart = 1;
constexpr uint32_t kEventWakeup = 2;
constexpr uint32_t kEventExpiry = 3;

// Who woke a thread, of schedule/intf.h: another thread, or the end of the time that it had asked for.
constexpr uint32_t kWakerThread = 1;
constexpr uint32_t kWakerOutside = 2;

// The state of one thread.
struct PointState {
  uint64_t path = 0;
  uint32_t tid = 0;
  uint32_t counter = 0;
  uint32_t role = 0;
  uint64_t period = 0;  // between a point and the one after it that ends a wait, see misstep_period
  // For other threads, which may have to let it pass.
  std::atomic<uint64_t> rank = 0;
  std::atomic<uint64_t> seen = 0;     // elapsed time at its last point, 0 if it has ended
  std::atomic<bool> waiting = false;  // in a point
};

struct ScheduleFile;

class Perturber {
 public:
  // Reads the plan, a struct misstep_config of schedule/intf.h, and creates the schedule, the file of counters and
  // records. Returns the error, empty if there is none.
  std::string Open(const std::string& plan, const std::string& schedule);
  bool on() const { return file_ != nullptr; }

  // Begins the calling thread; its state may have been another thread's before.
  void Begin(PointState* state, std::string_view name, uint32_t tid);
  static void End(PointState* state) { state->seen.store(0, std::memory_order_relaxed); }

  // A point of the calling thread, which may hold no lock of the agent: takes a decision, records it, waits. Returns
  // the number of method entries until the next point, at least 1.
  int64_t Point(PointState* state, uint32_t event, uint32_t waker = kWakerThread);

  // Sets how to access the states of all threads; indices below the count are valid.
  using StateAt = PointState* (*)(size_t);
  using StateCount = size_t (*)();
  void Others(StateAt at, StateCount count) { at_ = at, count_ = count; }

 private:
  void Decide(PointState* state, uint32_t event, uint32_t waker, uint64_t elapsed, misstep_decision* d) const;
  uint64_t LetPass(const PointState& state, uint64_t rank);
  void Write(const misstep_record& record);
  uint64_t Elapsed() const;

  const misstep_config* config_ = nullptr;
  ScheduleFile* file_ = nullptr;
  uint64_t began_ = 0;
  StateAt at_ = nullptr;
  StateCount count_ = nullptr;
  Mutex mutex_;
  std::map<std::string, uint32_t, std::less<>> names_;  // threads of each name so far
};

}  // namespace misstep
