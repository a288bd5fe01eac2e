// tap.bin (abi.h): the header, which is mapped, and the records, which are appended.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "../../abi.h"

namespace misstep {

struct TapHeader {
  std::atomic<uint64_t> magic;
  uint32_t version;
  uint32_t pid;
  std::atomic<uint32_t> flags;
  uint32_t ticks;
  uint32_t signals[MISSTEP_TAP_COUNT];
  std::atomic<uint64_t> calls[MISSTEP_TAP_COUNT];
  std::atomic<uint64_t> lost[MISSTEP_TAP_LOST_COUNT];
  uint32_t architecture;
  uint8_t reserved[MISSTEP_TAP_HEADER - 84];
};

// A time that a thread stood: a record of abi.h without size, kind and entries.
struct TapStill {
  uint32_t tid = 0;
  uint32_t flags = 0;
  uint32_t entries = 0;
  uint32_t depth = 0;
  uint64_t since_nanos = 0;
  uint64_t until_nanos = 0;
  uint64_t since_ticks = 0;
  uint64_t until_ticks = 0;
};

// The counter that JFR takes its times from on x86, where the processor's is invariant. 0 on machines without one.
// Async-signal-safe.
uint64_t Ticks();

class TapFile {
 public:
  // Creates the file. Returns an empty string or one line with the error.
  std::string Create(const std::string& path, const uint32_t (&signals)[MISSTEP_TAP_COUNT]);
  // Null until it is created.
  TapHeader* header() const { return header_; }

  // Append a record, to be written by the next Flush. For one thread.
  void Call(std::span<const uint8_t> record);
  void Name(uint32_t id, std::string_view text);
  void Clock();
  void Still(const TapStill& still, std::span<const uint32_t> entries);
  void Handler(uint32_t signal, uint32_t generation, uint64_t address, uint64_t sa_flags);
  // Writes what was appended. From the first time on that this has no room or fails, calls are lost: what follows would
  // lack names that are lost, too.
  void Flush();

 private:
  template <typename T>
  void Put(T value);

  int fd_ = -1;
  TapHeader* header_ = nullptr;
  std::vector<uint8_t> bytes_;
  uint64_t calls_ = 0;  // in bytes_
  uint64_t size_ = MISSTEP_TAP_HEADER;
};

}  // namespace misstep
