// The JVM's Service Thread, which posts the events of compiled code.
#pragma once

#include <jvmti.h>

#include <atomic>
#include <string>
#include <string_view>

namespace misstep {

// JDK 8 starts it last of all, and until then nothing keeps code alive whose events are queued: at each safepoint the
// sweeper may remove some, and the thread's first event then crashes the JVM (docs/figures/0011). On 8 the events are
// therefore enabled only when the classes are prepared that the JVM needs next, and all checks wait for the code map.
class ServiceThread {
 public:
  // Determines from the JVM's version whether events of compiled code are safe from the start, and if so enables them.
  // To be called in OnLoad, once the agent's callbacks are set. Returns the error, empty if there is none.
  std::string Expect(jvmtiEnv* jvmti);

  // Whether the Service Thread runs.
  bool Runs() const { return runs_.load(std::memory_order_acquire); }

  // Whether the Service Thread runs once this class is prepared, even if it did not before.
  static bool StartsBefore(std::string_view class_name);
  // To be called when the Service Thread runs: enables the events of compiled code, and makes the JVM post the events
  // of earlier code at once, on the calling thread. Returns the error, empty if there is none.
  std::string Begin(jvmtiEnv* jvmti);

  // Whether the calling thread is in Begin, which makes the JVM post those events.
  static bool Generating();

 private:
  std::atomic<bool> runs_ = true;
};

}  // namespace misstep
