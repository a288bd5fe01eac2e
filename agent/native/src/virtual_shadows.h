// Shadow buffers of virtual threads: there may be millions of threads, so the buffers are small, few and reused.
//
// A buffer is free again once the garbage collector has cleared the weak reference to its thread. That costs nothing
// while threads run, and needs no JVMTI event that JDKs before 21 lack.
#pragma once

#include <jni.h>

#include <cstdint>
#include <vector>

#include "lock.h"

namespace misstep {

class VirtualShadows {
 public:
  // Returns a cleared buffer (abi.h) for a virtual thread, nullptr if all are in use: its frames are then not checked.
  uint64_t* Attach(JNIEnv* env, jobject thread);

  static constexpr uint32_t kMost = 4096;
  static constexpr uint32_t kEntries = 1008;  // header and entries are two pages

 private:
  struct Used {
    jweak thread;
    uint64_t* buffer;
  };
  void Reclaim(JNIEnv* env);

  Mutex mutex_;
  std::vector<Used> used_ GUARDED_BY(mutex_);
  std::vector<uint64_t*> free_ GUARDED_BY(mutex_);
  uint32_t made_ GUARDED_BY(mutex_) = 0;
  uint32_t until_reclaim_ GUARDED_BY(mutex_) = 64;
};

}  // namespace misstep
