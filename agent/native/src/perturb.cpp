#include "perturb.h"

#include <fcntl.h>
#include <policy.h>  // of schedule/: the decisions have one definition
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>

#include "../../abi.h"
#include "clock.h"

namespace misstep {

struct ScheduleFile {
  uint64_t magic;
  uint64_t capacity;
  std::atomic<uint64_t> count;
  uint64_t reserved[5];
  std::atomic<uint64_t> stats[MISSTEP_STATS];
  std::atomic<uint64_t> histograms[MISSTEP_HISTOGRAMS][MISSTEP_BUCKETS];
  uint8_t rest[MISSTEP_SCHEDULE_RECORDS_OFFSET - MISSTEP_SCHEDULE_HISTOGRAMS_OFFSET -
               MISSTEP_HISTOGRAMS * MISSTEP_BUCKETS * sizeof(uint64_t)];
  misstep_record records[MISSTEP_SCHEDULE_CAPACITY];
};
static_assert(kEventStart == MISSTEP_EVENT_START && kEventWakeup == MISSTEP_EVENT_WAKEUP &&
              kEventExpiry == MISSTEP_EVENT_EXPIRY && kWakerThread == MISSTEP_WAKER_THREAD &&
              kWakerOutside == MISSTEP_WAKER_OUTSIDE);
static_assert(offsetof(ScheduleFile, stats) == MISSTEP_SCHEDULE_STATS_OFFSET);
static_assert(offsetof(ScheduleFile, histograms) == MISSTEP_SCHEDULE_HISTOGRAMS_OFFSET);
static_assert(offsetof(ScheduleFile, records) == MISSTEP_SCHEDULE_RECORDS_OFFSET);
static_assert(sizeof(misstep_record) == MISSTEP_SCHEDULE_RECORD_SIZE);
static_assert(int{MISSTEP_STATS} == MISSTEP_SCHEDULE_STATS_COUNT);
static_assert(int{MISSTEP_HISTOGRAMS} == MISSTEP_SCHEDULE_HISTOGRAMS_COUNT);
static_assert(MISSTEP_BUCKETS == MISSTEP_SCHEDULE_BUCKETS_COUNT);

namespace {

constexpr uint64_t kAlive = 20'000'000;  // a thread that came to a point within this time is one that runs
constexpr uint64_t kLookNanos = 50'000;  // between two looks at who may pass
constexpr uint64_t kRoot = 0x6a766d;     // the path that all threads of the JVM come from
constexpr size_t kMostNames = 4096;      // more names of threads than this share their counter

uint64_t Hash(std::string_view text) {
  uint64_t h = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : text) h = (h ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return h;
}

}  // namespace

std::string Perturber::Open(const std::string& plan, const std::string& schedule) {
  static misstep_config config;  // lives as long as the process, like all of the agent
  const int in = open(plan.c_str(), O_RDONLY | O_CLOEXEC);
  if (in < 0) return "cannot read " + plan + ": " + std::strerror(errno);
  struct stat st = {};
  const bool whole =
      fstat(in, &st) == 0 && st.st_size == sizeof(config) && read(in, &config, sizeof(config)) == sizeof(config);
  close(in);
  if (!whole || config.strategy == MISSTEP_STRATEGY_UNSPECIFIED || config.strategy > MISSTEP_STRATEGY_CHAOS) {
    return "option perturb=" + plan + ": expected a plan that this version of misstep wrote";
  }
  const int out = open(schedule.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (out < 0) return "cannot create " + schedule + ": " + std::strerror(errno);
  // As in CreateStatus: a full disk is an error now, not a SIGBUS later.
  const int full = posix_fallocate(out, 0, sizeof(ScheduleFile));
  if (full != 0) {
    close(out);
    return "cannot reserve " + schedule + ": " + std::strerror(full);
  }
  void* memory = mmap(nullptr, sizeof(ScheduleFile), PROT_READ | PROT_WRITE, MAP_SHARED, out, 0);
  close(out);
  if (memory == MAP_FAILED) return "cannot map " + schedule + ": " + std::strerror(errno);
  file_ = static_cast<ScheduleFile*>(memory);
  file_->magic = MISSTEP_SCHEDULE_MAGIC;
  file_->capacity = MISSTEP_SCHEDULE_CAPACITY;
  config_ = &config;
  began_ = MonotonicNanos();
  return "";
}

uint64_t Perturber::Elapsed() const { return MonotonicNanos() - began_; }

void Perturber::Begin(PointState* state, std::string_view name, uint32_t tid) {
  uint32_t ordinal = 0;
  {
    const std::lock_guard lock(mutex_);
    auto it = names_.find(name);
    if (it == names_.end() && names_.size() < kMostNames) it = names_.emplace(name, 0).first;
    if (it != names_.end()) ordinal = it->second++;
  }
  misstep_record r = {};
  r.kind = MISSTEP_RECORD_THREAD;
  r.elapsed = Elapsed();
  r.delay = misstep_path(kRoot, Hash(name));  // the parent: all threads of this name
  r.path = misstep_path(r.delay, ordinal);
  r.counter = ordinal;
  r.tid = tid;
  std::memcpy(r.comm, name.data(), name.size() < MISSTEP_COMM - 1 ? name.size() : MISSTEP_COMM - 1);
  uint64_t words[2] = {};
  std::memcpy(words, r.comm, sizeof(words));
  state->role = misstep_role_of(words[0], words[1]);
  r.role = static_cast<uint16_t>(state->role);
  state->path = r.path;
  state->tid = tid;
  state->counter = 0;
  state->period = 0;
  state->rank.store(0, std::memory_order_relaxed);
  state->waiting.store(false, std::memory_order_relaxed);
  file_->stats[MISSTEP_STAT_THREADS].fetch_add(1, std::memory_order_relaxed);
  Write(r);
}

void Perturber::Decide(PointState* state, uint32_t event, uint32_t waker, uint64_t elapsed, misstep_decision* d) const {
  misstep_knobs knobs = config_->knobs;
  uint64_t epoch = 0;
  if (config_->strategy == MISSTEP_STRATEGY_CHAOS) {
    epoch = config_->epoch != 0 ? elapsed / config_->epoch : 0;
    misstep_chaos(config_->seed, epoch, config_->delay_cap, config_->away_cap, &knobs);
  }
  misstep_point point = {};
  point.path = state->path;
  point.elapsed = elapsed;
  point.period = state->period;
  point.counter = state->counter;
  point.event = event;
  point.role = state->role;
  point.waker = waker;
  misstep_decide(config_->seed, &knobs, epoch, &point, d);
  misstep_confine(config_->from, config_->knobs.until, config_->flags, &point, d);
}

int64_t Perturber::Point(PointState* state, uint32_t event, uint32_t waker) {
  const uint64_t elapsed = Elapsed();
  const uint64_t seen = state->seen.load(std::memory_order_relaxed);
  if (event == MISSTEP_EVENT_WAKEUP && seen != 0 && seen < elapsed) {
    state->period = misstep_period(state->period, elapsed - seen);
  }
  misstep_decision d = {};
  Decide(state, event, waker, elapsed, &d);
  auto& stats = file_->stats;
  const auto count = [&stats](misstep_stat stat, bool when) {
    if (when) stats[stat].fetch_add(1, std::memory_order_relaxed);
  };
  count(MISSTEP_STAT_DECISIONS, true);
  count(MISSTEP_STAT_DELAYS, d.delay > 0);
  count(MISSTEP_STAT_STARVED, (d.marks & MISSTEP_MARK_STARVED) != 0);
  count(MISSTEP_STAT_SHORT, (d.marks & MISSTEP_MARK_SHORT) != 0);
  count(MISSTEP_STAT_CHANGES, (d.marks & MISSTEP_MARK_CHANGED) != 0);
  misstep_record r = {};
  r.kind = MISSTEP_RECORD_DECISION;
  r.elapsed = elapsed;
  r.path = state->path;
  r.delay = d.delay;
  r.slice = d.slice;
  r.rank = d.rank;
  r.counter = state->counter++;
  r.tid = state->tid;
  r.event = static_cast<uint16_t>(d.event);
  r.role = static_cast<uint16_t>(state->role);
  r.marks = static_cast<uint16_t>(d.marks);
  Write(r);

  state->rank.store(d.rank, std::memory_order_relaxed);
  state->waiting.store(true, std::memory_order_relaxed);
  if (d.delay > 0) {
    SleepUntil(began_ + elapsed + d.delay);
    const uint64_t late = Elapsed() - elapsed - d.delay;
    file_->histograms[MISSTEP_HISTOGRAM_CHOSEN][misstep_bucket(d.delay)].fetch_add(1, std::memory_order_relaxed);
    file_->histograms[MISSTEP_HISTOGRAM_LATE][misstep_bucket(late)].fetch_add(1, std::memory_order_relaxed);
    count(MISSTEP_STAT_RELEASED, true);
  }
  if (d.rank > 0) {
    const uint64_t waited = LetPass(*state, d.rank);
    file_->histograms[MISSTEP_HISTOGRAM_WAIT][misstep_bucket(waited)].fetch_add(1, std::memory_order_relaxed);
    count(MISSTEP_STAT_OVERTAKEN, waited > 0);
  }
  // A short slice ended: the CPU is given up, whoever takes it.
  if ((d.marks & MISSTEP_MARK_SHORT) != 0 && event == MISSTEP_EVENT_EXPIRY) {
    sched_yield();
    count(MISSTEP_STAT_FORCED, true);
  }
  state->waiting.store(false, std::memory_order_relaxed);
  state->seen.store(Elapsed() | 1, std::memory_order_relaxed);
  return static_cast<int64_t>(d.slice / kNanosPerEntry) + 1;
}

// Waits for at most rank while a thread that ranks before this one runs. Returns how long.
uint64_t Perturber::LetPass(const PointState& state, uint64_t rank) {
  const uint64_t began = Elapsed();
  for (uint64_t now = began; now < began + rank; now = Elapsed()) {
    bool somebody = false;
    for (size_t i = 0; i < count_() && !somebody; i++) {
      const PointState* other = at_(i);
      if (other == nullptr || other == &state) continue;
      const uint64_t seen = other->seen.load(std::memory_order_relaxed);
      somebody = seen != 0 && seen + kAlive > now && !other->waiting.load(std::memory_order_relaxed) &&
                 other->rank.load(std::memory_order_relaxed) < rank;
    }
    if (!somebody) return now - began;
    SleepUntil(began_ + now + kLookNanos);
  }
  return rank;
}

void Perturber::Write(const misstep_record& record) {
  const uint64_t i = file_->count.fetch_add(1, std::memory_order_relaxed);
  if (i < MISSTEP_SCHEDULE_CAPACITY) {
    file_->records[i] = record;
  } else {
    file_->stats[MISSTEP_STAT_LOST].fetch_add(1, std::memory_order_relaxed);
  }
}

}  // namespace misstep
