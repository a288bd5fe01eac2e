#include "callbacks.h"

#include <jvmticmlr.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "agent.h"
#include "clock.h"
#include "instrumented.h"
#include "log.h"
#include "publisher.h"
#include "rules.h"

namespace misstep {

namespace {

// A redefined class has frames of both versions for a while. A class that is loaded during the instrumentation of
// another one is not instrumented: the JVM does not call transformers recursively (java.instrument: Reentrancy.c).
void JNICALL OnClassFileLoad(jvmtiEnv*, JNIEnv*, jclass redefined, jobject, const char* name, jobject, jint,
                             const unsigned char*, jint*, unsigned char**) {
  if (name == nullptr) return;
  if (redefined != nullptr) {
    agent->methods.Redefine(name);
    agent->redefines.store(true);
    if (agent->sites.on()) agent->sites.Redefined(name);
  } else if (Instrumented() != nullptr && !std::string_view(name).starts_with("misstep/agent/")) {
    NotInstrumented(agent->status, name, "it was loaded while its thread instrumented " + *Instrumented());
  }
}

void JNICALL OnClassLoad(jvmtiEnv*, JNIEnv*, jthread, jclass) {
  // Must be enabled: without it ASGCT returns -1 (forte.cpp).
}

void JNICALL OnClassPrepare(jvmtiEnv* jvmti, JNIEnv* env, jthread, jclass klass) {
  PublishClass(*agent, env, klass, When::kPrepare);
  if (agent->service_thread.Runs()) return;
  std::string name;
  MaySafepoint();
  if (!NameOf(jvmti, klass, &name) || !ServiceThread::StartsBefore(name)) return;
  if (const std::string error = agent->service_thread.Begin(jvmti); !error.empty()) {
    Log("no checks: " + error);
    return;
  }
  agent->ServiceThreadRuns();
}

// Points of a perturbation where a thread blocks, and where it was woken.
void At(uint32_t event, uint32_t waker = kWakerThread) {
  Slot* slot = Threads::Current();
  if (slot != nullptr && agent->stage.load(std::memory_order_acquire) == Stage::kReady)
    agent->perturber.Point(&slot->point, event, waker);
}

void JNICALL OnMonitorContendedEnter(jvmtiEnv*, JNIEnv*, jthread, jobject) { At(kEventExpiry); }

void JNICALL OnMonitorContendedEntered(jvmtiEnv*, JNIEnv*, jthread, jobject) { At(kEventWakeup); }

void JNICALL OnMonitorWaited(jvmtiEnv*, JNIEnv*, jthread, jobject, jboolean timed_out) {
  At(kEventWakeup, timed_out == JNI_TRUE ? kWakerOutside : kWakerThread);
}

// Enabled for brackets only: they need the slots of all threads, and the threads themselves.
void JNICALL OnThreadStart(jvmtiEnv*, JNIEnv* env, jthread thread) {
  Slot* slot = agent->entries.SlotOfThisThread(env, thread);
  if (slot != nullptr && slot->bracket.thread == nullptr) {  // else it was adopted as it started
    MaySafepoint();
    slot->bracket.thread = env->NewGlobalRef(thread);
  }
}

// The calling thread has no slot and no shadow stack from here on: the slot's may be another thread's.
void GiveUpSlot(JNIEnv* env, jthread ending) {
  MaySafepoint();
  if (agent->shadow_field != nullptr) env->SetLongField(ending, agent->shadow_field, -1);
  Slot* slot = Threads::Current();
  if (slot == nullptr) return;
  const jthread thread = slot->bracket.thread;
  agent->threads.End();
  // The slot may be another thread's from here on.
  MaySafepoint();
  if (thread != nullptr) env->DeleteGlobalRef(thread);
}

// Other agents may run code on it from here on.
void JNICALL OnThreadEnd(jvmtiEnv*, JNIEnv* env, jthread ending) { GiveUpSlot(env, ending); }

void JNICALL OnCompiledMethodLoad(jvmtiEnv*, jmethodID method, jint size, const void* address, jint,
                                  const jvmtiAddrLocationMap*, const void* info) {
  const auto id = reinterpret_cast<uint64_t>(method);
  NmethodBuilder builder(reinterpret_cast<uint64_t>(address), static_cast<uint64_t>(size), id);
  std::vector<Frame> frames;
  for (auto* header = static_cast<const jvmtiCompiledMethodLoadRecordHeader*>(info); header != nullptr;
       header = header->next) {
    if (header->kind != JVMTI_CMLR_INLINE_INFO) continue;
    const auto* record = reinterpret_cast<const jvmtiCompiledMethodLoadInlineRecord*>(header);
    for (jint i = 0; i < record->numpcs; i++) {
      const PCStackInfo& pc = record->pcinfo[i];
      frames.clear();
      for (jint f = 0; f < pc.numstackframes; f++) {
        frames.push_back({reinterpret_cast<uint64_t>(pc.methods[f]), pc.bcis[f], nullptr});
      }
      agent->methods.Resolve(frames);
      agent->methods.NoteGiven(frames);
      builder.Add(frames);
    }
  }
  const MethodInfo* root = agent->methods.Find(id);
  if (root == nullptr) agent->methods.NoteGiven(std::vector<Frame>{{id, 0, nullptr}});
  agent->code.Load(builder.Take(), root != nullptr ? root->key : 0, MonotonicNanos());
  if (!ServiceThread::Generating())
    agent->sender.store(static_cast<int32_t>(syscall(SYS_gettid)), std::memory_order_relaxed);
}

void JNICALL OnCompiledMethodUnload(jvmtiEnv*, jmethodID, const void* address) {
  agent->code.Unload(reinterpret_cast<uint64_t>(address), MonotonicNanos());
}

void JNICALL OnDynamicCode(jvmtiEnv*, const char* name, const void* address, jint size) {
  const std::string_view stub = name != nullptr ? name : "";
  agent->code.AddStub(stub, reinterpret_cast<uint64_t>(address), static_cast<uint64_t>(size));
  agent->deopt_stubs.Add(stub, reinterpret_cast<uint64_t>(address), static_cast<uint64_t>(size));
}

// Clears a pending exception of the agent, so that it cannot become the application's.
template <typename T>
T Cleared(JNIEnv* env, T result) {
  if (env->ExceptionCheck() == JNI_TRUE) env->ExceptionClear();
  return result;
}

// Looks up what the checks at instrumented methods need. Exits if the patch jar is missing.
void LinkShadow(JNIEnv* env, jthread thread) {
  jclass thread_class = Cleared(env, env->FindClass("java/lang/Thread"));
  jclass shadow_class = Cleared(env, env->FindClass("java/lang/MisstepShadow"));
  if (thread_class != nullptr) agent->shadow_field = Cleared(env, env->GetFieldID(thread_class, "misstepShadow", "J"));
  if (shadow_class == nullptr || agent->shadow_field == nullptr) {
    const char* line =
        "misstep: java.lang.Thread is not patched: start the JVM with the patch jar (--patch-module "
        "java.base=JAR, on JDK 8 -Xbootclasspath/p:JAR)";
    std::fprintf(stderr, "%s\n", line);
    Log(line);
    std::_Exit(1);
  }
  if (jclass virtual_class = Cleared(env, env->FindClass("java/lang/VirtualThread")); virtual_class != nullptr) {
    agent->virtual_thread_class = static_cast<jclass>(env->NewGlobalRef(virtual_class));
    if (Cleared(env, env->GetStaticFieldID(virtual_class, "misstepMounts", "Z")) != nullptr) {
      agent->thread_class = static_cast<jclass>(env->NewGlobalRef(thread_class));
      agent->current_carrier =
          Cleared(env, env->GetStaticMethodID(thread_class, "currentCarrierThread", "()Ljava/lang/Thread;"));
    } else {
      Log("virtual threads are not compared in samples: this JDK's java.lang.VirtualThread mounts in another way");
    }
    env->DeleteLocalRef(virtual_class);
  }
  // Each native is called once here, so that it is linked before any class is instrumented: the JVM looks natives up in
  // Java code (ClassLoader.findNative), which must not happen within the first instrumented method. RegisterNatives
  // would do without the call, but 17 and later warn when an agent registers natives of java.base.
  jmethodID attach = Cleared(env, env->GetStaticMethodID(shadow_class, "attach", "(Ljava/lang/Thread;)J"));
  jmethodID check = Cleared(env, env->GetStaticMethodID(shadow_class, "check", "(I)V"));
  if (attach != nullptr && check != nullptr) {
    Cleared(env, env->CallStaticLongMethod(shadow_class, attach, thread));
    env->CallStaticVoidMethod(shadow_class, check, 0);
  }
  if (attach == nullptr || check == nullptr || env->ExceptionCheck() == JNI_TRUE) {
    std::fprintf(stderr, "misstep: the natives of java.lang.MisstepShadow cannot be linked: wrong patch jar\n");
    std::_Exit(1);
  }
  env->DeleteLocalRef(thread_class);
  env->DeleteLocalRef(shadow_class);
}

void JNICALL OnVMInit(jvmtiEnv* jvmti, JNIEnv* env, jthread thread) {
  MaySafepoint();
  const bool methods = NeedsMethods(agent->options);
  if (methods) {
    LinkShadow(env, thread);
    if (jvmti->SetEventNotificationMode(JVMTI_ENABLE, JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, nullptr) != JVMTI_ERROR_NONE)
      Log("classes that are not instrumented are not logged: the JVM refuses the JVMTI event ClassFileLoadHook");
  }
  if (agent->options.bracket > 0) OnThreadStart(jvmti, env, thread);
  PublishLoaded(*agent, env);  // classes prepared before the event could be sent
  // Otherwise the Java half calls Ready.
  if (!methods) agent->Ready();
}

void LogEdges() {
  if (agent->options.edges <= 0) return;
  std::string line = "edges judged:";
  for (size_t i = 0; i < static_cast<size_t>(Explained::kCount); i++) {
    line.append(" ").append(std::to_string(agent->edges[i].load())).append(" ").append(kExplainedNames[i]);
  }
  Log(line);
}

// The proof that a build asserts the rules, and how often.
void LogAsserted() {
  if constexpr (kAsserts) {
    std::string line = "asserted:";
    for (size_t rule = 1; rule < std::size(asserted); rule++) {
      line.append(" rule ").append(std::to_string(rule)).append(" ").append(std::to_string(asserted[rule].load()));
    }
    Log(line);
  }
}

void JNICALL OnVMDeath(jvmtiEnv*, JNIEnv* env) { EndAgent(env); }

}  // namespace

void EndAgent(JNIEnv* env) {
  agent->End();
  WriteRedefined(*agent, env);
  LogEdges();
  LogAsserted();
  agent->status->flags.fetch_or(MISSTEP_STATUS_FLAG_ENDED);
}

void LeaveAlone(JNIEnv* env, jthread thread) {
  GiveUpSlot(env, thread);
  Threads::ExcludeThisThread();
}

jvmtiEventCallbacks Callbacks() {
  jvmtiEventCallbacks callbacks = {};
  callbacks.VMInit = OnVMInit;
  callbacks.VMDeath = OnVMDeath;
  callbacks.ClassLoad = OnClassLoad;
  callbacks.ClassPrepare = OnClassPrepare;
  callbacks.ThreadStart = OnThreadStart;
  callbacks.ThreadEnd = OnThreadEnd;
  callbacks.ClassFileLoadHook = OnClassFileLoad;
  callbacks.MonitorContendedEnter = OnMonitorContendedEnter;
  callbacks.MonitorContendedEntered = OnMonitorContendedEntered;
  callbacks.MonitorWaited = OnMonitorWaited;
  callbacks.CompiledMethodLoad = OnCompiledMethodLoad;
  callbacks.CompiledMethodUnload = OnCompiledMethodUnload;
  callbacks.DynamicCodeGenerated = OnDynamicCode;
  return callbacks;
}

}  // namespace misstep
