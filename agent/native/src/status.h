// The flight record: a mapped file that survives the process, with the counts of all verdicts and each thread's state.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "../../abi.h"
#include "verdict.h"

namespace misstep {

// One named counter.
struct NamedCount {
  char name[MISSTEP_CHECK_NAMED_SIZE - 8];
  std::atomic<uint64_t> count;
};

// One check. The verdicts add up to total once everything has been judged.
struct CheckStatus {
  char name[MISSTEP_CHECK_NAME];
  std::atomic<uint64_t> total;
  std::atomic<uint64_t> match;
  std::atomic<uint64_t> mismatch;
  std::atomic<uint64_t> unwalkable[MISSTEP_CHECK_UNWALKABLE_COUNT];
  NamedCount tolerated[MISSTEP_CHECK_TOLERATED_COUNT];
  NamedCount voided[MISSTEP_CHECK_VOID_COUNT];
  uint8_t
      reserved[MISSTEP_CHECK_SIZE - MISSTEP_CHECK_VOID_OFFSET - MISSTEP_CHECK_VOID_COUNT * MISSTEP_CHECK_NAMED_SIZE];
};

// The state of one thread. Written only by that thread.
struct ThreadStatus {
  std::atomic<uint32_t> tid;
  std::atomic<uint32_t> phase;
  std::atomic<uint64_t> enter_nanos;
  std::atomic<uint64_t> sequence;
  std::atomic<uint64_t> pc;
  std::atomic<uint64_t> sp;
  uint8_t reserved[MISSTEP_THREAD_SIZE - 40];
};

struct StatusFile {
  uint64_t magic;
  uint32_t version;
  uint32_t size;
  uint32_t pid;
  std::atomic<uint32_t> flags;
  uint64_t reserved0;
  std::atomic<uint64_t> sent;
  std::atomic<uint64_t> delivered;
  std::atomic<uint64_t> answered;
  std::atomic<uint64_t> instrumented;
  std::atomic<uint64_t> failed;
  std::atomic<uint64_t> stray;
  std::atomic<uint64_t> heartbeat;
  std::atomic<uint64_t> second;
  std::atomic<uint64_t> traced;
  std::atomic<uint64_t> guessed;
  std::atomic<uint64_t> virtual_samples;
  std::atomic<uint64_t> virtual_judged;
  std::atomic<uint64_t> virtual_cut;
  uint8_t reserved1[MISSTEP_STATUS_HEADER - 136];
  CheckStatus checks[MISSTEP_CHECK_COUNT];
  ThreadStatus threads[MISSTEP_THREAD_COUNT];
};

// Maps path as a new flight record. On failure returns nullptr, with one line in *error.
StatusFile* CreateStatus(const std::string& path, std::string* error);

// Counts a verdict of a check that so many observations have.
void Count(StatusFile* status, Check check, const Verdict& verdict, uint64_t times = 1);

}  // namespace misstep
