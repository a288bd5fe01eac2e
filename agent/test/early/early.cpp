// A test fixture: an agent that starts threads before Misstep's agent can give them a shadow, and that loads classes
// where hardly a program does, in the middle of a shadow push and of the instrumentation of another class.
//
// Threads: early-at-start is attached at VMStart, early-at-init at VMInit, both by JNI; early-agent is JVMTI's, started
// at VMInit. They wait until the program test/programs/Early.java gives them work.
//
// With the option hurry it does what hurry.h says instead.
#include <jni.h>
#include <jvmti.h>
#include <pthread.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "hurry.h"

namespace {

JavaVM* vm = nullptr;
jvmtiEnv* jvmti = nullptr;
jniNativeInterface* table = nullptr;     // as it was
jniNativeInterface* replaced = nullptr;  // with the functions below

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
jclass program = nullptr;  // set: the threads may go
int running = 0;

jobject loader = nullptr;  // of the classes to load
jstring in_push = nullptr;
jstring in_transformer = nullptr;
std::atomic<bool> push_armed = false;
std::atomic<bool> transformer_armed = false;

void Check(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "early: %s failed\n", what);
  std::_Exit(4);
}

// Waits for the program, lets it work on this thread and tells it when done.
void Work(JNIEnv* env, const char* name) {
  pthread_mutex_lock(&mutex);
  while (program == nullptr) pthread_cond_wait(&changed, &mutex);
  pthread_mutex_unlock(&mutex);
  jmethodID work = env->GetStaticMethodID(program, "work", "(Ljava/lang/String;)V");
  Check(work != nullptr, "finding Early.work");
  env->CallStaticVoidMethod(program, work, env->NewStringUTF(name));
  Check(env->ExceptionCheck() == JNI_FALSE, name);
}

void Done() {
  pthread_mutex_lock(&mutex);
  running--;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mutex);
}

void* Attached(void* argument) {
  auto* name = static_cast<char*>(argument);
  JNIEnv* env = nullptr;
  JavaVMAttachArgs args = {JNI_VERSION_1_6, name, nullptr};
  Check(vm->AttachCurrentThreadAsDaemon(reinterpret_cast<void**>(&env), &args) == JNI_OK, "attaching a thread");
  Work(env, name);
  Check(vm->DetachCurrentThread() == JNI_OK, "detaching a thread");
  Done();
  return nullptr;
}

void JNICALL AgentThread(jvmtiEnv*, JNIEnv* env, void*) {
  Work(env, "early-agent");
  Done();
}

void Spawn(const char* name) {
  running++;
  pthread_t thread = {};
  Check(pthread_create(&thread, nullptr, Attached, const_cast<char*>(name)) == 0, "starting a thread");
  pthread_detach(thread);
}

// Whether the calling native method is that one.
bool In(const char* method) {
  jvmtiFrameInfo top = {};
  jint count = 0;
  char* name = nullptr;
  if (jvmti->GetStackTrace(nullptr, 0, 1, &top, &count) != JVMTI_ERROR_NONE || count == 0 ||
      jvmti->GetMethodName(top.method, &name, nullptr, nullptr) != JVMTI_ERROR_NONE) {
    return false;
  }
  const bool same = std::strcmp(name, method) == 0;
  jvmti->Deallocate(reinterpret_cast<unsigned char*>(name));
  return same;
}

void Load(JNIEnv* env, jstring name) {
  jmethodID load = env->GetMethodID(env->GetObjectClass(loader), "loadClass", "(Ljava/lang/String;)Ljava/lang/Class;");
  Check(load != nullptr && env->CallObjectMethod(loader, load, name) != nullptr, "loading a class");
}

// The push of a thread's first method ends with this, in MisstepShadow.attach.
void JNICALL SetLongField(JNIEnv* env, jobject object, jfieldID field, jlong value) {
  if (push_armed && In("attach") && push_armed.exchange(false)) Load(env, in_push);
  table->SetLongField(env, object, field, value);
}

// The transformer tells Native.registered the names of what it instrumented.
const char* JNICALL GetStringUTFChars(JNIEnv* env, jstring string, jboolean* copy) {
  if (transformer_armed && In("registered") && transformer_armed.exchange(false)) Load(env, in_transformer);
  return table->GetStringUTFChars(env, string, copy);
}

void JNICALL OnVMStart(jvmtiEnv*, JNIEnv*) { Spawn("early-at-start"); }

void JNICALL OnVMInit(jvmtiEnv*, JNIEnv* env, jthread) {
  Spawn("early-at-init");
  jclass thread_class = env->FindClass("java/lang/Thread");
  jmethodID make = env->GetMethodID(thread_class, "<init>", "(Ljava/lang/String;)V");
  jobject thread = env->NewObject(thread_class, make, env->NewStringUTF("early-agent"));
  running++;
  Check(jvmti->RunAgentThread(thread, AgentThread, nullptr, JVMTI_THREAD_NORM_PRIORITY) == JVMTI_ERROR_NONE,
        "starting an agent thread");
  Check(jvmti->GetJNIFunctionTable(&table) == JVMTI_ERROR_NONE, "reading the table of JNI");
  Check(jvmti->GetJNIFunctionTable(&replaced) == JVMTI_ERROR_NONE, "reading the table of JNI");
  replaced->SetLongField = SetLongField;
  replaced->GetStringUTFChars = GetStringUTFChars;
  Check(jvmti->SetJNIFunctionTable(replaced) == JVMTI_ERROR_NONE, "setting the table of JNI");
}

}  // namespace

extern "C" {

// Lets the threads work and waits until they have.
JNIEXPORT void JNICALL Java_Early_release(JNIEnv* env, jclass self) {
  pthread_mutex_lock(&mutex);
  program = static_cast<jclass>(env->NewGlobalRef(self));
  pthread_cond_broadcast(&changed);
  while (running > 0) pthread_cond_wait(&changed, &mutex);
  pthread_mutex_unlock(&mutex);
}

// Has one class loaded in the next first push of a thread, and one in the next instrumentation of a class.
JNIEXPORT void JNICALL Java_Early_arm(JNIEnv* env, jclass, jobject with, jstring push, jstring transformer) {
  loader = env->NewGlobalRef(with);
  in_push = static_cast<jstring>(env->NewGlobalRef(push));
  in_transformer = static_cast<jstring>(env->NewGlobalRef(transformer));
  push_armed = true;
  transformer_armed = true;
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM* java, char* options, void*) {
  vm = java;
  if (vm->GetEnv(reinterpret_cast<void**>(&jvmti), JVMTI_VERSION_1_2) != JNI_OK) return JNI_ERR;
  if (options != nullptr && std::strcmp(options, "hurry") == 0) return Hurry(vm, jvmti);
  jvmtiEventCallbacks callbacks = {};
  callbacks.VMStart = OnVMStart;
  callbacks.VMInit = OnVMInit;
  if (jvmti->SetEventCallbacks(&callbacks, sizeof(callbacks)) != JVMTI_ERROR_NONE) return JNI_ERR;
  for (const jvmtiEvent event : {JVMTI_EVENT_VM_START, JVMTI_EVENT_VM_INIT}) {
    if (jvmti->SetEventNotificationMode(JVMTI_ENABLE, event, nullptr) != JVMTI_ERROR_NONE) return JNI_ERR;
  }
  return JNI_OK;
}
}
