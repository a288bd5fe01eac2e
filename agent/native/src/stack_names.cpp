#include "stack_names.h"

#include <cctype>
#include <string>
#include <vector>

#include "lock.h"

namespace misstep {
namespace {

constexpr jint kMostFrames = 4096;

// A string that the JVM allocated, which is freed.
std::string Taken(jvmtiEnv* jvmti, char* text) {
  std::string copy = text;
  jvmti->Deallocate(reinterpret_cast<unsigned char*>(text));
  return copy;
}

// "Ljava/lang/Object;" as "java.lang.Object". A hidden class has a dot before its number, which is a slash in its
// binary name.
std::string BinaryName(const std::string& signature) {
  std::string name = signature.substr(1, signature.size() - 2);
  for (char& c : name) c = c == '/' ? '.' : c == '.' ? '/' : c;
  return name;
}

bool NamesOf(jvmtiEnv* jvmti, JNIEnv* env, jmethodID method, std::vector<std::string>* names) {
  jclass owner = nullptr;
  char* text = nullptr;
  if (jvmti->GetMethodDeclaringClass(method, &owner) != JVMTI_ERROR_NONE) return false;
  const bool signed_class = jvmti->GetClassSignature(owner, &text, nullptr) == JVMTI_ERROR_NONE;
  env->DeleteLocalRef(owner);
  if (!signed_class) return false;
  const std::string signature = Taken(jvmti, text);
  // Before 15 a class without a name of its own is Host/NUMBER here, and other walkers have other names for it.
  if (std::isdigit(static_cast<unsigned char>(signature[signature.rfind('/') + 1])) != 0) return false;
  names->push_back(BinaryName(signature));
  if (jvmti->GetMethodName(method, &text, nullptr, nullptr) != JVMTI_ERROR_NONE) return false;
  names->push_back(Taken(jvmti, text));
  return true;
}

}  // namespace

jobjectArray StackNames(jvmtiEnv* jvmti, JNIEnv* env, jthread thread) {
  MaySafepoint();
  std::vector<jvmtiFrameInfo> frames(kMostFrames);
  jint count = 0;
  if (jvmti->GetStackTrace(thread, 0, kMostFrames, frames.data(), &count) != JVMTI_ERROR_NONE || count == kMostFrames) {
    return nullptr;
  }
  std::vector<std::string> names;
  for (jint i = 0; i < count; i++) {
    if (!NamesOf(jvmti, env, frames[static_cast<size_t>(i)].method, &names)) return nullptr;
  }
  jclass text = env->FindClass("java/lang/String");
  if (text == nullptr) return nullptr;
  jobjectArray all = env->NewObjectArray(static_cast<jsize>(names.size()), text, nullptr);
  for (size_t i = 0; all != nullptr && i < names.size(); i++) {
    jstring name = env->NewStringUTF(names[i].c_str());
    env->SetObjectArrayElement(all, static_cast<jsize>(i), name);
    env->DeleteLocalRef(name);
  }
  env->DeleteLocalRef(text);
  return all;
}

}  // namespace misstep
