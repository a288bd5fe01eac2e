// sites.bin (abi.h): what the instructions of each class's methods can call, for who judges a recording's stack traces
// after the JVM's end. Each class is written at once, so that a JVM that dies leaves all that it has prepared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "lock.h"
#include "methods.h"

namespace misstep {

class SiteFile {
 public:
  // Creates the file. Returns an empty string or one line with the error.
  std::string Create(const std::string& path);
  bool on() const { return on_; }
  // Appends a class as it is now, unless it has been written like this.
  void Class(std::string_view name, const ClassFacts& facts, std::span<const PreparedMethod> methods);
  // Notes that a class of this name was redefined, and returns how often that was.
  uint32_t Redefined(std::string_view name);
  // The classes that were redefined at most this often.
  std::vector<std::string> RedefinedAtMost(uint32_t times) const;

 private:
  // Bytes of records and of values.
  class Bytes;
  uint32_t Number(std::string_view text) REQUIRES(mutex_);
  void Targets(Bytes* out, std::string_view self, const ConstantPool& pool, std::span<const PreparedMethod> methods,
               std::unordered_map<uint16_t, uint32_t>* numbers) REQUIRES(mutex_);
  void Append(uint8_t tag, std::string_view payload) REQUIRES(mutex_);
  void Write() REQUIRES(mutex_);

  bool on_ = false;
  mutable Mutex mutex_;
  int fd_ GUARDED_BY(mutex_) = -1;  // -1 once it is full or cannot be written
  uint64_t size_ GUARDED_BY(mutex_) = 0;
  std::string pending_ GUARDED_BY(mutex_);  // whole records, written together
  std::unordered_map<std::string, uint32_t> numbers_ GUARDED_BY(mutex_);
  std::unordered_set<size_t> written_ GUARDED_BY(mutex_);  // hashes of classes
  std::unordered_map<std::string, uint32_t> redefined_ GUARDED_BY(mutex_);
};

}  // namespace misstep
