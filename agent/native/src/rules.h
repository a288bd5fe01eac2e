// Assertions of the three rules for walking the stack of another thread:
//   1. The sampler and the judge are not attached to the JVM, and a thread is walked by one walker at a time.
//   2. No thread ends while a signal to it is pending or a walk of it is going on.
//   3. No lock of the agent is held across a call that may reach a safepoint.
// They are compiled in only with MISSTEP_ASSERT (CMakeLists.txt).
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <source_location>

namespace misstep {

#ifdef MISSTEP_ASSERT
constexpr bool kAsserts = true;
#else
constexpr bool kAsserts = false;
#endif

// How often each rule was asserted, by the rule's number.
inline std::atomic<uint64_t> asserted[4] = {};

// Aborts with one line if the condition, a function, returns false. Async-signal-safe as long as it returns true.
template <typename Condition>
void Assert(int rule, Condition condition, std::source_location where = std::source_location::current()) {
  if constexpr (kAsserts) {
    asserted[rule].fetch_add(1, std::memory_order_relaxed);
    if (condition()) return;
    const char* slash = std::strrchr(where.file_name(), '/');
    std::fprintf(stderr, "misstep: rule %d is broken at %s:%u, in %s\n", rule,
                 slash != nullptr ? slash + 1 : where.file_name(), where.line(), where.function_name());
    std::abort();
  }
}

// Whether this thread stays outside of the JVM: it calls neither JNI nor JVMTI (rule 1).
inline thread_local bool outside = false;

inline void StayOutside() {
  if constexpr (kAsserts) outside = true;
}

}  // namespace misstep
