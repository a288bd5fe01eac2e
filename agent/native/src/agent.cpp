// Agent_OnLoad, the JVMTI events, and the glue between them.

#include "agent.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <jvmticmlr.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <iterator>

#include "seam.h"

namespace misstep {

Agent* agent = nullptr;

namespace {

int log_fd = -1;

// Name of the class that this thread instruments, null when it does not.
thread_local const std::string* instrumenting = nullptr;

// The Service Thread posts the events of compiled code. JDK 8 starts it last of all, and until then nothing keeps the
// code alive whose events wait: each safepoint lets the sweeper take some away, and the thread's first event ends the
// JVM (docs/design/0011). There no event is asked for before the classes are prepared that come next, and all checks
// wait for the code map.
std::atomic<bool> service_thread = true;
std::atomic<bool> waits_for_service_thread = false;
constexpr std::string_view kAfterServiceThread[] = {"sun/misc/PostVMInitHook", "sun/launcher/LauncherHelper"};

bool StartsServiceThreadLast(jvmtiEnv* jvmti) {
  jint version = 0;
  return jvmti->GetVersionNumber(&version) == JVMTI_ERROR_NONE &&
         (version & JVMTI_VERSION_MASK_MAJOR) >> JVMTI_VERSION_SHIFT_MAJOR == 1;
}

template <typename T>
void Free(T* memory) {
  if (memory != nullptr) agent->jvmti->Deallocate(reinterpret_cast<unsigned char*>(memory));
}

// "Ljava/lang/String;" -> "java/lang/String". Arrays and primitives have no methods of their own.
std::string InternalName(const char* signature) {
  std::string s = signature != nullptr ? signature : "";
  if (s.size() >= 2 && s.front() == 'L' && s.back() == ';') return s.substr(1, s.size() - 2);
  return s;
}

// The internal name of a class.
bool NameOf(jclass klass, std::string* name) {
  char* signature = nullptr;
  if (agent->jvmti->GetClassSignature(klass, &signature, nullptr) != JVMTI_ERROR_NONE) return false;
  *name = InternalName(signature);
  Free(signature);
  return true;
}

// What JVMTI tells of a method, without its code.
bool Read(jmethodID method, PreparedMethod* m, bool* has_code) {
  constexpr jint kStatic = 0x0008;
  constexpr jint kNative = 0x0100;
  constexpr jint kAbstract = 0x0400;
  char* name = nullptr;
  char* descriptor = nullptr;
  if (agent->jvmti->GetMethodName(method, &name, &descriptor, nullptr) != JVMTI_ERROR_NONE) return false;
  jint modifiers = 0;
  agent->jvmti->GetMethodModifiers(method, &modifiers);
  m->method = reinterpret_cast<uint64_t>(method);
  m->name = name;
  m->descriptor = descriptor;
  m->native = (modifiers & kNative) != 0;
  m->is_static = (modifiers & kStatic) != 0;
  *has_code = (modifiers & (kNative | kAbstract)) == 0;
  Free(name);
  Free(descriptor);
  return true;
}

// A frame of a version that another has replaced has a jmethodID of its own, which its class does not list (HotSpot:
// VM_RedefineClasses::check_methods_and_mark_as_obsolete).
void PublishObsolete(jclass klass, jmethodID method) {
  MaySafepoint();
  std::string name;
  PreparedMethod m;
  bool has_code = false;
  if (NameOf(klass, &name) && Read(method, &m, &has_code)) agent->methods.PublishObsolete(name, m);
}

// The registrations made for this class in this loader. Those of loaders that are gone are forgotten: a program that
// loads a class again and again, each time in another loader, has no end of them.
std::vector<std::shared_ptr<const Registration>> RegistrationsFor(JNIEnv* env, const std::string& name, jclass klass) {
  std::vector<std::shared_ptr<const Registration>> mine;
  std::vector<std::shared_ptr<const Registration>> gone;
  const auto all = agent->methods.Registrations(name);
  if (all.empty()) return mine;
  jobject loader = nullptr;
  MaySafepoint();
  if (agent->jvmti->GetClassLoader(klass, &loader) != JVMTI_ERROR_NONE) return mine;
  for (const auto& r : all) {
    const auto weak = static_cast<jobject>(r->loader.get());
    if (weak != nullptr && env->IsSameObject(weak, nullptr) == JNI_TRUE) {
      gone.push_back(r);
    } else if (weak == nullptr || loader == nullptr ? weak == nullptr && loader == nullptr
                                                    : env->IsSameObject(weak, loader) == JNI_TRUE) {
      mine.push_back(r);
    }
  }
  if (loader != nullptr) env->DeleteLocalRef(loader);
  if (!gone.empty()) agent->methods.Forget(name, gone);
  return mine;
}

// What edges, brackets and the shadow's checks read of a class: nothing when all are off.
class EdgeFacts {
 public:
  EdgeFacts(JNIEnv* env, jclass klass) {
    if (!NeedsCode(agent->options)) return;
    MaySafepoint();
    jint count = 0;
    jint size = 0;
    // Classes that have no constant pool (arrays) have no methods either.
    if (agent->jvmti->GetConstantPool(klass, &count, &size, &bytes_) != JVMTI_ERROR_NONE) return;
    pool_ = ConstantPool(std::span(bytes_, static_cast<size_t>(size)), static_cast<uint32_t>(count));
    jboolean interface = JNI_FALSE;
    agent->jvmti->IsInterface(klass, &interface);
    if (jclass super = env->GetSuperclass(klass); super != nullptr) {
      char* signature = nullptr;
      if (agent->jvmti->GetClassSignature(super, &signature, nullptr) == JVMTI_ERROR_NONE) {
        super_ = InternalName(signature);
      }
      Free(signature);
      env->DeleteLocalRef(super);
    }
    facts_ = {.super = super_, .interface = interface == JNI_TRUE, .pool = &pool_};
  }
  ~EdgeFacts() { Free(bytes_); }
  EdgeFacts(const EdgeFacts&) = delete;
  EdgeFacts& operator=(const EdgeFacts&) = delete;

  bool on() const { return bytes_ != nullptr; }
  const ClassFacts* facts() const { return on() ? &facts_ : nullptr; }

  static void ReadCode(jmethodID method, std::vector<RawSite>* sites) {
    jint size = 0;
    unsigned char* code = nullptr;
    if (agent->jvmti->GetBytecodes(method, &size, &code) != JVMTI_ERROR_NONE) return;
    if (!ScanCode(std::span(code, static_cast<size_t>(size)), sites)) sites->clear();
    Free(code);
  }

 private:
  unsigned char* bytes_ = nullptr;
  ConstantPool pool_{{}, 0};
  std::string super_;
  ClassFacts facts_;
};

// A class that gets other code has frames of both versions for a while. One that is loaded in the middle of another's
// instrumentation keeps its code: the JVM calls no transformer within itself (java.instrument: Reentrancy.c).
void JNICALL OnClassFileLoad(jvmtiEnv*, JNIEnv*, jclass redefined, jobject, const char* name, jobject, jint,
                             const unsigned char*, jint*, unsigned char**) {
  if (name == nullptr) return;
  if (redefined != nullptr) {
    agent->methods.Redefine(name);
    agent->redefines.store(true);
  } else if (instrumenting != nullptr && !std::string_view(name).starts_with("misstep/agent/")) {
    NotInstrumented(name, "it was loaded while its thread instrumented " + *instrumenting);
  }
}

void JNICALL OnClassLoad(jvmtiEnv*, JNIEnv*, jthread, jclass) {
  // Must be enabled: without it ASGCT gives -1 (forte.cpp).
}

thread_local bool generating = false;  // this thread has the JVM tell of what was compiled

// Has the JVM tell of compiled code. Returns what is wrong.
std::string WatchCode() {
  for (const jvmtiEvent event : {JVMTI_EVENT_COMPILED_METHOD_LOAD, JVMTI_EVENT_COMPILED_METHOD_UNLOAD}) {
    if (agent->jvmti->SetEventNotificationMode(JVMTI_ENABLE, event, nullptr) != JVMTI_ERROR_NONE) {
      return "cannot enable JVMTI event " + std::to_string(event);
    }
  }
  return "";
}

void JNICALL OnClassPrepare(jvmtiEnv*, JNIEnv* env, jthread, jclass klass) {
  PublishClass(env, klass);
  if (service_thread.load(std::memory_order_acquire)) return;
  std::string name;
  MaySafepoint();
  if (!NameOf(klass, &name) || std::ranges::count(kAfterServiceThread, name) == 0) return;
  // What was compiled before is told here and now, by this thread.
  std::string error = WatchCode();
  generating = true;
  const bool generated =
      error.empty() && agent->jvmti->GenerateEvents(JVMTI_EVENT_COMPILED_METHOD_LOAD) == JVMTI_ERROR_NONE;
  generating = false;
  if (error.empty() && !generated) {
    error = "cannot learn of the code that was compiled before the Service Thread began";
  }
  if (!error.empty()) {
    Log("no checks: " + error);
    return;
  }
  service_thread.store(true, std::memory_order_release);
  if (waits_for_service_thread.load(std::memory_order_acquire)) Ready();
}

// Points of a perturbation where a thread blocks, and where it was woken.
void At(uint32_t event) {
  Slot* slot = Threads::Current();
  if (slot != nullptr && agent->stage.load(std::memory_order_acquire) == Stage::kReady)
    agent->perturber.Point(&slot->point, event);
}

void JNICALL OnMonitorContendedEnter(jvmtiEnv*, JNIEnv*, jthread, jobject) { At(kEventExpiry); }

void JNICALL OnMonitorContendedEntered(jvmtiEnv*, JNIEnv*, jthread, jobject) { At(kEventWakeup); }

void JNICALL OnMonitorWaited(jvmtiEnv*, JNIEnv*, jthread, jobject, jboolean) { At(kEventWakeup); }

// Enables the points. Returns what is wrong.
std::string StartPerturbing(Agent* a) {
  std::string error = a->perturber.Open(a->options.perturb, a->options.out + "/schedule.bin");
  if (!error.empty()) return error;
  a->perturber.Others(
      [](size_t i) {
        Slot* slot = agent->threads.at(i);
        return slot != nullptr ? &slot->point : nullptr;
      },
      [] { return agent->threads.size(); });
  jvmtiCapabilities capabilities = {};
  capabilities.can_generate_monitor_events = 1;
  if (a->jvmti->AddCapabilities(&capabilities) != JVMTI_ERROR_NONE)
    return "this JVM refuses monitor events, which option perturb needs";
  return "";
}

// Enabled for brackets only: they need the slots of all threads, and the threads themselves.
void JNICALL OnThreadStart(jvmtiEnv*, JNIEnv* env, jthread thread) {
  if (Slot* slot = SlotOfThisThread(env, thread); slot != nullptr) {
    MaySafepoint();
    slot->bracket.thread = env->NewGlobalRef(thread);
  }
}

void JNICALL OnThreadEnd(jvmtiEnv*, JNIEnv* env, jthread ending) {
  // What other agents run on it from here on has no shadow: the slot's may be another thread's.
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
      agent->methods.Given(frames);
      builder.Add(frames);
    }
  }
  const MethodInfo* root = agent->methods.Find(id);
  if (root == nullptr) agent->methods.Given(std::vector<Frame>{{id, 0, nullptr}});
  agent->code.Load(builder.Take(), root != nullptr ? root->key : 0, MonotonicNanos());
  if (!generating) agent->sender.store(static_cast<int32_t>(syscall(SYS_gettid)), std::memory_order_relaxed);
}

void JNICALL OnCompiledMethodUnload(jvmtiEnv*, jmethodID, const void* address) {
  agent->code.Unload(reinterpret_cast<uint64_t>(address), MonotonicNanos());
}

void JNICALL OnDynamicCode(jvmtiEnv*, const char* name, const void* address, jint size) {
  const std::string_view stub = name != nullptr ? name : "";
  agent->code.AddStub(stub, reinterpret_cast<uint64_t>(address), static_cast<uint64_t>(size));
  agent->deopt_stubs.Add(stub, reinterpret_cast<uint64_t>(address), static_cast<uint64_t>(size));
}

// Clears a pending exception of ours, so that it cannot become the application's.
template <typename T>
T Cleared(JNIEnv* env, T result) {
  if (env->ExceptionCheck() == JNI_TRUE) env->ExceptionClear();
  return result;
}

// What the checks at instrumented methods need of the JVM. Ends it when the patch jar is missing.
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
      Log("classes that stay without instrumentation are not told of: the JVMTI event ClassFileLoadHook is refused");
  }
  if (agent->options.bracket > 0) OnThreadStart(jvmti, env, thread);
  // Classes prepared before the event could be sent.
  jint count = 0;
  jclass* classes = nullptr;
  if (jvmti->GetLoadedClasses(&count, &classes) == JVMTI_ERROR_NONE) {
    for (jint i = 0; i < count; i++) {
      PublishClass(env, classes[i]);
      env->DeleteLocalRef(classes[i]);
    }
    Free(classes);
  }
  // Else the Java half says when it is ready.
  if (!methods) Ready();
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

void JNICALL OnVMDeath(jvmtiEnv*, JNIEnv*) {
  if (agent->stage.exchange(Stage::kEnded) == Stage::kReady) StopSampler();
  LogEdges();
  LogAsserted();
  agent->status->flags.fetch_or(MISSTEP_STATUS_FLAG_ENDED);
}

std::string Start(JavaVM* vm, const char* text) {
  auto a = std::make_unique<Agent>();
  a->option_text = text != nullptr ? text : "";
  std::string error = ParseOptions(a->option_text, &a->options);
  if (!error.empty()) return error;
  struct stat folder = {};
  if (stat(a->options.out.c_str(), &folder) != 0 || !S_ISDIR(folder.st_mode)) {
    return "option out=" + a->options.out + ": expected an existing folder";
  }
  if (!a->options.only.empty() && access(a->options.only.c_str(), R_OK) != 0) {
    return "option only=" + a->options.only + ": cannot read it: " + std::strerror(errno);
  }
  a->vm = vm;
  a->asgct = reinterpret_cast<AsgctFunction>(dlsym(RTLD_DEFAULT, "AsyncGetCallTrace"));
  if (a->asgct == nullptr) {
    if (void* jvm = dlopen("libjvm.so", RTLD_NOW | RTLD_NOLOAD); jvm != nullptr) {
      a->asgct = reinterpret_cast<AsgctFunction>(dlsym(jvm, "AsyncGetCallTrace"));
    }
  }
  if (a->asgct == nullptr) return "this JVM has no AsyncGetCallTrace: use a HotSpot JVM";
  if (vm->GetEnv(reinterpret_cast<void**>(&a->jvmti), JVMTI_VERSION_1_2) != JNI_OK) return "this JVM has no JVMTI 1.2";
  jvmtiCapabilities capabilities = {};
  capabilities.can_generate_compiled_method_load_events = 1;
  if (a->jvmti->AddCapabilities(&capabilities) != JVMTI_ERROR_NONE)
    return "this JVM refuses compiled method load events";
  if (NeedsCode(a->options)) {
    capabilities = {};
    capabilities.can_get_bytecodes = 1;
    capabilities.can_get_constant_pool = 1;
    capabilities.can_retransform_classes = 1;  // or it would not be told of retransformations
    if (a->jvmti->AddCapabilities(&capabilities) != JVMTI_ERROR_NONE) {
      return "this JVM does not show byte code: gst-asgct alone needs none";
    }
  }
  a->status = CreateStatus(a->options.out + "/status.bin", &error);
  if (a->status == nullptr) return error;
  error = a->recorder.Open(a->options.out + "/mismatches.jsonl", a->options.max_mismatches,
                           a->options.evidence == Evidence::kEvery);
  if (!error.empty()) return error;
  const std::string log = a->options.out + "/agent.log";
  log_fd = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (log_fd < 0) return "cannot create " + log + ": " + std::strerror(errno);
  if (a->options.asgct_shadow > 0 || a->options.bracket > 0) {
    error = InstallHandler(a->options.signal);
    if (!error.empty()) return error;
  }
  if (!a->options.perturb.empty()) {
    error = StartPerturbing(a.get());
    if (!error.empty()) return error;
  }
  agent = a.release();
  service_thread = !StartsServiceThreadLast(agent->jvmti);
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
  if (agent->jvmti->SetEventCallbacks(&callbacks, sizeof(callbacks)) != JVMTI_ERROR_NONE)
    return "cannot set event callbacks";
  for (const jvmtiEvent event :
       {JVMTI_EVENT_VM_INIT, JVMTI_EVENT_VM_DEATH, JVMTI_EVENT_CLASS_LOAD, JVMTI_EVENT_CLASS_PREPARE,
        JVMTI_EVENT_THREAD_END, JVMTI_EVENT_DYNAMIC_CODE_GENERATED}) {
    if (agent->jvmti->SetEventNotificationMode(JVMTI_ENABLE, event, nullptr) != JVMTI_ERROR_NONE) {
      return "cannot enable JVMTI event " + std::to_string(event);
    }
  }
  if (service_thread.load(std::memory_order_acquire)) {
    error = WatchCode();
    if (!error.empty()) return error;
  }
  if (NeedsCode(agent->options) && agent->jvmti->SetEventNotificationMode(
                                       JVMTI_ENABLE, JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, nullptr) != JVMTI_ERROR_NONE) {
    return "cannot enable the JVMTI event ClassFileLoadHook: gst-asgct alone needs none";
  }
  if (agent->options.bracket > 0 &&
      agent->jvmti->SetEventNotificationMode(JVMTI_ENABLE, JVMTI_EVENT_THREAD_START, nullptr) != JVMTI_ERROR_NONE) {
    return "cannot enable JVMTI event ThreadStart";
  }
  for (const jvmtiEvent event :
       {JVMTI_EVENT_MONITOR_CONTENDED_ENTER, JVMTI_EVENT_MONITOR_CONTENDED_ENTERED, JVMTI_EVENT_MONITOR_WAITED}) {
    if (agent->perturber.on() &&
        agent->jvmti->SetEventNotificationMode(JVMTI_ENABLE, event, nullptr) != JVMTI_ERROR_NONE) {
      return "cannot enable JVMTI event " + std::to_string(event);
    }
  }
  return "";
}

}  // namespace

void Ready() {
  waits_for_service_thread.store(true, std::memory_order_release);
  if (!service_thread.load(std::memory_order_acquire)) return;
  auto starting = Stage::kStarting;
  if (!agent->stage.compare_exchange_strong(starting, Stage::kReady)) return;
  agent->status->flags.fetch_or(MISSTEP_STATUS_FLAG_STARTED);
  StartSampler();
}

uint64_t MonotonicNanos() {
  timespec ts = {};
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return static_cast<uint64_t>(ts.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(ts.tv_nsec);
}

void Report(const Mismatch& m) {
  if (const std::string line = agent->recorder.Report(m); !line.empty()) Log(line);
}

void Log(std::string_view line) {
  std::string whole(line);
  whole.push_back('\n');
  [[maybe_unused]] const ssize_t n = write(log_fd, whole.data(), whole.size());
}

void NotInstrumented(std::string_view class_name, std::string_view why) {
  // A class loaded in an endless variety must not fill the disk.
  constexpr uint64_t kMostLogged = 10000;
  if (agent->status->failed.fetch_add(1) >= kMostLogged) return;
  Log(std::string("not instrumented: ").append(class_name).append(": ").append(why));
}

void Instrumenting(const std::string* class_name) { instrumenting = class_name; }

void PublishClass(JNIEnv* env, jclass klass) {
  MaySafepoint();
  agent->publishing.fetch_add(1);
  struct Done {
    ~Done() { agent->publishing.fetch_sub(1); }
  } const done;
  jint count = 0;
  jmethodID* methods = nullptr;
  // This makes the jmethodIDs that ASGCT can only look up. It fails for classes that are not prepared yet: their event
  // comes, and for arrays and primitives, which have no methods.
  if (agent->jvmti->GetClassMethods(klass, &count, &methods) != JVMTI_ERROR_NONE) return;
  std::string name;
  if (count > 0 && NameOf(klass, &name)) {
    EdgeFacts edges(env, klass);
    std::vector<PreparedMethod> prepared;
    prepared.reserve(static_cast<size_t>(count));
    for (jint i = 0; i < count; i++) {
      PreparedMethod m;
      bool has_code = false;
      if (!Read(methods[i], &m, &has_code)) continue;
      if (edges.on() && has_code) edges.ReadCode(methods[i], &m.sites);
      prepared.push_back(std::move(m));
    }
    agent->methods.Publish(name, prepared, RegistrationsFor(env, name, klass), edges.facts());
  }
  Free(methods);
}

void ResolveOwnStack(JNIEnv* env, std::span<Frame> frames) {
  agent->methods.Resolve(frames);
  bool missing = false;
  for (const Frame& f : frames) {
    if (f.info != nullptr || f.method == 0) continue;
    jclass klass = nullptr;
    MaySafepoint();
    if (agent->jvmti->GetMethodDeclaringClass(reinterpret_cast<jmethodID>(f.method), &klass) != JVMTI_ERROR_NONE)
      continue;
    // What another thread has redefined is published by that one. To ask for a class's methods while it changes again
    // may crash the JVM: 17 in jvmti_GetClassMethods.
    std::string name;
    if (!NameOf(klass, &name) || !agent->methods.IsRedefined(name)) PublishClass(env, klass);
    if (agent->methods.Find(f.method) == nullptr) PublishObsolete(klass, reinterpret_cast<jmethodID>(f.method));
    env->DeleteLocalRef(klass);
    missing = true;
    agent->methods.Resolve(frames);
  }
  if (missing) agent->methods.Resolve(frames);
}

void Walk(AsgctTrace* trace, void* context, uint64_t walk) {
  if (misstep_seam_walk != nullptr) misstep_seam_walk(walk);
  const auto depth = static_cast<jint>(agent->options.depth);
  agent->asgct(trace, depth, context);
  // More than there is room for is no count of frames, and like no code: nobody is to read what is not there.
  if (trace->num_frames > depth) trace->num_frames = -trace->num_frames;
}

void CountWalk(Check check, const Verdict& verdict, uint64_t walk, uint64_t pc) {
  Count(agent->status, check, verdict);
  SayVerdict(check, verdict, walk, pc);
}

void SayVerdict(Check check, const Verdict& verdict, uint64_t walk, uint64_t pc) {
  if (misstep_seam_verdict == nullptr) return;
  const char* detail = verdict.outcome == Outcome::kTolerated  ? kRuleNames[static_cast<int>(verdict.rule)]
                       : verdict.outcome == Outcome::kMismatch ? kKindNames[static_cast<int>(verdict.kind)]
                                                               : kReasonNames[static_cast<int>(verdict.reason)];
  const auto key_of = [](uint64_t method, int32_t bci) {
    const MethodInfo* info = agent->methods.Find(method);
    return info != nullptr && CertainlyOnShadow(*info, bci) ? info->key : 0;
  };
  const auto top_of = [](uint64_t from, const MisstepSeamFrame* frames, uint32_t count) {
    std::vector<Frame> all;
    all.reserve(count);
    for (uint32_t i = 0; i < count; i++) all.push_back({frames[i].method, frames[i].bci, nullptr});
    agent->methods.Resolve(all);
    std::vector<NmethodRef> at_pc;
    const Region region = agent->code.Find(from, &at_pc);
    return static_cast<uint32_t>(TopGroup(all, region, at_pc, agent->code));
  };
  const auto java_at = [](uint64_t from) {
    std::vector<NmethodRef> at_pc;
    return agent->code.Find(from, &at_pc) == Region::kCompiled && AllJava(at_pc);
  };
  misstep_seam_verdict(walk, kCheckNames[static_cast<int>(check)], static_cast<uint32_t>(verdict.outcome), detail,
                       key_of, pc, top_of, java_at);
}

void CheckEdgesOf(std::span<const Frame> frames, const Origin& origin, uint64_t* random) {
  if (agent->options.edges <= 0 || frames.empty() || Uniform(random) >= agent->options.edges) return;
  EdgeCounts counts;
  const Verdict verdict = CheckEdges(frames, &counts);
  for (size_t i = 0; i < static_cast<size_t>(Explained::kCount); i++) {
    if (counts.of[i] != 0) agent->edges[i].fetch_add(counts.of[i], std::memory_order_relaxed);
  }
  if (verdict.outcome == Outcome::kMismatch) {
    Mismatch m;
    m.check = Check::kEdges;
    m.verdict = verdict;
    m.suspect = Named(origin.source, frames, origin.num_frames);
    // The stack as the byte code has it, up to what it calls there, if anything.
    const std::span<const Frame> below = frames.last(verdict.divergence);
    m.reference = Named("bytecode", below, 0);
    if (const auto call = CallOf(below[0])) m.reference.frames.insert(m.reference.frames.begin(), {*call, 0});
    m.reference.num_frames = static_cast<int32_t>(m.reference.frames.size());
    m.place = origin.place;
    AddStack(&m, frames, {});
    Report(m);
  }
  if (origin.walk != 0) {
    CountWalk(Check::kEdges, verdict, origin.walk, origin.place.spot.pc);
  } else {
    Count(agent->status, Check::kEdges, verdict);
  }
}

NamedTrace Named(const char* source, std::span<const Frame> frames, int32_t num_frames) {
  NamedTrace trace = {.source = source, .frames = {}, .num_frames = num_frames};
  trace.frames.reserve(frames.size());
  for (const Frame& f : frames) {
    MethodName name = {"?", f.method == 0 ? "null" : "unknown", ""};
    if (f.info != nullptr) name = {f.info->class_name, f.info->name, f.info->descriptor};
    trace.frames.push_back({name, f.bci});
  }
  return trace;
}

NamedTrace NamedShadow(const MethodTable& methods, std::span<const uint32_t> keys_bottom_first) {
  NamedTrace trace = {.source = "shadow", .frames = {}, .num_frames = static_cast<int32_t>(keys_bottom_first.size())};
  for (auto key = keys_bottom_first.rbegin(); key != keys_bottom_first.rend(); ++key) {
    trace.frames.push_back({methods.NameOfKey(*key), 0});
  }
  return trace;
}

std::optional<MethodName> NamedRoot(const NmethodRef& code) {
  if (code == nullptr) return std::nullopt;
  const MethodInfo* root = agent->methods.Find(code->method);
  if (root == nullptr) return MethodName{"?", "unknown", ""};
  return MethodName{root->class_name, root->name, root->descriptor};
}

std::optional<MethodName> CallOf(const Frame& frame) {
  const Site* site = SiteAt(frame);
  if (site == nullptr || site->target < 0) return std::nullopt;
  const CallTarget& target = (*frame.info->body->targets)[static_cast<size_t>(site->target)];
  return MethodName{target.owner != nullptr ? std::string_view(target.owner->name) : "", target.name,
                    target.descriptor};
}

void AddStack(Mismatch* m, std::span<const Frame> suspect, std::span<const StackWord> words) {
  std::vector<NmethodRef> at;
  if (!suspect.empty()) m->top_call = CallOf(suspect.front());
  if (const StackWord& returns = m->place.spot.returns; returns.at != 0) {
    m->return_state = kRegionNames[static_cast<int>(agent->code.Find(returns.value, &at))];
  }
  const bool bottomless =
      m->verdict.kind == Kind::kTruncated || (m->verdict.kind == Kind::kForeign && m->verdict.divergence == 0);
  if (!bottomless || m->deoptimised_caller) return;
  for (const StackWord& w : words) {
    if (m->stack.size() == kMostNamed) break;
    std::string code;
    switch (agent->code.Find(w.value, &at)) {
      case Region::kCompiled: {
        const MethodName name = NamedRoot(at.front()).value_or(MethodName{});
        code = "compiled " + std::string(name.class_name) + "." + std::string(name.name) + std::string(name.descriptor);
        break;
      }
      case Region::kInterpreter:
        code = "interpreter";
        break;
      case Region::kStub:
        code = "stub " + agent->code.StubAt(w.value);
        break;
      default:
        if (!agent->deopt_stubs.IsEntry(w.value)) continue;
        code = "unknown";
    }
    if (agent->deopt_stubs.IsEntry(w.value)) code += ", its deoptimisation entry";
    m->stack.push_back({w.at, std::move(code)});
  }
}

NmethodRef DeoptimisedCaller(std::span<const Frame> reference, const Verdict& verdict,
                             std::span<const StackWord> words) {
  if (verdict.kind != Kind::kTruncated || verdict.divergence > reference.size()) return nullptr;
  const auto lost = reference.last(verdict.divergence);
  return agent->code.Deoptimised(words, agent->deopt_stubs, [&](const Nmethod& n) { return n.Begins(lost); });
}

}  // namespace misstep

extern "C" JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM* vm, char* options, void*) {
  if (misstep::agent != nullptr) {
    std::fprintf(stderr, "misstep: the agent is loaded twice: give -agentpath once\n");
    return JNI_ERR;
  }
  const std::string error = misstep::Start(vm, options);
  if (!error.empty()) {
    std::fprintf(stderr, "misstep: %s\n", error.c_str());
    return JNI_ERR;
  }
  return JNI_OK;
}
