// Methods and frames as the comparisons use them.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "sites.h"

namespace misstep {

// The role of a method in the comparisons.
enum class Role : uint8_t {
  kPlain,
  kEnter,         // MisstepShadow.enter
  kExit,          // MisstepShadow.exit
  kRuntime,       // the rest of MisstepShadow
  kContinuation,  // jdk.internal.vm.Continuation.enterSpecial: between a virtual thread and its carrier
};

// Whether a virtual thread is mounted on a thread, and whether its shadow is known.
enum class Mounted : uint8_t { kNone, kKnown, kUnknown };

// A method, immutable once published.
struct MethodInfo {
  std::string_view class_name;  // internal form, with slashes
  std::string_view name;
  std::string_view descriptor;
  uint32_t key = 0;  // equal for equal class, name and descriptor; 0 = not instrumented
  Role role = Role::kPlain;
  bool native = false;
  bool is_static = false;
  bool retransformed = false;
  Upcall upcall = Upcall::kNone;                   // why the VM may call it
  const ClassNode* klass = nullptr;                // null if no bytecode is read
  const Body* body = nullptr;                      // null if there is none or no bytecode is read
  int32_t push_end = 0;                            // first bci after the push
  std::vector<std::pair<int32_t, int32_t>> exits;  // [start, end) of each pop; its last byte is the return
  bool operator==(const MethodInfo&) const = default;
};

// One frame of GST or ASGCT. info is null if no event has described the method.
struct Frame {
  uint64_t method = 0;  // jmethodID, never dereferenced
  int32_t bci = 0;
  const MethodInfo* info = nullptr;
};

// Whether a method's class was redefined or retransformed.
inline bool Changed(const MethodInfo& m) {
  return m.retransformed || (m.klass != nullptr && m.klass->redefined.load(std::memory_order_relaxed));
}

// Whether these are two versions of one method: when its class is redefined, frames of the old version get a jmethodID
// of their own (HotSpot: VM_RedefineClasses::check_methods_and_mark_as_obsolete).
inline bool OtherVersion(const MethodInfo& a, const MethodInfo& b) {
  return a.class_name == b.class_name && a.name == b.name && a.descriptor == b.descriptor && (Changed(a) || Changed(b));
}

}  // namespace misstep
