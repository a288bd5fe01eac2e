#include "service_thread.h"

#include <algorithm>

namespace misstep {

namespace {

constexpr std::string_view kAfterServiceThread[] = {"sun/misc/PostVMInitHook", "sun/launcher/LauncherHelper"};

thread_local bool generating = false;

bool StartsServiceThreadLast(jvmtiEnv* jvmti) {
  jint version = 0;
  return jvmti->GetVersionNumber(&version) == JVMTI_ERROR_NONE &&
         (version & JVMTI_VERSION_MASK_MAJOR) >> JVMTI_VERSION_SHIFT_MAJOR == 1;
}

// Enables the events of compiled code. Returns the error, empty if there is none.
std::string WatchCode(jvmtiEnv* jvmti) {
  for (const jvmtiEvent event : {JVMTI_EVENT_COMPILED_METHOD_LOAD, JVMTI_EVENT_COMPILED_METHOD_UNLOAD}) {
    if (jvmti->SetEventNotificationMode(JVMTI_ENABLE, event, nullptr) != JVMTI_ERROR_NONE) {
      return "cannot enable JVMTI event " + std::to_string(event);
    }
  }
  return "";
}

}  // namespace

std::string ServiceThread::Expect(jvmtiEnv* jvmti) {
  runs_ = !StartsServiceThreadLast(jvmti);
  return Runs() ? WatchCode(jvmti) : "";
}

bool ServiceThread::StartsBefore(std::string_view class_name) {
  return std::ranges::count(kAfterServiceThread, class_name) != 0;
}

std::string ServiceThread::Begin(jvmtiEnv* jvmti) {
  std::string error = WatchCode(jvmti);
  if (!error.empty()) return error;
  generating = true;
  const bool generated = jvmti->GenerateEvents(JVMTI_EVENT_COMPILED_METHOD_LOAD) == JVMTI_ERROR_NONE;
  generating = false;
  if (!generated) return "cannot generate the events of code that was compiled before the Service Thread began";
  runs_.store(true, std::memory_order_release);
  return "";
}

bool ServiceThread::Generating() { return generating; }

}  // namespace misstep
