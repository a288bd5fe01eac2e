#include "publisher.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "bytecode.h"
#include "clock.h"
#include "rules.h"
#include "state.h"

namespace misstep {

namespace {

template <typename T>
void Free(jvmtiEnv* jvmti, T* memory) {
  if (memory != nullptr) jvmti->Deallocate(reinterpret_cast<unsigned char*>(memory));
}

// "Ljava/lang/String;" -> "java/lang/String". Arrays and primitives have no methods of their own.
std::string InternalName(const char* signature) {
  std::string s = signature != nullptr ? signature : "";
  if (s.size() >= 2 && s.front() == 'L' && s.back() == ';') return s.substr(1, s.size() - 2);
  return s;
}

// What JVMTI says about a method, without its bytecode.
bool Read(jvmtiEnv* jvmti, jmethodID method, PreparedMethod* m, bool* has_code) {
  constexpr jint kStatic = 0x0008;
  constexpr jint kNative = 0x0100;
  constexpr jint kAbstract = 0x0400;
  char* name = nullptr;
  char* descriptor = nullptr;
  if (jvmti->GetMethodName(method, &name, &descriptor, nullptr) != JVMTI_ERROR_NONE) return false;
  jint modifiers = 0;
  jvmti->GetMethodModifiers(method, &modifiers);
  m->method = reinterpret_cast<uint64_t>(method);
  m->name = name;
  m->descriptor = descriptor;
  m->native = (modifiers & kNative) != 0;
  m->is_static = (modifiers & kStatic) != 0;
  *has_code = (modifiers & (kNative | kAbstract)) == 0;
  Free(jvmti, name);
  Free(jvmti, descriptor);
  return true;
}

// A frame of a version that another has replaced has a jmethodID of its own, which its class does not list (HotSpot:
// VM_RedefineClasses::check_methods_and_mark_as_obsolete).
void PublishObsolete(State& state, jclass klass, jmethodID method) {
  MaySafepoint();
  std::string name;
  PreparedMethod m;
  bool has_code = false;
  if (NameOf(state.jvmti, klass, &name) && Read(state.jvmti, method, &m, &has_code))
    state.methods.PublishObsolete(name, m);
}

// The registrations made for this class in this loader. Those of loaders that are gone are forgotten: a program that
// loads a class again and again, each time in another loader, has no end of them.
std::vector<std::shared_ptr<const Registration>> RegistrationsFor(State& state, JNIEnv* env, const std::string& name,
                                                                  jclass klass) {
  std::vector<std::shared_ptr<const Registration>> mine;
  std::vector<std::shared_ptr<const Registration>> gone;
  const auto all = state.methods.Registrations(name);
  if (all.empty()) return mine;
  jobject loader = nullptr;
  MaySafepoint();
  if (state.jvmti->GetClassLoader(klass, &loader) != JVMTI_ERROR_NONE) return mine;
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
  if (!gone.empty()) state.methods.Forget(name, gone);
  return mine;
}

// What edges, brackets and the shadow's checks read of a class: nothing when all are off.
class EdgeFacts {
 public:
  EdgeFacts(const State& state, JNIEnv* env, jclass klass, const std::string& name, When when) : jvmti_(state.jvmti) {
    if (!NeedsCode(state.options) || (when == When::kAfterwards && HasPatchedPool(name))) return;
    MaySafepoint();
    jint count = 0;
    jint size = 0;
    // Classes that have no constant pool (arrays) have no methods either.
    if (jvmti_->GetConstantPool(klass, &count, &size, &bytes_) != JVMTI_ERROR_NONE) return;
    pool_ = ConstantPool(std::span(bytes_, static_cast<size_t>(size)), static_cast<uint32_t>(count));
    jboolean interface = JNI_FALSE;
    jvmti_->IsInterface(klass, &interface);
    if (jclass super = env->GetSuperclass(klass); super != nullptr) {
      char* signature = nullptr;
      if (jvmti_->GetClassSignature(super, &signature, nullptr) == JVMTI_ERROR_NONE) {
        super_ = InternalName(signature);
      }
      Free(jvmti_, signature);
      env->DeleteLocalRef(super);
    }
    facts_ = {.super = super_, .interface = interface == JNI_TRUE, .pool = &pool_};
  }
  ~EdgeFacts() { Free(jvmti_, bytes_); }
  EdgeFacts(const EdgeFacts&) = delete;
  EdgeFacts& operator=(const EdgeFacts&) = delete;

  bool on() const { return bytes_ != nullptr; }
  const ClassFacts* facts() const { return on() ? &facts_ : nullptr; }

  void ReadSites(jmethodID method, std::vector<RawSite>* sites) const {
    jint size = 0;
    unsigned char* code = nullptr;
    if (jvmti_->GetBytecodes(method, &size, &code) != JVMTI_ERROR_NONE) return;
    if (!ScanCode(std::span(code, static_cast<size_t>(size)), sites)) sites->clear();
    Free(jvmti_, code);
  }

 private:
  jvmtiEnv* jvmti_;
  unsigned char* bytes_ = nullptr;
  ConstantPool pool_{{}, 0};
  std::string super_;
  ClassFacts facts_;
};

// A call under way.
class Publishing {
 public:
  explicit Publishing(Publications* calls) : calls_(calls) { calls_->Begin(); }
  ~Publishing() { calls_->End(MonotonicNanos()); }
  Publishing(const Publishing&) = delete;
  Publishing& operator=(const Publishing&) = delete;

 private:
  Publications* calls_;
};

}  // namespace

bool NameOf(jvmtiEnv* jvmti, jclass klass, std::string* name) {
  char* signature = nullptr;
  if (jvmti->GetClassSignature(klass, &signature, nullptr) != JVMTI_ERROR_NONE) return false;
  *name = InternalName(signature);
  Free(jvmti, signature);
  return true;
}

void PublishClass(State& state, JNIEnv* env, jclass klass, When when) {
  MaySafepoint();
  const Publishing publishing(&state.publications);
  jint count = 0;
  jmethodID* methods = nullptr;
  // This makes the jmethodIDs that ASGCT can only look up. It fails for classes that are not prepared yet: their event
  // comes, and for arrays and primitives, which have no methods.
  if (state.jvmti->GetClassMethods(klass, &count, &methods) != JVMTI_ERROR_NONE) return;
  std::string name;
  if (count > 0 && NameOf(state.jvmti, klass, &name)) {
    EdgeFacts edges(state, env, klass, name, when);
    std::vector<PreparedMethod> prepared;
    prepared.reserve(static_cast<size_t>(count));
    for (jint i = 0; i < count; i++) {
      PreparedMethod m;
      bool has_code = false;
      if (!Read(state.jvmti, methods[i], &m, &has_code)) continue;
      if (edges.on() && has_code) edges.ReadSites(methods[i], &m.sites);
      prepared.push_back(std::move(m));
    }
    if (state.sites.on() && edges.on()) state.sites.Class(name, *edges.facts(), prepared);
    state.methods.Publish(name, prepared, RegistrationsFor(state, env, name, klass), edges.facts());
  }
  Free(state.jvmti, methods);
}

void PublishLoaded(State& state, JNIEnv* env) {
  jint count = 0;
  jclass* classes = nullptr;
  MaySafepoint();
  if (state.jvmti->GetLoadedClasses(&count, &classes) != JVMTI_ERROR_NONE) return;
  for (jint i = 0; i < count; i++) {
    PublishClass(state, env, classes[i], When::kAfterwards);
    env->DeleteLocalRef(classes[i]);
  }
  state.jvmti->Deallocate(reinterpret_cast<unsigned char*>(classes));
}

void WriteRedefined(State& state, JNIEnv* env) {
  // Once by JFR, once by the program. One that changes again and again may do so right now: to ask for its methods then
  // may crash the JVM (17 in jvmti_GetClassMethods).
  constexpr uint32_t kTimes = 2;
  const std::vector<std::string> names = state.sites.RedefinedAtMost(kTimes);
  if (names.empty()) return;
  MaySafepoint();
  jint count = 0;
  jclass* classes = nullptr;
  if (state.jvmti->GetLoadedClasses(&count, &classes) != JVMTI_ERROR_NONE) return;
  for (jclass klass : std::span(classes, static_cast<size_t>(count))) {
    std::string name;
    if (NameOf(state.jvmti, klass, &name) && std::find(names.begin(), names.end(), name) != names.end())
      PublishClass(state, env, klass, When::kAfterwards);
    env->DeleteLocalRef(klass);
  }
  Free(state.jvmti, classes);
}

void ResolveOwnStack(State& state, JNIEnv* env, std::span<Frame> frames) {
  state.methods.Resolve(frames);
  bool missing = false;
  for (const Frame& f : frames) {
    if (f.info != nullptr || f.method == 0) continue;
    jclass klass = nullptr;
    MaySafepoint();
    if (state.jvmti->GetMethodDeclaringClass(reinterpret_cast<jmethodID>(f.method), &klass) != JVMTI_ERROR_NONE)
      continue;
    // What another thread has redefined is published by that one. To ask for a class's methods while it changes again
    // may crash the JVM: 17 in jvmti_GetClassMethods.
    std::string name;
    if (!NameOf(state.jvmti, klass, &name) || !state.methods.IsRedefined(name))
      PublishClass(state, env, klass, When::kAfterwards);
    if (state.methods.Find(f.method) == nullptr) PublishObsolete(state, klass, reinterpret_cast<jmethodID>(f.method));
    env->DeleteLocalRef(klass);
    missing = true;
    state.methods.Resolve(frames);
  }
  if (missing) state.methods.Resolve(frames);
}

}  // namespace misstep
