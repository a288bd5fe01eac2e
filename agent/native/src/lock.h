// Locks of the agent, and the proof of ORACLE.md's rule 3: none is held across a call that may reach a safepoint.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <shared_mutex>

namespace misstep {

#ifndef NDEBUG
// Number of agent locks that this thread holds.
inline thread_local int held_locks = 0;
#endif

// Call before every JNI or JVMTI call that may reach a safepoint. Aborts in debug builds when a lock is held.
inline void MaySafepoint() {
#ifndef NDEBUG
  if (held_locks != 0) {
    std::fputs("misstep: rule 3 is broken: an agent lock is held across a call that may reach a safepoint\n", stderr);
    std::abort();
  }
#endif
}

class Mutex {
 public:
  void lock() {
    mutex_.lock();
    Held(1);
  }
  void unlock() {
    Held(-1);
    mutex_.unlock();
  }
  void lock_shared() {
    mutex_.lock_shared();
    Held(1);
  }
  void unlock_shared() {
    Held(-1);
    mutex_.unlock_shared();
  }

 private:
  static void Held([[maybe_unused]] int by) {
#ifndef NDEBUG
    held_locks += by;
#endif
  }
  std::shared_mutex mutex_;
};

}  // namespace misstep
