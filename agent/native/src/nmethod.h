// Compiled code as the comparisons see it: the positions that the VM knows in it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "frame.h"

namespace misstep {

// A position in compiled code: a frame and its caller in the same code. parent is an index into nodes, -1 at the
// compiled method itself; method one into methods. There are hundreds of thousands of these in a large program.
struct InlineNode {
  int32_t parent = -1;
  int32_t bci = 0;
  uint32_t method = 0;
};

// One compiled method as CompiledMethodLoad described it. Each node is a position that the VM knows.
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
  // Whether one of its positions is what stands at the head of these frames, top first.
  bool Begins(std::span<const Frame> frames) const;
  // Whether the entries of one of its positions are the newest of these, bottom first. Of a position that has none
  // nothing can be said: bare is its answer.
  bool Ends(std::span<const uint32_t> shadow, bool bare) const;
  // Whether the instruction of one of its positions calls a method of that name and descriptor.
  bool Calls(const MethodInfo& callee) const;
};
using NmethodRef = std::shared_ptr<const Nmethod>;

// What the signal's pc points at.
enum class Region : uint8_t {
  kUnknown,  // in the code cache, where no event has described any code
  kInterpreter,
  kStub,
  kCompiled,
  kNative,  // outside of the code cache
};
inline constexpr const char* kRegionNames[] = {"", "interpreted", "stub", "compiled", "native"};

// Compiled code to ask for.
class CodeLookup {
 public:
  // Compiled versions of a method, live ones and lately unloaded ones.
  virtual std::vector<NmethodRef> OfMethod(uint64_t method) const = 0;
  // The same by key of an instrumented method.
  virtual std::vector<NmethodRef> OfKey(uint32_t key) const = 0;

 protected:
  ~CodeLookup() = default;
};

// Whether a frame stands at a position of code, which also holds for another version of the method that it was compiled
// of.
bool IsAt(const Frame& position, const Frame& frame);

}  // namespace misstep
