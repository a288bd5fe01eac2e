// Counts the frames of a method in what AsyncGetCallTrace gives for the calling thread.
#include <dlfcn.h>
#include <jni.h>
#include <jvmti.h>

namespace {

// AsyncGetCallTrace is exported by libjvm and declared in no header: src/hotspot/share/prims/forte.cpp.
struct CallFrame {
  jint bci;
  jmethodID method;
};
struct CallTrace {
  JNIEnv* env;
  jint num_frames;
  CallFrame* frames;
};
using Walk = void (*)(CallTrace*, jint depth, void* ucontext);

constexpr jint kDepth = 1024;

void JNICALL OnClassLoad(jvmtiEnv*, JNIEnv*, jthread, jclass) {}

}  // namespace

// AsyncGetCallTrace works where class load events are posted only.
extern "C" JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM* vm, char*, void*) {
  jvmtiEnv* jvmti = nullptr;
  if (vm->GetEnv(reinterpret_cast<void**>(&jvmti), JVMTI_VERSION_1_2) != JNI_OK) return JNI_ERR;
  jvmtiEventCallbacks callbacks{};
  callbacks.ClassLoad = OnClassLoad;
  if (jvmti->SetEventCallbacks(&callbacks, sizeof(callbacks)) != JVMTI_ERROR_NONE) return JNI_ERR;
  const jvmtiError enabled = jvmti->SetEventNotificationMode(JVMTI_ENABLE, JVMTI_EVENT_CLASS_LOAD, nullptr);
  return enabled == JVMTI_ERROR_NONE ? JNI_OK : JNI_ERR;
}

extern "C" JNIEXPORT jint JNICALL Java_ThawedStack_walk(JNIEnv* env, jclass test) {
  static CallFrame frames[kDepth];
  const auto walk = reinterpret_cast<Walk>(dlsym(RTLD_DEFAULT, "AsyncGetCallTrace"));
  const jmethodID dive = env->GetStaticMethodID(test, "dive", "(IZ)V");
  if (walk == nullptr || dive == nullptr) return -1;
  CallTrace trace{env, 0, frames};
  walk(&trace, kDepth, nullptr);
  jint found = 0;
  for (jint i = 0; i < trace.num_frames; i++) found += frames[i].method == dive ? 1 : 0;
  return found;
}
