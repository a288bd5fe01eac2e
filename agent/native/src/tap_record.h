// Records of tapped calls on their way from a ring to tap.bin: methods get names, addresses the kind of code there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "code_map.h"
#include "methods.h"
#include "tap_buffer.h"
#include "tap_file.h"

namespace misstep {

// For one thread.
class TapRecords {
 public:
  // How long a call waits for the JVM to announce what it shows, and how many bytes of calls may wait.
  static constexpr uint64_t kWaitNanos = 250'000'000;
  static constexpr size_t kMostWaiting = 16 << 20;

  TapRecords(const MethodTable& methods, const CodeMap& code, TapFile* file)
      : methods_(methods), code_(code), file_(file) {}

  // Appends a call, a record of a ring, to the file. One that shows code or a method that the JVM has not announced yet
  // waits.
  void Add(std::span<const uint8_t> call, uint64_t now_nanos);
  // Appends a time that a thread stood.
  void AddStill(const TapStill& still, std::span<const uint32_t> entries);
  // Appends the calls that have waited long enough; at the end all.
  void Settle(uint64_t now_nanos, bool end);

 private:
  struct Waiting {
    std::vector<uint64_t> words;
    uint64_t since_nanos;
  };
  static TapCall* CallOf(std::vector<uint64_t>* words) { return reinterpret_cast<TapCall*>(words->data()); }
  bool Resolve(TapCall* call);
  void NameEntries(std::span<const uint32_t> ids);
  uint32_t IdOf(uint64_t method);
  void Append(TapCall* call);

  const MethodTable& methods_;
  const CodeMap& code_;
  TapFile* file_;
  std::vector<bool> named_;                     // by id of an entry
  std::unordered_map<uint64_t, uint32_t> ids_;  // by jmethodID
  std::deque<Waiting> waiting_;
  size_t waiting_bytes_ = 0;
};

}  // namespace misstep
