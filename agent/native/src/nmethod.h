// Compiled code as the comparisons use it: the positions in it that have debug info.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "frame.h"

namespace misstep {

// A position in compiled code: a frame and its caller in the same code. parent is an index into nodes, -1 for the
// compiled method itself; method is an index into methods. A large program has hundreds of thousands of these.
struct InlineNode {
  int32_t parent = -1;
  int32_t bci = 0;
  uint32_t method = 0;
};

// One compiled method as CompiledMethodLoad described it. Each node is a position with debug info.
struct Nmethod {
  uint64_t start = 0;
  uint64_t size = 0;
  uint64_t method = 0;
  std::vector<InlineNode> nodes;
  std::vector<Frame> methods;  // of the nodes, each once; no bci

  // Adds a position and returns its node.
  int32_t Add(int32_t parent, const Frame& frame);
  Frame At(size_t node) const;
  // The frames of a position, top first, the compiled method last.
  std::vector<Frame> Chain(size_t node) const;
  // Whether these frames, top first, begin with the frames of one of its positions.
  bool Begins(std::span<const Frame> frames) const;
  // Whether these entries, bottom first, end with the entries of one of its positions. bare is the result for a
  // position without entries, of which nothing is known.
  bool Ends(std::span<const uint32_t> shadow, bool bare) const;
  // Whether the instruction of one of its positions calls a method of that name and descriptor.
  bool Calls(const MethodInfo& callee) const;
};
using NmethodRef = std::shared_ptr<const Nmethod>;

// The kind of code that the signal's pc is in.
enum class Region : uint8_t {
  kUnknown,  // in the code cache, where no event has described any code
  kInterpreter,
  kStub,
  kCompiled,
  kNative,  // outside of the code cache
};
inline constexpr const char* kRegionNames[] = {"", "interpreted", "stub", "compiled", "native"};

// A lookup of compiled code.
class CodeLookup {
 public:
  // Compiled versions of a method, live and recently unloaded ones.
  virtual std::vector<NmethodRef> OfMethod(uint64_t method) const = 0;
  // The same by key of an instrumented method.
  virtual std::vector<NmethodRef> OfKey(uint32_t key) const = 0;

 protected:
  ~CodeLookup() = default;
};

// Whether a frame is at a position of code, which also holds for another version of the method that the code was
// compiled from.
bool IsAt(const Frame& position, const Frame& frame);

}  // namespace misstep
