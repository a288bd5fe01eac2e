// Gives back what the C library's arenas hold of freed memory: the agent's own, and the compilers', which compile more
// in an instrumented program. HotSpot does so itself on demand (-XX:TrimNativeHeapInterval). docs/figures/0005.
#pragma once

#include <cstdint>

#include "threads.h"

namespace misstep {

class HeapTrimmer {
 public:
  explicit HeapTrimmer(uint64_t now_nanos);
  // Trims when it is time, but not while a handler is at work, which may hang with the C library's locks.
  void Look(const Threads& threads, uint64_t now_nanos);

 private:
  uint64_t next_nanos_;
};

}  // namespace misstep
