// The engine of the checks at method entries, on the thread's own stack: gst-asgct and shadow-gst. It runs on the
// application's threads when the countdown of their shadow buffer runs out, and needs no thread of its own.
#pragma once

#include <jni.h>

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "code_map.h"
#include "engine.h"
#include "frame.h"
#include "verdict.h"

namespace misstep {

struct State;

class EntryEngine final : public Engine {
 public:
  explicit EntryEngine(State& state) : state_(state) {}

  // Makes the checks that are due when the calling thread's countdown has run out. pc and sp are where the JVM called
  // the native method that calls this, as the walks begin at the frame of its caller.
  void Check(JNIEnv* env, uint64_t pc, uint64_t sp);

  // Gives the calling thread, which may be a virtual one, its shadow buffer. Returns its address, -1 if there is none.
  jlong Attach(JNIEnv* env, jobject thread);

  // The slot of the calling thread, for a virtual thread that of its carrier. Null if no slot is left, and for the
  // agent's own threads.
  Slot* SlotOfThisThread(JNIEnv* env, jobject thread);

 private:
  void CheckNow(JNIEnv* env, Slot* slot, const uint64_t* shadow, uint64_t pc, uint64_t sp);
  uint64_t* CurrentShadow(JNIEnv* env, const Slot* slot) const;
  bool OwnStack(Slot* slot, std::vector<Frame>* gst) const;
  int32_t OwnWalk(Slot* slot, uint64_t sequence) const;
  void GstAsgct(JNIEnv* env, Slot* slot, std::span<Frame> gst, uint64_t sequence);
  void ShadowGst(JNIEnv* env, Slot* slot, const std::vector<uint32_t>& ids, bool overflow, std::span<Frame> gst,
                 uint64_t sequence);
  Slot* SlotOfCarrier(JNIEnv* env, jobject thread);
  void SetMounted(Slot* slot, const uint64_t* buffer) const;
  bool AwaitEnd();
  NmethodRef AwaitDeoptimisedCaller(std::span<const Frame> gst, std::span<const Frame> asgct, const Verdict& verdict,
                                    std::span<const StackWord> words);

  State& state_;
  std::atomic<uint64_t> sequence_ = 0;  // of entry checks
  std::atomic<uint64_t> awaited_ends_nanos_ = 0;
  std::atomic<uint64_t> awaited_callers_nanos_ = 0;
  std::atomic<bool> logged_no_slot_ = false;
  std::atomic<bool> logged_no_shadow_ = false;
};

}  // namespace misstep
