#include "tap_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>

#include "clock.h"
#include "log.h"

namespace misstep {

static_assert(sizeof(TapHeader) == MISSTEP_TAP_HEADER);
static_assert(offsetof(TapHeader, magic) == MISSTEP_TAP_MAGIC_OFFSET);
static_assert(offsetof(TapHeader, version) == MISSTEP_TAP_VERSION_OFFSET);
static_assert(offsetof(TapHeader, pid) == MISSTEP_TAP_PID_OFFSET);
static_assert(offsetof(TapHeader, flags) == MISSTEP_TAP_FLAGS_OFFSET);
static_assert(offsetof(TapHeader, ticks) == MISSTEP_TAP_TICKS_OFFSET);
static_assert(offsetof(TapHeader, signals) == MISSTEP_TAP_SIGNALS_OFFSET);
static_assert(offsetof(TapHeader, calls) == MISSTEP_TAP_CALLS_OFFSET);
static_assert(offsetof(TapHeader, lost) == MISSTEP_TAP_LOST_OFFSET);
static_assert(offsetof(TapHeader, architecture) == MISSTEP_TAP_ARCHITECTURE_OFFSET);

#if defined(__x86_64__)
constexpr uint32_t kTicks = MISSTEP_TAP_TICKS_TSC;
constexpr uint32_t kArchitecture = MISSTEP_TAP_AMD64;
uint64_t Ticks() { return __builtin_ia32_rdtsc(); }
#elif defined(__aarch64__)
constexpr uint32_t kTicks = MISSTEP_TAP_TICKS_CNTVCT;
constexpr uint32_t kArchitecture = MISSTEP_TAP_ARM64;
uint64_t Ticks() {
  uint64_t ticks;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
}
#else
#error "the architecture of the instructions is not known here"
#endif

std::string TapFile::Create(const std::string& path, const uint32_t (&signals)[MISSTEP_TAP_COUNT]) {
  fd_ = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd_ < 0) return "cannot create " + path + ": " + std::strerror(errno);
  const int full = posix_fallocate(fd_, 0, MISSTEP_TAP_HEADER);
  if (full != 0) return "cannot reserve " + path + ": " + std::strerror(full);
  void* memory = mmap(nullptr, MISSTEP_TAP_HEADER, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (memory == MAP_FAILED) return "cannot map " + path + ": " + std::strerror(errno);
  header_ = static_cast<TapHeader*>(memory);
  header_->version = MISSTEP_TAP_VERSION;
  header_->pid = static_cast<uint32_t>(getpid());
  header_->ticks = kTicks;
  header_->architecture = kArchitecture;
  for (int i = 0; i < MISSTEP_TAP_COUNT; i++) header_->signals[i] = signals[i];
  header_->magic = MISSTEP_TAP_MAGIC;
  return "";
}

template <typename T>
void TapFile::Put(T value) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
  bytes_.insert(bytes_.end(), bytes, bytes + sizeof(value));
}

void TapFile::Call(std::span<const uint8_t> record) {
  bytes_.insert(bytes_.end(), record.begin(), record.end());
  calls_++;
}

void TapFile::Name(uint32_t id, std::string_view text) {
  const size_t size = (MISSTEP_TAP_NAME_SIZE + text.size() + 7) / 8 * 8;
  Put(static_cast<uint32_t>(size));
  Put(uint32_t{MISSTEP_TAP_NAME});
  Put(id);
  Put(static_cast<uint32_t>(text.size()));
  bytes_.insert(bytes_.end(), text.begin(), text.end());
  bytes_.resize(bytes_.size() + size - MISSTEP_TAP_NAME_SIZE - text.size());
}

void TapFile::Clock() {
  struct {
    uint64_t monotonic, realtime, ticks, took;
  } best = {0, 0, 0, UINT64_MAX};
  for (int i = 0; i < 5; i++) {  // the attempt that was interrupted least
    const uint64_t before = MonotonicNanos();
    const uint64_t ticks = Ticks();
    timespec real = {};
    clock_gettime(CLOCK_REALTIME, &real);
    const uint64_t after = MonotonicNanos();
    if (after - before >= best.took) continue;
    best = {before + (after - before) / 2,
            static_cast<uint64_t>(real.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(real.tv_nsec), ticks,
            after - before};
  }
  Put(uint32_t{MISSTEP_TAP_CLOCK_SIZE});
  Put(uint32_t{MISSTEP_TAP_CLOCK});
  Put(best);
}

void TapFile::Still(const TapStill& still, std::span<const uint32_t> entries) {
  static_assert(sizeof(TapStill) + 8 == MISSTEP_TAP_STILL_SIZE);
  const size_t padded = (entries.size() + 1) / 2 * 2;
  Put(static_cast<uint32_t>(MISSTEP_TAP_STILL_SIZE + padded * sizeof(uint32_t)));
  Put(uint32_t{MISSTEP_TAP_STILL});
  Put(still);
  for (const uint32_t entry : entries) Put(entry);
  if (padded != entries.size()) Put(uint32_t{0});
}

void TapFile::Handler(uint32_t signal, uint32_t generation, uint64_t address, uint64_t sa_flags) {
  Put(uint32_t{MISSTEP_TAP_HANDLER_SIZE});
  Put(uint32_t{MISSTEP_TAP_HANDLER});
  Put(signal);
  Put(generation);
  Put(MonotonicNanos());
  Put(address);
  Put(sa_flags);
}

void TapFile::Flush() {
  bool written = size_ + bytes_.size() <= MISSTEP_TAP_MOST_BYTES;
  for (size_t done = 0; written && done < bytes_.size();) {
    const ssize_t n = pwrite(fd_, bytes_.data() + done, bytes_.size() - done, static_cast<off_t>(size_ + done));
    if (n == 0 || (n < 0 && errno != EINTR)) written = false;
    if (n > 0) done += static_cast<size_t>(n);
  }
  if (written) {
    size_ += bytes_.size();
  } else {
    header_->lost[MISSTEP_TAP_LOST_FILE].fetch_add(calls_, std::memory_order_relaxed);
    if (size_ < MISSTEP_TAP_MOST_BYTES && ftruncate(fd_, static_cast<off_t>(size_)) != 0) {
      Log(std::string("tap.bin ends with an incomplete record: ") + std::strerror(errno));
    }
    size_ = MISSTEP_TAP_MOST_BYTES;
  }
  bytes_.clear();
  calls_ = 0;
}

}  // namespace misstep
