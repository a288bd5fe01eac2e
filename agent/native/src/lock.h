// Locks of the agent, and the assertion of rule 3 (rules.h): none is held across a call that may reach a safepoint.
#pragma once

#include <shared_mutex>

#include "rules.h"

// Clang's thread safety analysis (https://clang.llvm.org/docs/ThreadSafetyAnalysis.html): `make lint-cpp` turns it on,
// other compilers do not have it.
#ifdef __clang__
#define MISSTEP_THREAD_SAFETY(attribute) __attribute__((attribute))
#else
#define MISSTEP_THREAD_SAFETY(attribute)
#endif
// On data: only with the lock held. On a function: the caller holds it.
#define GUARDED_BY(lock) MISSTEP_THREAD_SAFETY(guarded_by(lock))
#define REQUIRES(lock) MISSTEP_THREAD_SAFETY(requires_capability(lock))

namespace misstep {

// Number of agent locks that this thread holds, where that is asserted.
inline thread_local int held_locks = 0;

// Call before every JNI or JVMTI call that may reach a safepoint.
inline void MaySafepoint(std::source_location where = std::source_location::current()) {
  Assert(1, [] { return !outside; }, where);
  Assert(3, [] { return held_locks == 0; }, where);
}

class MISSTEP_THREAD_SAFETY(capability("mutex")) Mutex {
 public:
  void lock() MISSTEP_THREAD_SAFETY(acquire_capability()) {
    mutex_.lock();
    Held(1);
  }
  void unlock() MISSTEP_THREAD_SAFETY(release_capability()) {
    Held(-1);
    mutex_.unlock();
  }
  void lock_shared() MISSTEP_THREAD_SAFETY(acquire_shared_capability()) {
    mutex_.lock_shared();
    Held(1);
  }
  void unlock_shared() MISSTEP_THREAD_SAFETY(release_shared_capability()) {
    Held(-1);
    mutex_.unlock_shared();
  }

 private:
  static void Held(int by) {
    if constexpr (kAsserts) held_locks += by;
  }
  std::shared_mutex mutex_;
};

// Holds a mutex in a scope, for writing or for reading: the analysis does not know the guards of std.
class MISSTEP_THREAD_SAFETY(scoped_lockable) WriteLock {
 public:
  explicit WriteLock(Mutex& mutex) MISSTEP_THREAD_SAFETY(acquire_capability(mutex)) : mutex_(mutex) { mutex_.lock(); }
  ~WriteLock() MISSTEP_THREAD_SAFETY(release_capability()) { mutex_.unlock(); }
  WriteLock(const WriteLock&) = delete;
  WriteLock& operator=(const WriteLock&) = delete;

 private:
  Mutex& mutex_;
};

class MISSTEP_THREAD_SAFETY(scoped_lockable) ReadLock {
 public:
  explicit ReadLock(Mutex& mutex) MISSTEP_THREAD_SAFETY(acquire_shared_capability(mutex)) : mutex_(mutex) {
    mutex_.lock_shared();
  }
  ~ReadLock() MISSTEP_THREAD_SAFETY(release_capability()) { mutex_.unlock_shared(); }
  ReadLock(const ReadLock&) = delete;
  ReadLock& operator=(const ReadLock&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace misstep
