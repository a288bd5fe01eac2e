// Compares two walks of the current thread's stack inside the JVM: JVMTI GetStackTrace and AsyncGetCallTrace. Both are
// called in native code, at a safepoint-safe place, so both must give the same frames. No part of any profiler is
// involved.
//
// Agent option: empty, or CLASS.METHOD (as in java/lang/Thread.exit): compare at a breakpoint at the start of that
// method while the test is armed. Without an option the Java side calls compare() itself.
//
// Build: g++ -std=c++17 -fPIC -shared -I$JDK/include -I$JDK/include/linux libWalkerTest.cpp -o libWalkerTest.so
#include <dlfcn.h>
#include <jni.h>
#include <jvmti.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

// AsyncGetCallTrace is exported by libjvm and declared in no header: src/hotspot/share/prims/forte.cpp.
struct CallFrame {
  jint bci;  // -3 in a native method
  jmethodID method;
};
struct CallTrace {
  JNIEnv* env;
  jint num_frames;  // an error code when it is not positive
  CallFrame* frames;
};
using AsyncGetCallTrace = void (*)(CallTrace*, jint depth, void* ucontext);

constexpr jint kDepth = 1024;

jvmtiEnv* jvmti;
AsyncGetCallTrace walk;
std::string break_class;  // "Ljava/lang/Thread;"
std::string break_method;
std::atomic<bool> armed;
std::atomic<int> compared;
std::atomic<int> differing;

void die(const char* what, jvmtiError error) {
  std::fprintf(stderr, "WalkerTest: %s: JVMTI error %d\n", what, static_cast<int>(error));
  std::abort();
}

std::string describe(jmethodID method, jlocation bci) {
  if (method == nullptr) {
    return "(no method)";
  }
  jclass holder = nullptr;
  char* name = nullptr;
  char* signature = nullptr;
  if (jvmti->GetMethodName(method, &name, nullptr, nullptr) != JVMTI_ERROR_NONE ||
      jvmti->GetMethodDeclaringClass(method, &holder) != JVMTI_ERROR_NONE ||
      jvmti->GetClassSignature(holder, &signature, nullptr) != JVMTI_ERROR_NONE) {
    return "(method unloaded)";
  }
  std::string text = std::string(signature + 1, std::strlen(signature) - 2) + "." + name;
  text += bci < 0 ? " (native)" : " @" + std::to_string(bci);
  jvmti->Deallocate(reinterpret_cast<unsigned char*>(name));
  jvmti->Deallocate(reinterpret_cast<unsigned char*>(signature));
  return text;
}

bool same(const jvmtiFrameInfo& a, const CallFrame& b) {
  return a.method == b.method && (a.location == b.bci || (a.location == -1 && b.bci == -3));
}

// compare walks twice and prints both stacks if they differ, the callee first, and marks differing lines with =>.
void compare(JNIEnv* env) {
  static jvmtiFrameInfo reference[kDepth];  // one thread compares at a time: the test has one
  static CallFrame frames[kDepth];
  jint depth = 0;
  // First, since it also makes the method ids that AsyncGetCallTrace only looks up.
  jvmtiError error = jvmti->GetStackTrace(nullptr, 0, kDepth, reference, &depth);
  if (error != JVMTI_ERROR_NONE) {
    die("GetStackTrace", error);
  }
  CallTrace trace{env, 0, frames};
  walk(&trace, kDepth, nullptr);
  jint length = trace.num_frames > 0 ? trace.num_frames : 0;
  // In a virtual thread GetStackTrace ends at its bottom and AsyncGetCallTrace continues into the carrier.
  bool into_carrier =
      depth > 0 && length > depth && describe(reference[depth - 1].method, 0).rfind("java/lang/VirtualThread.", 0) == 0;
  bool equal = length == depth || into_carrier;
  for (jint i = 0; equal && i < depth; i++) {
    equal = same(reference[i], frames[i]);
  }
  compared++;
  if (equal) {
    return;
  }
  differing++;
  std::printf("GetStackTrace gave %d frames, AsyncGetCallTrace %d:\n", depth, trace.num_frames);
  for (jint i = 0; i < depth || i < length; i++) {
    bool marked = i >= depth || i >= length || !same(reference[i], frames[i]);
    std::printf("%s %-60s %s\n", marked ? "=>" : "  ",
                i < depth ? describe(reference[i].method, reference[i].location).c_str() : "-",
                i < length ? describe(frames[i].method, frames[i].bci).c_str() : "-");
  }
  std::fflush(stdout);
}

// prime creates the ids of a class's methods, and sets the breakpoint if it is the class to compare in.
void prime(jclass klass) {
  jint count = 0;
  jmethodID* methods = nullptr;
  if (jvmti->GetClassMethods(klass, &count, &methods) != JVMTI_ERROR_NONE) {
    return;  // not prepared yet: ClassPrepare follows
  }
  char* signature = nullptr;
  if (!break_class.empty() && jvmti->GetClassSignature(klass, &signature, nullptr) == JVMTI_ERROR_NONE &&
      break_class == signature) {
    for (jint i = 0; i < count; i++) {
      char* name = nullptr;
      if (jvmti->GetMethodName(methods[i], &name, nullptr, nullptr) == JVMTI_ERROR_NONE && break_method == name) {
        jvmtiError error = jvmti->SetBreakpoint(methods[i], 0);
        if (error != JVMTI_ERROR_NONE && error != JVMTI_ERROR_DUPLICATE) {
          die("SetBreakpoint", error);
        }
      }
      jvmti->Deallocate(reinterpret_cast<unsigned char*>(name));
    }
  }
  jvmti->Deallocate(reinterpret_cast<unsigned char*>(signature));
  jvmti->Deallocate(reinterpret_cast<unsigned char*>(methods));
}

// AsyncGetCallTrace gives -1 unless this event is enabled.
void JNICALL class_load(jvmtiEnv*, JNIEnv*, jthread, jclass) {}

void JNICALL class_prepare(jvmtiEnv*, JNIEnv*, jthread, jclass klass) { prime(klass); }

void JNICALL vm_init(jvmtiEnv*, JNIEnv* env, jthread) {
  jint count = 0;
  jclass* classes = nullptr;
  if (jvmti->GetLoadedClasses(&count, &classes) != JVMTI_ERROR_NONE) {
    return;
  }
  for (jint i = 0; i < count; i++) {
    prime(classes[i]);
    env->DeleteLocalRef(classes[i]);
  }
  jvmti->Deallocate(reinterpret_cast<unsigned char*>(classes));
}

void JNICALL breakpoint(jvmtiEnv*, JNIEnv* env, jthread, jmethodID, jlocation) {
  if (armed.exchange(false)) {
    compare(env);
    armed = true;
  }
}

}  // namespace

extern "C" {

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM* vm, char* options, void*) {
  walk = reinterpret_cast<AsyncGetCallTrace>(dlsym(RTLD_DEFAULT, "AsyncGetCallTrace"));
  if (walk == nullptr || vm->GetEnv(reinterpret_cast<void**>(&jvmti), JVMTI_VERSION_1_2) != JNI_OK) {
    std::fprintf(stderr, "WalkerTest: this JVM has no %s\n", walk == nullptr ? "AsyncGetCallTrace" : "JVMTI");
    return JNI_ERR;
  }
  jvmtiEventCallbacks callbacks{};
  callbacks.ClassLoad = class_load;
  callbacks.ClassPrepare = class_prepare;
  callbacks.VMInit = vm_init;
  callbacks.Breakpoint = breakpoint;
  jvmti->SetEventCallbacks(&callbacks, sizeof callbacks);
  for (jvmtiEvent event : {JVMTI_EVENT_CLASS_LOAD, JVMTI_EVENT_CLASS_PREPARE, JVMTI_EVENT_VM_INIT}) {
    jvmti->SetEventNotificationMode(JVMTI_ENABLE, event, nullptr);
  }
  const char* dot = options == nullptr ? nullptr : std::strrchr(options, '.');
  if (dot != nullptr) {
    break_class = "L" + std::string(options, dot - options) + ";";
    break_method = dot + 1;
    jvmtiCapabilities capabilities{};
    capabilities.can_generate_breakpoint_events = 1;
    jvmtiError error = jvmti->AddCapabilities(&capabilities);
    if (error == JVMTI_ERROR_NONE) {
      error = jvmti->SetEventNotificationMode(JVMTI_ENABLE, JVMTI_EVENT_BREAKPOINT, nullptr);
    }
    if (error != JVMTI_ERROR_NONE) {
      die("breakpoints", error);
    }
  }
  return JNI_OK;
}

JNIEXPORT void JNICALL Java_WalkerTest_compare(JNIEnv* env, jclass) { compare(env); }
JNIEXPORT void JNICALL Java_WalkerTest_arm(JNIEnv*, jclass, jboolean on) { armed = on; }
JNIEXPORT jint JNICALL Java_WalkerTest_compared(JNIEnv*, jclass) { return compared; }
JNIEXPORT jint JNICALL Java_WalkerTest_differing(JNIEnv*, jclass) { return differing; }

}  // extern "C"
