// Returns freed memory in the C library's arenas to the kernel: that of the agent, and that of the compilers, which
// compile more in an instrumented program. HotSpot does so itself on request (-XX:TrimNativeHeapInterval).
// docs/figures/0005.
#pragma once

#include <cstdint>

#include "threads.h"

namespace misstep {

class HeapTrimmer {
 public:
  explicit HeapTrimmer(uint64_t now_nanos);
  // Trims if it is time, but not while a handler runs, which may hang while its thread holds the C library's locks.
  void Look(const Threads& threads, uint64_t now_nanos);

 private:
  uint64_t next_nanos_;
};

}  // namespace misstep
