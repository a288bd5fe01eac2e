#include "hurry.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

namespace {

constexpr int kCalls = 60000;  // enough for both compilers
constexpr useconds_t kBetweenSafepoints = 200;

JavaVM* vm = nullptr;
jvmtiEnv* jvmti = nullptr;
std::atomic<bool> started = false;  // the program's first class is there
thread_local bool calling = false;

void* Safepoints(void*) {
  JNIEnv* env = nullptr;
  if (vm->AttachCurrentThreadAsDaemon(reinterpret_cast<void**>(&env), nullptr) != JNI_OK) std::abort();
  while (!started) {
    jvmtiStackInfo* stacks = nullptr;
    jint count = 0;
    if (jvmti->GetAllStackTraces(1, &stacks, &count) == JVMTI_ERROR_NONE)
      jvmti->Deallocate(reinterpret_cast<unsigned char*>(stacks));
    usleep(kBetweenSafepoints);
  }
  vm->DetachCurrentThread();
  return nullptr;
}

void JNICALL OnClassPrepare(jvmtiEnv*, JNIEnv* env, jthread, jclass prepared) {
  jobject loader = nullptr;
  if (jvmti->GetClassLoader(prepared, &loader) == JVMTI_ERROR_NONE && loader != nullptr) started = true;
  if (calling || started) return;
  calling = true;
  jclass integer = env->FindClass("java/lang/Integer");
  jmethodID to_string = env->GetStaticMethodID(integer, "toString", "(II)Ljava/lang/String;");
  jmethodID hash = env->GetMethodID(env->FindClass("java/lang/String"), "hashCode", "()I");
  for (int i = 0; i < kCalls; i++) {
    jobject text = env->CallStaticObjectMethod(integer, to_string, i, 7);
    env->CallIntMethod(text, hash);
    env->DeleteLocalRef(text);
  }
  calling = false;
}

void JNICALL OnVMInit(jvmtiEnv*, JNIEnv*, jthread) {
  pthread_t thread = {};
  if (pthread_create(&thread, nullptr, Safepoints, nullptr) != 0) std::abort();
  pthread_detach(thread);
  jvmti->SetEventNotificationMode(JVMTI_ENABLE, JVMTI_EVENT_CLASS_PREPARE, nullptr);
}

}  // namespace

jint Hurry(JavaVM* java, jvmtiEnv* with) {
  vm = java;
  jvmti = with;
  jvmtiEventCallbacks callbacks = {};
  callbacks.VMInit = OnVMInit;
  callbacks.ClassPrepare = OnClassPrepare;
  if (jvmti->SetEventCallbacks(&callbacks, sizeof(callbacks)) != JVMTI_ERROR_NONE) return JNI_ERR;
  return jvmti->SetEventNotificationMode(JVMTI_ENABLE, JVMTI_EVENT_VM_INIT, nullptr) == JVMTI_ERROR_NONE ? JNI_OK
                                                                                                         : JNI_ERR;
}
