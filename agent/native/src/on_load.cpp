// Agent_OnLoad and Agent_OnAttach: read the options, open the files, ask the JVM for what the checks need, and make the
// agent. Agent_OnAttach ends it as well.

#include <dlfcn.h>
#include <jni.h>
#include <jvmti.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "adoption.h"
#include "agent.h"
#include "callbacks.h"
#include "handler.h"
#include "log.h"
#include "out_folder.h"
#include "owner.h"
#include "publisher.h"

namespace misstep {
namespace {

constexpr std::string_view kStop = "stop";  // as the option of Agent_OnAttach: the agent ends

// Those that may be enabled.
constexpr jvmtiEvent kEvents[] = {
    JVMTI_EVENT_VM_INIT,
    JVMTI_EVENT_VM_DEATH,
    JVMTI_EVENT_CLASS_LOAD,
    JVMTI_EVENT_CLASS_PREPARE,
    JVMTI_EVENT_CLASS_FILE_LOAD_HOOK,
    JVMTI_EVENT_THREAD_START,
    JVMTI_EVENT_THREAD_END,
    JVMTI_EVENT_DYNAMIC_CODE_GENERATED,
    JVMTI_EVENT_COMPILED_METHOD_LOAD,
    JVMTI_EVENT_COMPILED_METHOD_UNLOAD,
};

// The functions below return an empty string, or one line that says what is wrong.

std::string ReadOptions(Agent* a, const char* text) {
  a->option_text = text != nullptr ? text : "";
  std::string error = MakeOutFolder(&a->option_text, getpid());
  if (error.empty()) error = ParseOptions(a->option_text, &a->options);
  if (!error.empty()) return error;
  struct stat folder = {};
  if (stat(a->options.out.c_str(), &folder) != 0 || !S_ISDIR(folder.st_mode)) {
    return "option out=" + a->options.out + ": expected an existing folder";
  }
  if (!a->options.only.empty() && access(a->options.only.c_str(), R_OK) != 0) {
    return "option only=" + a->options.only + ": cannot read it: " + std::strerror(errno);
  }
  return "";
}

std::string FindJvm(Agent* a, JavaVM* vm) {
  a->vm = vm;
  a->asgct = reinterpret_cast<AsgctFunction>(dlsym(RTLD_DEFAULT, "AsyncGetCallTrace"));
  if (a->asgct == nullptr) {
    if (void* jvm = dlopen("libjvm.so", RTLD_NOW | RTLD_NOLOAD); jvm != nullptr) {
      a->asgct = reinterpret_cast<AsgctFunction>(dlsym(jvm, "AsyncGetCallTrace"));
    }
  }
  if (a->asgct == nullptr) return "this JVM has no AsyncGetCallTrace: use a HotSpot JVM";
  if (vm->GetEnv(reinterpret_cast<void**>(&a->jvmti), JVMTI_VERSION_1_2) != JNI_OK) return "this JVM has no JVMTI 1.2";
  return "";
}

std::string AddCapabilities(const Agent& a) {
  jvmtiCapabilities capabilities = {};
  capabilities.can_generate_compiled_method_load_events = 1;
  if (a.jvmti->AddCapabilities(&capabilities) != JVMTI_ERROR_NONE) {
    return "this JVM refuses compiled method load events";
  }
  capabilities = {};
  capabilities.can_get_thread_cpu_time = 1;
  a.jvmti->AddCapabilities(&capabilities);  // without it nothing is known to stand still
  if (!NeedsCode(a.options)) return "";
  capabilities = {};
  capabilities.can_get_bytecodes = 1;
  capabilities.can_get_constant_pool = 1;
  capabilities.can_retransform_classes = 1;  // without it no event announces retransformations
  if (a.jvmti->AddCapabilities(&capabilities) != JVMTI_ERROR_NONE) {
    return "this JVM does not show bytecode: gst-asgct alone needs none";
  }
  return "";
}

std::string Property(jvmtiEnv* jvmti, const char* key) {
  char* value = nullptr;
  if (jvmti->GetSystemProperty(key, &value) != JVMTI_ERROR_NONE || value == nullptr) return "";
  std::string text = value;
  jvmti->Deallocate(reinterpret_cast<unsigned char*>(value));
  return text;
}

std::string WriteAbout(const Agent& a) {
  const auto property = [&](const char* key) { return Property(a.jvmti, key); };
  const About about = {
      .pid = getpid(),
      .version = property("java.vm.name") + " (" + property("java.vm.version") + ")",
      .home = property("java.home"),
      .command = property("sun.java.command"),  // the main class or jar, and the program's arguments
      .options = a.option_text,
  };
  return WriteAbout(about, a.options.out + "/jvm.txt");
}

std::string OpenFiles(Agent* a) {
  const Options& o = a->options;
  std::string error;
  a->status = CreateStatus(o.out + "/status.bin", &error);
  if (a->status == nullptr) return error;
  error = a->recorder.Open(o.out + "/mismatches.jsonl", o.max_mismatches, o.evidence == Evidence::kEvery);
  if (error.empty()) error = a->taps.Open();
  if (error.empty() && o.sites) error = a->sites.Create(o.out + "/sites.bin");
  if (error.empty()) error = WriteAbout(*a);
  return error.empty() ? OpenLog(o.out + "/agent.log") : error;
}

// Enables the points of the perturbation.
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
  if (a->jvmti->AddCapabilities(&capabilities) != JVMTI_ERROR_NONE) {
    return "this JVM refuses monitor events, which option perturb needs";
  }
  return "";
}

std::string Enable(jvmtiEnv* jvmti, std::initializer_list<jvmtiEvent> events) {
  for (const jvmtiEvent event : events) {
    if (jvmti->SetEventNotificationMode(JVMTI_ENABLE, event, nullptr) != JVMTI_ERROR_NONE) {
      return "cannot enable JVMTI event " + std::to_string(event);
    }
  }
  return "";
}

std::string EnableEvents(Agent* a) {
  jvmtiEnv* jvmti = a->jvmti;
  const jvmtiEventCallbacks callbacks = Callbacks();
  if (jvmti->SetEventCallbacks(&callbacks, sizeof(callbacks)) != JVMTI_ERROR_NONE) return "cannot set event callbacks";
  std::string error =
      Enable(jvmti, {JVMTI_EVENT_VM_INIT, JVMTI_EVENT_VM_DEATH, JVMTI_EVENT_CLASS_LOAD, JVMTI_EVENT_CLASS_PREPARE,
                     JVMTI_EVENT_THREAD_END, JVMTI_EVENT_DYNAMIC_CODE_GENERATED});
  if (error.empty()) error = a->service_thread.Expect(jvmti);
  if (error.empty() && NeedsCode(a->options) && !Enable(jvmti, {JVMTI_EVENT_CLASS_FILE_LOAD_HOOK}).empty()) {
    error = "cannot enable the JVMTI event ClassFileLoadHook: gst-asgct alone needs none";
  }
  if (error.empty() && a->options.bracket > 0 && !Enable(jvmti, {JVMTI_EVENT_THREAD_START}).empty()) {
    error = "cannot enable JVMTI event ThreadStart";
  }
  if (error.empty() && a->perturber.on()) {
    error = Enable(jvmti, {JVMTI_EVENT_MONITOR_CONTENDED_ENTER, JVMTI_EVENT_MONITOR_CONTENDED_ENTERED,
                           JVMTI_EVENT_MONITOR_WAITED});
  }
  return error;
}

// There is no agent afterwards if its folder is another JVM's.
std::string Start(JavaVM* vm, const char* text) {
  auto a = std::make_unique<Agent>();
  std::string error = ReadOptions(a.get(), text);
  if (error.empty() && !TakeOutFolder(a->options.out)) return "";
  if (error.empty()) error = FindJvm(a.get(), vm);
  if (error.empty()) error = AddCapabilities(*a);
  if (error.empty()) error = OpenFiles(a.get());
  if (error.empty() && !a->options.perturb.empty()) error = StartPerturbing(a.get());
  // From here on it is never destroyed: the handler stays installed, and the JVM may call back.
  if (error.empty() && (a->options.asgct_shadow > 0 || a->options.bracket > 0)) error = InstallHandler(*a);
  if (!error.empty()) return error;
  agent = a.release();
  return EnableEvents(agent);
}

// What the agent would have seen had it been there from the start: classes, code and threads.
std::string CatchUp(Agent* a, JNIEnv* env) {
  a->redefines = true;  // a class may have been, and no event described the frames of its old version
  PublishLoaded(*a, env);
  std::string error = a->service_thread.Begin(a->jvmti);
  if (!error.empty()) return error;
  MaySafepoint();
  if (a->jvmti->GenerateEvents(JVMTI_EVENT_DYNAMIC_CODE_GENERATED) != JVMTI_ERROR_NONE)
    return "this JVM does not show its stubs";
  a->adoption = std::make_unique<Adoption>(*a).release();
  error = a->adoption.load()->Run(env);
  if (error.empty()) a->Ready();
  return error;
}

// Ends what CatchUp and EnableEvents have begun, once. The JVM keeps the library. Returns false if it has ended
// already.
bool Stop(JNIEnv* env) {
  static std::atomic<bool> stopping = false;
  if (agent->Ended() || stopping.exchange(true)) return false;
  EndAgent(env);
  for (const jvmtiEvent event : kEvents) agent->jvmti->SetEventNotificationMode(JVMTI_DISABLE, event, nullptr);
  ReleaseSignal(*agent);
  return true;
}

// Ends the agent when nobody is left to do it: misstep was killed.
void StopAlone() {
  if (agent->Ended()) return;
  Threads::ExcludeThisThread();
  JNIEnv* env = nullptr;
  char name[] = "misstep-owner";
  JavaVMAttachArgs arguments = {JNI_VERSION_1_6, name, nullptr};
  MaySafepoint();
  if (agent->vm->AttachCurrentThreadAsDaemon(reinterpret_cast<void**>(&env), &arguments) != JNI_OK) return;
  Log("the misstep that attached the agent has ended: so does the agent");
  Stop(env);
  MaySafepoint();
  agent->vm->DetachCurrentThread();
}

// Begins or ends the agent in a JVM that runs.
std::string Attach(JavaVM* vm, const char* text) {
  JNIEnv* env = nullptr;
  if (vm->GetEnv(reinterpret_cast<void**>(&env), JNI_VERSION_1_6) != JNI_OK)
    return "the attaching thread is not the JVM's";
  if (text != nullptr && std::string_view(text) == kStop) {
    return agent != nullptr && Stop(env) ? "" : "the agent does not run";
  }
  if (agent != nullptr) return "the agent is in this JVM already: load a copy of its library";
  Options wanted;
  if (ParseOptions(text != nullptr ? text : "", &wanted).empty() && NeedsMethods(wanted)) {
    return "a JVM that runs cannot be instrumented: only asgct-gst-bracket, edges and liveness can be checked";
  }
  std::string error = Start(vm, text);
  if (error.empty() && agent == nullptr) error = "option out: another JVM that runs has the folder: name an empty one";
  if (error.empty()) error = CatchUp(agent, env);
  if (!error.empty()) return error;
  error = AwaitOwnersEnd(agent->options.out + "/owner.lock", StopAlone);
  if (!error.empty()) Stop(env);
  return error;
}

// Where an error is not printed among what somebody's program prints: in the log, if there is a folder for it.
void LogError(const char* text, const std::string& error) {
  Options given;
  ParseOptions(text != nullptr ? text : "", &given);
  if (!given.out.empty() && OpenLog(given.out + "/agent.log").empty()) Log(error);
}

}  // namespace
}  // namespace misstep

extern "C" JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM* vm, char* options, void*) {
  static std::string loaded;  // with these options; the same ones come again by JAVA_TOOL_OPTIONS
  const std::string given = options != nullptr ? options : "";
  if (misstep::agent != nullptr && given != loaded) {
    std::fprintf(stderr, "misstep: the agent is loaded twice: give -agentpath once\n");
    return JNI_ERR;
  }
  if (misstep::agent != nullptr) return JNI_OK;
  loaded = given;
  const std::string error = misstep::Start(vm, options);
  if (!error.empty()) {
    std::fprintf(stderr, "misstep: %s\n", error.c_str());
    return JNI_ERR;
  }
  return JNI_OK;
}

extern "C" JNIEXPORT jint JNICALL Agent_OnAttach(JavaVM* vm, char* options, void*) {
  const std::string error = misstep::Attach(vm, options);
  if (error.empty()) return JNI_OK;
  misstep::LogError(options, error);
  return JNI_ERR;
}
