// The native methods of misstep.agent.Native and of java.lang.MisstepShadow, found by their JNI names.

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "agent.h"
#include "callbacks.h"
#include "clock.h"
#include "instrumented.h"
#include "publisher.h"
#include "rules.h"
#include "stack_names.h"

namespace misstep {
namespace {

// The modified UTF-8 of a string, empty for null.
std::string Text(JNIEnv* env, jstring string) {
  if (string == nullptr) return "";
  MaySafepoint();
  const char* chars = env->GetStringUTFChars(string, nullptr);
  if (chars == nullptr) return "";
  std::string text = chars;
  env->ReleaseStringUTFChars(string, chars);
  return text;
}

std::vector<jint> Ints(JNIEnv* env, jintArray array) {
  std::vector<jint> all;
  if (array == nullptr) return all;
  MaySafepoint();
  all.resize(static_cast<size_t>(env->GetArrayLength(array)));
  env->GetIntArrayRegion(array, 0, static_cast<jsize>(all.size()), all.data());
  return all;
}

// A weak reference that is deleted on a thread attached to the JVM.
std::shared_ptr<void> Weak(JNIEnv* env, jobject object) {
  return {env->NewWeakGlobalRef(object), [](void* weak) {
            JNIEnv* here = nullptr;
            MaySafepoint();
            if (weak != nullptr && agent->vm->GetEnv(reinterpret_cast<void**>(&here), JNI_VERSION_1_6) == JNI_OK) {
              here->DeleteWeakGlobalRef(static_cast<jweak>(weak));
            }
          }};
}

}  // namespace
}  // namespace misstep

using misstep::agent;

extern "C" {

JNIEXPORT jstring JNICALL Java_misstep_agent_Native_options(JNIEnv* env, jclass) {
  if (agent == nullptr) return nullptr;
  misstep::MaySafepoint();
  return env->NewStringUTF(agent->option_text.c_str());
}

JNIEXPORT jint JNICALL Java_misstep_agent_Native_reserve(JNIEnv*, jclass, jint n) {
  return static_cast<jint>(agent->methods.Reserve(n > 0 ? static_cast<uint32_t>(n) : 1));
}

JNIEXPORT void JNICALL Java_misstep_agent_Native_registered(JNIEnv* env, jclass, jobject loader, jstring class_name,
                                                            jint first_id, jobjectArray names, jintArray push_ends,
                                                            jobjectArray exits, jclass redefined) {
  misstep::MaySafepoint();
  misstep::Registration r;
  r.class_name = misstep::Text(env, class_name);
  r.first_id = static_cast<uint32_t>(first_id);
  r.retransformed = redefined != nullptr;
  const std::vector<jint> ends = misstep::Ints(env, push_ends);
  const jsize count = env->GetArrayLength(names);
  for (jsize i = 0; i < count; i++) {
    misstep::RegisteredMethod m;
    auto name = static_cast<jstring>(env->GetObjectArrayElement(names, i));
    m.name_and_descriptor = misstep::Text(env, name);
    env->DeleteLocalRef(name);
    if (static_cast<size_t>(i) < ends.size()) m.push_end = ends[static_cast<size_t>(i)];
    auto pairs = static_cast<jintArray>(env->GetObjectArrayElement(exits, i));
    const std::vector<jint> bcis = misstep::Ints(env, pairs);
    env->DeleteLocalRef(pairs);
    for (size_t p = 0; p + 1 < bcis.size(); p += 2) m.exits.emplace_back(bcis[p], bcis[p + 1]);
    r.methods.push_back(std::move(m));
  }
  if (loader != nullptr) r.loader = misstep::Weak(env, loader);
  agent->methods.Register(std::move(r));
  // Its methods are published already, and no event comes when they change.
  if (redefined != nullptr) misstep::PublishClass(*agent, env, redefined, misstep::When::kAfterwards);
  agent->status->instrumented.store(agent->methods.instrumented(), std::memory_order_relaxed);
}

JNIEXPORT void JNICALL Java_misstep_agent_Native_failed(JNIEnv* env, jclass, jstring class_name, jstring why) {
  misstep::NotInstrumented(agent->status, misstep::Text(env, class_name), misstep::Text(env, why));
}

JNIEXPORT jint JNICALL Java_misstep_agent_Native_append(JNIEnv* env, jclass, jstring path, jbyteArray bytes) {
  misstep::MaySafepoint();
  std::string data(static_cast<size_t>(env->GetArrayLength(bytes)), '\0');
  env->GetByteArrayRegion(bytes, 0, static_cast<jsize>(data.size()), reinterpret_cast<jbyte*>(data.data()));
  const int file = open(misstep::Text(env, path).c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file < 0) return errno;
  const ssize_t written = write(file, data.data(), data.size());
  const int error = written < 0 ? errno : static_cast<size_t>(written) < data.size() ? ENOSPC : 0;
  close(file);
  return error;
}

// The name outlives the Java frame that gave it: it is the thread's until end() or the next begin().
JNIEXPORT void JNICALL Java_misstep_agent_Native_begin(JNIEnv* env, jclass, jstring class_name) {
  thread_local std::string name;
  name = misstep::Text(env, class_name);
  misstep::Instrumenting(&name);
}

JNIEXPORT void JNICALL Java_misstep_agent_Native_end(JNIEnv*, jclass) { misstep::Instrumenting(nullptr); }

JNIEXPORT void JNICALL Java_misstep_agent_Native_leaveAlone(JNIEnv* env, jclass, jobject thread) {
  misstep::LeaveAlone(env, thread);
}

JNIEXPORT jlongArray JNICALL Java_misstep_agent_Native_cpuNanos(JNIEnv* env, jclass, jobjectArray threads) {
  static const bool exact = misstep::CpuTimeIsExact();
  misstep::MaySafepoint();
  std::vector<jlong> nanos(static_cast<size_t>(env->GetArrayLength(threads)));
  for (size_t i = 0; exact && i < nanos.size(); i++) {
    jobject thread = env->GetObjectArrayElement(threads, static_cast<jsize>(i));
    if (agent->jvmti->GetThreadCpuTime(thread, &nanos[i]) != JVMTI_ERROR_NONE) nanos[i] = 0;
    env->DeleteLocalRef(thread);
  }
  jlongArray all = env->NewLongArray(static_cast<jsize>(nanos.size()));
  if (all != nullptr) env->SetLongArrayRegion(all, 0, static_cast<jsize>(nanos.size()), nanos.data());
  return all;
}

JNIEXPORT jobjectArray JNICALL Java_misstep_agent_Native_stack(JNIEnv* env, jclass, jobject thread) {
  return misstep::StackNames(agent->jvmti, env, thread);
}

JNIEXPORT void JNICALL Java_misstep_agent_Native_ready(JNIEnv*, jclass) { agent->Ready(); }

// Where the JVM called this native method: the walks begin at the frame of its caller.
JNIEXPORT void JNICALL Java_java_lang_MisstepShadow_check(JNIEnv* env, jclass, jint) {
  agent->entries.Check(env, reinterpret_cast<uint64_t>(__builtin_return_address(0)),
                       reinterpret_cast<uint64_t>(__builtin_frame_address(0)));
}

JNIEXPORT jlong JNICALL Java_java_lang_MisstepShadow_attach(JNIEnv* env, jclass, jobject thread) {
  return agent->entries.Attach(env, thread);
}

}  // extern "C"
