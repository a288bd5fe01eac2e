// Buffers between the threads whose signals are tapped and the thread that writes tap.bin: a ring of records for each
// thread, found by the thread's id. Bounded and without locks: where there is no room a record is lost, never waited
// for.
//
// A thread's records may nest, as one signal interrupts another's handler: room is reserved at once, and a record
// counts only when it is complete.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "../../abi.h"

namespace misstep {

// What follows a call: entries of the shadow, frames of AsyncGetCallTrace, bytes of return code.
struct TapRoom {
  uint32_t entries = 0;
  uint32_t frames = 0;
  uint32_t return_size = 0;
};

// A frame as AsyncGetCallTrace returns it (asgct.h).
struct TapFrame {
  int32_t bci;
  uint64_t method;
};

// A record of a call in a ring, as abi.h has it, except that frames have their jmethodIDs and that states and the
// compiled method are not known yet.
struct TapCall {
  std::atomic<uint64_t> head;  // u32 size and u32 kind, 0 while it is being written
  uint32_t tid;
  uint32_t signal;
  uint32_t flags;
  uint32_t entries;
  uint32_t depth;
  uint32_t generation;
  uint32_t nested;
  uint32_t phase;
  uint64_t pc;
  uint64_t sp;
  uint64_t fp;
  uint64_t enter_nanos;
  uint64_t begin_nanos;
  uint64_t end_nanos;
  uint64_t begin_ticks;
  uint64_t end_ticks;
  uint8_t code[MISSTEP_TAP_CALL_CODE_BYTES];
  uint32_t code_size;
  uint32_t return_size;
  uint64_t return_at;
  uint64_t return_pc;
  uint32_t state;
  uint32_t return_state;
  uint32_t compiled;
  int32_t result;
  uint32_t frames;
  uint32_t reserved;

  uint32_t* Entries() { return reinterpret_cast<uint32_t*>(this + 1); }
  TapFrame* Frames() { return reinterpret_cast<TapFrame*>(Entries() + (entries + 1) / 2 * 2); }
  uint8_t* ReturnCode() { return reinterpret_cast<uint8_t*>(Frames() + frames); }
};

class TapRing {
 public:
  static constexpr uint64_t kBytes = 64 << 10;

  // Reserves room for a call with what follows it, whose numbers it has then; null if there is none. For the thread
  // that owns the ring, its signal handlers included.
  TapCall* Reserve(const TapRoom& room);
  // Whether the call's fields are complete except for those of its return.
  static void Begin(TapCall* call);
  static void End(TapCall* call);

  // Hands each complete record, oldest first, to take, and frees its room. A call that has not returned holds up those
  // after it, unless its thread will not write any more (last): it is handed on without its return. For one thread.
  void Drain(bool last, const std::function<void(std::span<const uint8_t>)>& take);

  // Whether everything was drained.
  bool Empty() const { return tail_.load(std::memory_order_relaxed) == head_.load(std::memory_order_acquire); }

 private:
  friend class TapBuffers;
  std::atomic<uint64_t>* At(uint64_t position) const {
    return reinterpret_cast<std::atomic<uint64_t>*>(bytes_ + position % kBytes);
  }

  std::atomic<int32_t> tid_ = 0;    // 0 is free, -1 is being freed
  std::atomic<uint64_t> head_ = 0;  // of the next record
  std::atomic<uint64_t> tail_ = 0;  // of the oldest one
  uint8_t* bytes_ = nullptr;
};

class TapBuffers {
 public:
  static constexpr size_t kRings = 1024;

  // Returns false if there is no memory.
  bool Allocate();
  // The ring of the calling thread, whose id is tid; null if all are taken. Async-signal-safe.
  TapRing* Claim(int32_t tid);
  // Drains all rings.
  void Drain(bool last, const std::function<void(std::span<const uint8_t>)>& take);
  // Frees the rings of threads that have ended. alive says whether this process has a thread of this id. For the thread
  // that drains.
  void Free(const std::function<bool(int32_t)>& alive);

 private:
  TapRing rings_[kRings];
};

}  // namespace misstep
