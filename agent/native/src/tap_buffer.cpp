#include "tap_buffer.h"

#include <sys/mman.h>

#include <cstring>

namespace misstep {
namespace {

constexpr uint64_t Head(uint64_t size, uint64_t kind) { return size | kind << 32; }
constexpr uint64_t SizeOf(uint64_t head) { return head & 0xffffffff; }
constexpr uint64_t KindOf(uint64_t head) { return head >> 32; }

static_assert(sizeof(TapCall) == MISSTEP_TAP_CALL_SIZE);
static_assert(offsetof(TapCall, tid) == MISSTEP_TAP_CALL_TID_OFFSET);
static_assert(offsetof(TapCall, signal) == MISSTEP_TAP_CALL_SIGNAL_OFFSET);
static_assert(offsetof(TapCall, flags) == MISSTEP_TAP_CALL_FLAGS_OFFSET);
static_assert(offsetof(TapCall, entries) == MISSTEP_TAP_CALL_ENTRIES_OFFSET);
static_assert(offsetof(TapCall, depth) == MISSTEP_TAP_CALL_DEPTH_OFFSET);
static_assert(offsetof(TapCall, generation) == MISSTEP_TAP_CALL_GENERATION_OFFSET);
static_assert(offsetof(TapCall, nested) == MISSTEP_TAP_CALL_NESTED_OFFSET);
static_assert(offsetof(TapCall, phase) == MISSTEP_TAP_CALL_PHASE_OFFSET);
static_assert(offsetof(TapCall, pc) == MISSTEP_TAP_CALL_PC_OFFSET);
static_assert(offsetof(TapCall, sp) == MISSTEP_TAP_CALL_SP_OFFSET);
static_assert(offsetof(TapCall, fp) == MISSTEP_TAP_CALL_FP_OFFSET);
static_assert(offsetof(TapCall, enter_nanos) == MISSTEP_TAP_CALL_ENTER_OFFSET);
static_assert(offsetof(TapCall, begin_nanos) == MISSTEP_TAP_CALL_BEGIN_OFFSET);
static_assert(offsetof(TapCall, end_nanos) == MISSTEP_TAP_CALL_END_OFFSET);
static_assert(offsetof(TapCall, begin_ticks) == MISSTEP_TAP_CALL_BEGIN_TICKS_OFFSET);
static_assert(offsetof(TapCall, end_ticks) == MISSTEP_TAP_CALL_END_TICKS_OFFSET);
static_assert(offsetof(TapCall, code) == MISSTEP_TAP_CALL_CODE_OFFSET);
static_assert(offsetof(TapCall, code_size) == MISSTEP_TAP_CALL_CODE_SIZE_OFFSET);
static_assert(offsetof(TapCall, return_size) == MISSTEP_TAP_CALL_RETURN_SIZE_OFFSET);
static_assert(offsetof(TapCall, return_at) == MISSTEP_TAP_CALL_RETURN_AT_OFFSET);
static_assert(offsetof(TapCall, return_pc) == MISSTEP_TAP_CALL_RETURN_PC_OFFSET);
static_assert(offsetof(TapCall, state) == MISSTEP_TAP_CALL_STATE_OFFSET);
static_assert(offsetof(TapCall, return_state) == MISSTEP_TAP_CALL_RETURN_STATE_OFFSET);
static_assert(offsetof(TapCall, compiled) == MISSTEP_TAP_CALL_COMPILED_OFFSET);
static_assert(offsetof(TapCall, result) == MISSTEP_TAP_CALL_RESULT_OFFSET);
static_assert(offsetof(TapCall, frames) == MISSTEP_TAP_CALL_FRAMES_OFFSET);

constexpr uint64_t SizeFor(const TapRoom& room) {
  const uint64_t size = sizeof(TapCall) + (room.entries + 1) / 2 * 2 * sizeof(uint32_t) +
                        room.frames * sizeof(TapFrame) + room.return_size;
  return (size + 7) / 8 * 8;
}

constexpr uint64_t kMostSize =
    SizeFor({MISSTEP_TAP_MOST_ENTRIES, MISSTEP_TAP_MOST_FRAMES, MISSTEP_TAP_MOST_RETURN_CODE});
static_assert(TapRing::kBytes >= 2 * kMostSize);

}  // namespace

TapCall* TapRing::Reserve(const TapRoom& room) {
  const uint64_t size = SizeFor(room);
  uint64_t head = head_.load(std::memory_order_relaxed);
  uint64_t padding = 0;
  do {  // a signal that interrupts this may reserve room in between
    const uint64_t to_end = kBytes - head % kBytes;
    padding = size > to_end ? to_end : 0;
    if (head + padding + size - tail_.load(std::memory_order_acquire) > kBytes) return nullptr;
  } while (!head_.compare_exchange_weak(head, head + padding + size, std::memory_order_acq_rel));
  if (padding > 0) At(head)->store(Head(padding, MISSTEP_TAP_PADDING), std::memory_order_release);
  auto* call = reinterpret_cast<TapCall*>(At(head + padding));
  call->entries = room.entries;
  call->frames = room.frames;
  call->return_size = room.return_size;
  return call;
}

void TapRing::Begin(TapCall* call) {
  const uint64_t size = SizeFor({call->entries, call->frames, call->return_size});
  call->head.store(Head(size, MISSTEP_TAP_PENDING), std::memory_order_release);
}

void TapRing::End(TapCall* call) {
  const uint64_t size = SizeOf(call->head.load(std::memory_order_relaxed));
  call->head.store(Head(size, MISSTEP_TAP_CALL), std::memory_order_release);
}

void TapRing::Drain(bool last, const std::function<void(std::span<const uint8_t>)>& take) {
  uint64_t tail = tail_.load(std::memory_order_relaxed);
  const uint64_t end = head_.load(std::memory_order_acquire);
  while (tail < end) {
    const uint64_t head = At(tail)->load(std::memory_order_acquire);
    const uint64_t size = SizeOf(head);
    auto* bytes = reinterpret_cast<uint8_t*>(At(tail));
    if (head == 0) return;
    if (KindOf(head) == MISSTEP_TAP_PENDING) {
      if (!last) return;
      // Its thread may return at any time and write the fields of the return: they are not read.
      uint8_t call[kMostSize];
      const uint64_t returned = Head(size, MISSTEP_TAP_CALL);
      std::memcpy(call, &returned, sizeof(returned));
      uint64_t from = sizeof(returned);
      for (const uint64_t field : {MISSTEP_TAP_CALL_END_OFFSET, MISSTEP_TAP_CALL_END_TICKS_OFFSET}) {
        std::memcpy(call + from, bytes + from, field - from);
        std::memset(call + field, 0, sizeof(uint64_t));
        from = field + sizeof(uint64_t);
      }
      std::memcpy(call + from, bytes + from, size - from);
      take({call, size});
      tail += size;
      tail_.store(tail, std::memory_order_release);
      continue;
    }
    if (KindOf(head) == MISSTEP_TAP_CALL) take({bytes, size});
    std::memset(bytes, 0, size);  // the next record here must not be taken for complete
    tail += size;
    tail_.store(tail, std::memory_order_release);
  }
}

bool TapBuffers::Allocate() {
  void* memory = mmap(nullptr, kRings * TapRing::kBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  for (size_t i = 0; i < kRings; i++) rings_[i].bytes_ = static_cast<uint8_t*>(memory) + i * TapRing::kBytes;
  return true;
}

TapRing* TapBuffers::Claim(int32_t tid) {
  for (size_t i = 0; i < kRings; i++) {
    TapRing& ring = rings_[(static_cast<size_t>(tid) + i) % kRings];
    int32_t owner = ring.tid_.load(std::memory_order_acquire);
    if (owner == tid) return &ring;
    if (owner == 0 && ring.tid_.compare_exchange_strong(owner, tid, std::memory_order_acq_rel)) return &ring;
  }
  return nullptr;
}

void TapBuffers::Drain(bool last, const std::function<void(std::span<const uint8_t>)>& take) {
  for (TapRing& ring : rings_) {
    if (ring.tid_.load(std::memory_order_acquire) != 0) ring.Drain(last, take);
  }
}

void TapBuffers::Free(const std::function<bool(int32_t)>& alive) {
  for (TapRing& ring : rings_) {
    int32_t tid = ring.tid_.load(std::memory_order_acquire);
    if (tid == 0 || !ring.Empty() || alive(tid)) continue;
    // A new thread may have got the old one's id, and its ring, since: it is not freed. From here on such a thread gets
    // another ring.
    ring.tid_.store(-1, std::memory_order_seq_cst);
    if (alive(tid) || !ring.Empty()) {
      ring.tid_.store(tid, std::memory_order_release);
      continue;
    }
    madvise(ring.bytes_, TapRing::kBytes, MADV_DONTNEED);
    ring.tail_ = 0;
    ring.head_ = 0;
    ring.tid_.store(0, std::memory_order_release);
  }
}

}  // namespace misstep
