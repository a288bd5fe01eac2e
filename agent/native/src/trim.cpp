#include "trim.h"

#include <malloc.h>

#include "hung.h"

namespace misstep {
namespace {

constexpr uint64_t kEveryNanos = 60'000'000'000;
constexpr uint64_t kPatienceNanos = 1'000'000;  // a handler that takes longer may hang

}  // namespace

HeapTrimmer::HeapTrimmer(uint64_t now_nanos) : next_nanos_(now_nanos + kEveryNanos) {}

void HeapTrimmer::Look(const Threads& threads, uint64_t now_nanos) {
  if (now_nanos < next_nanos_ || FindInHandler(threads, now_nanos, kPatienceNanos) != nullptr) return;
#ifdef __GLIBC__
  malloc_trim(0);
#endif
  next_nanos_ = now_nanos + kEveryNanos;
}

}  // namespace misstep
