#include "status.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace misstep {

static_assert(offsetof(StatusFile, magic) == MISSTEP_STATUS_MAGIC_OFFSET);
static_assert(offsetof(StatusFile, version) == MISSTEP_STATUS_VERSION_OFFSET);
static_assert(offsetof(StatusFile, size) == MISSTEP_STATUS_SIZE_OFFSET);
static_assert(offsetof(StatusFile, pid) == MISSTEP_STATUS_PID_OFFSET);
static_assert(offsetof(StatusFile, flags) == MISSTEP_STATUS_FLAGS_OFFSET);
static_assert(offsetof(StatusFile, sent) == MISSTEP_STATUS_SENT_OFFSET);
static_assert(offsetof(StatusFile, delivered) == MISSTEP_STATUS_DELIVERED_OFFSET);
static_assert(offsetof(StatusFile, answered) == MISSTEP_STATUS_ANSWERED_OFFSET);
static_assert(offsetof(StatusFile, instrumented) == MISSTEP_STATUS_INSTRUMENTED_OFFSET);
static_assert(offsetof(StatusFile, failed) == MISSTEP_STATUS_FAILED_OFFSET);
static_assert(offsetof(StatusFile, stray) == MISSTEP_STATUS_STRAY_OFFSET);
static_assert(offsetof(StatusFile, heartbeat) == MISSTEP_STATUS_HEARTBEAT_OFFSET);
static_assert(offsetof(StatusFile, second) == MISSTEP_STATUS_SECOND_OFFSET);
static_assert(offsetof(StatusFile, traced) == MISSTEP_STATUS_TRACED_OFFSET);
static_assert(offsetof(StatusFile, guessed) == MISSTEP_STATUS_GUESSED_OFFSET);
static_assert(offsetof(StatusFile, virtual_samples) == MISSTEP_STATUS_VIRTUAL_OFFSET);
static_assert(offsetof(StatusFile, virtual_judged) == MISSTEP_STATUS_VIRTUAL_JUDGED_OFFSET);
static_assert(offsetof(StatusFile, virtual_cut) == MISSTEP_STATUS_VIRTUAL_CUT_OFFSET);
static_assert(offsetof(StatusFile, checks) == MISSTEP_STATUS_HEADER);
static_assert(sizeof(CheckStatus) == MISSTEP_CHECK_SIZE);
static_assert(offsetof(CheckStatus, total) == MISSTEP_CHECK_TOTAL_OFFSET);
static_assert(offsetof(CheckStatus, match) == MISSTEP_CHECK_MATCH_OFFSET);
static_assert(offsetof(CheckStatus, mismatch) == MISSTEP_CHECK_MISMATCH_OFFSET);
static_assert(offsetof(CheckStatus, unwalkable) == MISSTEP_CHECK_UNWALKABLE_OFFSET);
static_assert(offsetof(CheckStatus, tolerated) == MISSTEP_CHECK_TOLERATED_OFFSET);
static_assert(offsetof(CheckStatus, voided) == MISSTEP_CHECK_VOID_OFFSET);
static_assert(sizeof(ThreadStatus) == MISSTEP_THREAD_SIZE);
static_assert(offsetof(ThreadStatus, phase) == MISSTEP_THREAD_PHASE_OFFSET);
static_assert(offsetof(ThreadStatus, enter_nanos) == MISSTEP_THREAD_ENTER_OFFSET);
static_assert(offsetof(ThreadStatus, sequence) == MISSTEP_THREAD_SEQUENCE_OFFSET);
static_assert(offsetof(ThreadStatus, pc) == MISSTEP_THREAD_PC_OFFSET);
static_assert(offsetof(ThreadStatus, sp) == MISSTEP_THREAD_SP_OFFSET);
static_assert(static_cast<int>(Rule::kCount) - 1 <= MISSTEP_CHECK_TOLERATED_COUNT);
static_assert(static_cast<int>(Reason::kCount) - 1 <= MISSTEP_CHECK_VOID_COUNT);
static_assert(std::atomic<uint64_t>::is_always_lock_free);

StatusFile* CreateStatus(const std::string& path, std::string* error) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) {
    *error = "cannot create " + path + ": " + std::strerror(errno);
    return nullptr;
  }
  // posix_fallocate: a full disk is an error now, not a SIGBUS later.
  const int full = posix_fallocate(fd, 0, sizeof(StatusFile));
  if (full != 0) {
    *error = "cannot reserve " + path + ": " + std::strerror(full);
    close(fd);
    return nullptr;
  }
  void* memory = mmap(nullptr, sizeof(StatusFile), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) {
    *error = "cannot map " + path + ": " + std::strerror(errno);
    close(fd);
    return nullptr;
  }
  close(fd);
  auto* status = static_cast<StatusFile*>(memory);  // the kernel gives zeroed pages: every counter starts at 0
  status->version = MISSTEP_ABI_VERSION;
  status->size = sizeof(StatusFile);
  status->pid = static_cast<uint32_t>(getpid());
  for (int i = 0; i < MISSTEP_CHECK_COUNT; i++) {
    CheckStatus& check = status->checks[i];
    std::strncpy(check.name, kCheckNames[i], sizeof(check.name) - 1);
    for (int r = 1; r < static_cast<int>(Rule::kCount); r++) {
      std::strncpy(check.tolerated[r - 1].name, kRuleNames[r], sizeof(NamedCount::name) - 1);
    }
    for (int r = 1; r < static_cast<int>(Reason::kCount); r++) {
      std::strncpy(check.voided[r - 1].name, kReasonNames[r], sizeof(NamedCount::name) - 1);
    }
  }
  status->magic = MISSTEP_STATUS_MAGIC;
  return status;
}

void Count(StatusFile* status, Check check, const Verdict& verdict, uint64_t times) {
  CheckStatus& c = status->checks[static_cast<int>(check)];
  const auto add = [times](std::atomic<uint64_t>& counter) { counter.fetch_add(times, std::memory_order_relaxed); };
  add(c.total);
  switch (verdict.outcome) {
    case Outcome::kMatch:
      add(c.match);
      break;
    case Outcome::kTolerated:
      add(c.tolerated[static_cast<int>(verdict.rule) - 1].count);
      break;
    case Outcome::kMismatch:
      add(c.mismatch);
      break;
    case Outcome::kUnwalkable: {
      int index = -verdict.code;
      if (index < 0 || index >= MISSTEP_CHECK_UNWALKABLE_COUNT) index = MISSTEP_CHECK_UNWALKABLE_COUNT - 1;
      add(c.unwalkable[index]);
      break;
    }
    case Outcome::kVoid:
    case Outcome::kUnspecified:
      add(c.voided[static_cast<int>(verdict.reason) - 1].count);
      break;
  }
}

}  // namespace misstep
