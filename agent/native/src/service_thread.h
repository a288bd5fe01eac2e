// The JVM's Service Thread, which posts the events of compiled code.
#pragma once

#include <jvmti.h>

#include <atomic>
#include <string>
#include <string_view>

namespace misstep {

// JDK 8 starts it last of all, and until then nothing keeps the code alive whose events wait: each safepoint lets the
// sweeper take some away, and the thread's first event ends the JVM (docs/figures/0011). There no event is asked for
// before the classes are prepared that come next, and all checks wait for the code map.
class ServiceThread {
 public:
  // Reads the JVM's version: whether the Service Thread runs already, as far as events of compiled code matter. In
  // OnLoad, once the agent's callbacks are set. Asks for the events then. Returns what is wrong.
  std::string Expect(jvmtiEnv* jvmti);

  // Whether it runs.
  bool Runs() const { return runs_.load(std::memory_order_acquire); }

  // Whether it runs once this class is prepared, if it did not before.
  static bool StartsBefore(std::string_view class_name);
  // It runs now: asks for the events of compiled code, and has the events of what was compiled before posted here and
  // now, by this thread. Returns what is wrong.
  std::string Begin(jvmtiEnv* jvmti);

  // Whether the calling thread is in Begin, which has those events posted.
  static bool Generating();

 private:
  std::atomic<bool> runs_ = true;
};

}  // namespace misstep
