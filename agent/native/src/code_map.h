// The code map: the locations of compiled methods and stubs, from JVMTI's CompiledMethodLoad and DynamicCodeGenerated.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compare.h"
#include "lock.h"

namespace misstep {

// Builds an Nmethod from the positions that CompiledMethodLoad lists, keeping each distinct one once.
class NmethodBuilder {
 public:
  NmethodBuilder(uint64_t start, uint64_t size, uint64_t method);
  // Adds one position: frames top first, the compiled method last. info of each frame may be null.
  void Add(std::span<const Frame> frames);
  Nmethod Take() {
    nmethod_.nodes.shrink_to_fit();
    nmethod_.methods.shrink_to_fit();
    return std::move(nmethod_);
  }

 private:
  struct Hash {
    size_t operator()(const std::pair<int32_t, std::pair<uint64_t, int32_t>>& k) const {
      return static_cast<size_t>((k.second.first ^ static_cast<uint64_t>(k.second.second) << 40) * 0x9e3779b97f4a7c15 +
                                 static_cast<uint64_t>(k.first));
    }
  };
  Nmethod nmethod_;
  std::unordered_map<std::pair<int32_t, std::pair<uint64_t, int32_t>>, int32_t, Hash> nodes_;
};

// Reads bytes of this process that may be unmapped, without a fault, and returns how many. Async-signal-safe.
uint32_t ReadCode(uint64_t pc, uint8_t* to, uint32_t size);

// Whether a call instruction ends at address (x86-64; others: always true). Async-signal-safe.
bool BehindCall(uint64_t address);

// The locations of the stubs that deoptimise a frame, readable without a lock.
class DeoptStubs {
 public:
  // Adds a stub if it is one of them.
  void Add(std::string_view name, uint64_t start, uint64_t size);
  // Whether a return address into one of them may be in [from, to) of the calling thread's stack: memory that a frame
  // has not written yet may hold a stale one. Reads all of it, but only after -9, which is rare. Async-signal-safe.
  bool OnStack(uint64_t from, uint64_t to) const;
  // Whether the code at an address in compiled code is its deoptimisation entry (HotSpot: emit_deopt_handler). Knows
  // only the forms of x86-64. Where process_vm_readv is forbidden there is none.
  bool IsEntry(uint64_t address) const;

 private:
  struct Range {
    std::atomic<uint64_t> start = 0;
    std::atomic<uint64_t> end = 0;  // 0: there is none
    std::atomic<bool> unpacks = false;
  };
  const Range* At(uint64_t address) const;

  // One of each on every JDK; AOT code may bring a second.
  Range ranges_[4];
  std::atomic<size_t> count_ = 0;
};

// A word of a stack that may point at code, and its address.
struct StackWord {
  uint64_t at = 0;
  uint64_t value = 0;
};

// The machine state that the handler saw: registers, code at pc, return addresses.
struct Spot {
  uint64_t pc = 0;
  uint64_t sp = 0;
  uint64_t fp = 0;
  uint8_t code[16] = {};
  uint32_t code_size = 0;
  // next_code: the next return address into generated code on the stack; if pc is in generated code itself, only one on
  // top of the stack; empty if there is none. returns: if pc is in other code, the first such return address in the
  // chain of frame pointers.
  StackWord next_code;
  StackWord returns;
  uint64_t original = 0;          // where that return address is on the stack once more (CodeMap::Original)
  uint8_t return_code[256] = {};  // a barrier's slow path restores up to 31 registers there
  uint32_t return_size = 0;

  std::span<const uint8_t> Code() const { return {code, code_size}; }
  std::span<const uint8_t> ReturnCode() const { return {return_code, return_size}; }
};

class CodeMap final : public CodeLookup {
 public:
  // Adds compiled code. Older code in its range is retired.
  void Load(Nmethod nmethod, uint32_t key, uint64_t now_nanos);
  // Retires the code that starts at start: it is still found for kKeepNanos.
  void Unload(uint64_t start, uint64_t now_nanos);
  // Adds a stub, an adapter or the interpreter.
  void AddStub(std::string_view name, uint64_t start, uint64_t size);

  // The region of pc, and the compiled code there, live or recently retired.
  Region Find(uint64_t pc, std::vector<NmethodRef>* at_pc) const;
  // Whether an address is within the bounds of all known code. Async-signal-safe.
  bool MayHold(uint64_t address) const {
    return address >= low_.load(std::memory_order_relaxed) && address < high_.load(std::memory_order_relaxed);
  }
  // The name of the stub at pc, empty if there is none.
  std::string StubAt(uint64_t pc) const;

  // Copies the words of the calling thread's stack in [from, to) that may point at code, from the top on, as many as
  // there is room for, and returns their number. Async-signal-safe.
  uint32_t WordsOnStack(uint64_t from, uint64_t to, std::span<StackWord> words) const;
  // The first return address into code on the calling thread's stack in [from, to): a word that points right after a
  // call. Empty if it is not among the next kNearWords. Async-signal-safe.
  StackWord NextReturn(uint64_t from, uint64_t to) const;
  // The first return address into code in the chain of frame pointers that begins with fp, on the calling thread's
  // stack [from, to). Empty if the chain leads elsewhere or is longer than kMostFrames. Async-signal-safe.
  StackWord Returns(uint64_t fp, uint64_t from, uint64_t to) const;
  // Where C code that aligns its stack to 32 or 64 bytes for vectors found the return address that it copied: 16, 32,
  // 48 or 64 bytes above the copy and below to. 0 if the copy is not the first word below such an alignment or the
  // address is not there. Async-signal-safe.
  static uint64_t Original(const StackWord& copy, uint64_t to);
  // The first code that fits among code that was deoptimised during a call: then the return address, one of words, is
  // the deoptimisation entry. All activations of such code have it, so even a stale word of the stack identifies the
  // same code. Null if there is none.
  NmethodRef Deoptimised(std::span<const StackWord> words, const DeoptStubs& stubs,
                         const std::function<bool(const Nmethod&)>& fits) const;

  std::vector<NmethodRef> OfMethod(uint64_t method) const override;
  std::vector<NmethodRef> OfKey(uint32_t key) const override;

  // How long retired code is kept: longer than a sample waits to be judged (kMostEarlyNanos).
  static constexpr uint64_t kKeepNanos = 6'000'000'000;
  // Words of a stack that a sample keeps: those of some thousand frames. Unused ones take no memory.
  static constexpr uint32_t kMostWords = 4096;
  static constexpr uint32_t kNearWords = 64;
  static constexpr uint32_t kMostFrames = 64;

 private:
  struct Stub {
    uint64_t size;
    std::string name;
  };
  struct Retired {
    NmethodRef nmethod;
    uint64_t when;
  };
  void Retire(std::map<uint64_t, NmethodRef>::iterator it, uint64_t now_nanos) REQUIRES(mutex_);
  void Forget(uint64_t now_nanos) REQUIRES(mutex_);
  static void Drop(std::vector<NmethodRef>* list, const Nmethod* nmethod);
  void Widen(uint64_t start, uint64_t size) REQUIRES(mutex_);
  // The compiled code that contains address, or precedes it, as code precedes its handlers; null if there is none.
  NmethodRef Nearest(uint64_t address) const;

  mutable Mutex mutex_;
  std::map<uint64_t, NmethodRef> live_ GUARDED_BY(mutex_);  // by start
  std::deque<Retired> retired_ GUARDED_BY(mutex_);
  std::unordered_map<uint64_t, std::vector<NmethodRef>> of_method_ GUARDED_BY(mutex_);
  std::unordered_map<uint32_t, std::vector<NmethodRef>> of_key_ GUARDED_BY(mutex_);
  std::unordered_map<const Nmethod*, uint32_t> keys_ GUARDED_BY(mutex_);
  std::map<uint64_t, Stub> stubs_ GUARDED_BY(mutex_);
  std::atomic<uint64_t> low_ = UINT64_MAX;  // bounds of all code seen
  std::atomic<uint64_t> high_ = 0;
};

}  // namespace misstep
