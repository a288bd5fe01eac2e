#include "trace_stack.h"

#include <atomic>

#include "publisher.h"
#include "state.h"

namespace misstep {

// Puts the stack at the entry of the method that was just pushed onto the trace stack. The signal handler may look at
// any moment: an entry is there when its tag is on the shadow.
void KeepTrace(State& state, JNIEnv* env, Slot* slot, std::span<Frame> gst) {
  TraceStack& traces = slot->traces;
  uint64_t* entries = slot->shadow + MISSTEP_SHADOW_HEADER / 8;
  const uint64_t size = ShadowSize(slot->shadow);
  if (size == 0 || size > ShadowCapacity(slot->shadow)) return;
  const uint64_t at = size - 1;
  ResolveOwnStack(state, env, gst);
  // The push and the check itself are on top.
  size_t top = 0;
  while (top < gst.size() && gst[top].info != nullptr && gst[top].info->role != Role::kPlain) top++;
  uint32_t key = static_cast<uint32_t>(entries[at]);
  state.methods.KeysOf(std::span(&key, 1));
  if (top == gst.size() || gst[top].info == nullptr || key == 0 || gst[top].info->key != key) return;
  const std::span<const Frame> frames = gst.subspan(top);
  if (gst.size() >= state.options.depth) return;
  // What is not on the shadow any more is gone, and this entry's own was another's.
  uint32_t count = traces.size;
  while (count > 0) {
    const TraceStack::Entry& e = traces.entries[count - 1];
    if (e.at < at && entries[e.at] >> 32 == e.tag) break;
    count--;
  }
  if (count == TraceStack::kMost) return;
  const uint32_t caller = count > 0 ? traces.entries[count - 1].end : 0;
  if (caller >= frames.size() && count > 0) return;
  traces.size = count;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  // The caller's trace is there already, but for where the caller stands now.
  for (size_t i = caller > 0 ? caller - 1 : 0; i < frames.size(); i++) {
    const Frame& f = frames[frames.size() - 1 - i];
    traces.frames[i] = {f.bci, reinterpret_cast<jmethodID>(f.method)};
  }
  if (++traces.last_tag == 0) traces.last_tag = 1;
  traces.entries[count] = {.at = at, .tag = traces.last_tag, .end = static_cast<uint32_t>(frames.size())};
  std::atomic_signal_fence(std::memory_order_seq_cst);
  entries[at] = (entries[at] & 0xffffffff) | uint64_t{traces.last_tag} << 32;
  traces.size = count + 1;
}

}  // namespace misstep
