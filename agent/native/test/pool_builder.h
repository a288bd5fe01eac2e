// Builds the bytes of a constant pool for tests.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace misstep {

class PoolBuilder {
 public:
  const std::vector<uint8_t>& bytes() const { return bytes_; }
  uint32_t count() const { return next_; }

  uint16_t Long() {
    bytes_.insert(bytes_.end(), {5, 0, 0, 0, 0, 0, 0, 0, 1});
    next_ = static_cast<uint16_t>(next_ + 2);
    return static_cast<uint16_t>(next_ - 2);
  }
  // tag: 10 Methodref, 11 InterfaceMethodref.
  uint16_t Method(std::string_view owner, std::string_view name, std::string_view descriptor, uint8_t tag = 10) {
    const uint16_t text = Utf8(owner);
    bytes_.insert(bytes_.end(), {7, High(text), Low(text)});
    const uint16_t klass = next_++;
    return Pair(tag, klass, Pair(12, Utf8(name), Utf8(descriptor)));
  }
  uint16_t Dynamic(std::string_view name, std::string_view descriptor) {
    return Pair(18, 0, Pair(12, Utf8(name), Utf8(descriptor)));
  }

 private:
  static uint8_t High(uint16_t v) { return static_cast<uint8_t>(v >> 8); }
  static uint8_t Low(uint16_t v) { return static_cast<uint8_t>(v); }
  uint16_t Utf8(std::string_view text) {
    const auto size = static_cast<uint16_t>(text.size());
    bytes_.insert(bytes_.end(), {1, High(size), Low(size)});
    bytes_.insert(bytes_.end(), text.begin(), text.end());
    return next_++;
  }
  uint16_t Pair(uint8_t tag, uint16_t a, uint16_t b) {
    bytes_.insert(bytes_.end(), {tag, High(a), Low(a), High(b), Low(b)});
    return next_++;
  }

  std::vector<uint8_t> bytes_;
  uint16_t next_ = 1;
};

}  // namespace misstep
