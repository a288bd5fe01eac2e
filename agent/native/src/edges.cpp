#include "edges.h"

#include <algorithm>

namespace misstep {
namespace {

constexpr std::string_view kMethodHandle = "java/lang/invoke/MethodHandle";
constexpr std::string_view kGuards = "java/lang/invoke/VarHandleGuards";

// The types of a descriptor as method handles see them (LambdaForm.BasicType): L for references, I for int and what
// is smaller, J, F, D, V; ')' before the result.
class Shape {
 public:
  explicit Shape(std::string_view descriptor) : rest_(descriptor) {
    if (rest_.starts_with('(')) rest_.remove_prefix(1);
  }
  // 0 at the end.
  char Next() {
    if (rest_.empty()) return 0;
    const char first = rest_[0];
    size_t size = 1;
    while (size < rest_.size() && rest_[size - 1] == '[') size++;
    if (rest_[size - 1] == 'L') {
      const size_t end = rest_.find(';');
      size = end == std::string_view::npos ? rest_.size() : end + 1;
    }
    rest_.remove_prefix(size);
    if (first == '[' || first == 'L') return 'L';
    return first == 'Z' || first == 'B' || first == 'C' || first == 'S' ? 'I' : first;
  }
  // The types in order.
  static std::string All(std::string_view descriptor) {
    std::string all;
    Shape shape(descriptor);
    for (char c = shape.Next(); c != 0; c = shape.Next()) all.push_back(c);
    return all;
  }

 private:
  std::string_view rest_;
};

// Whether a signature-polymorphic site in caller can lead to this method.
bool HandleCalls(const MethodInfo& caller, const CallTarget& target, const MethodInfo& callee) {
  // Linkers and adapters of java.lang.invoke stand between all other sites and what the handle is for.
  if (target.owner == nullptr || (target.name != "invokeBasic" && !target.name.starts_with("linkTo"))) {
    return callee.class_name.starts_with("java/lang/invoke/");
  }
  if (callee.class_name == kMethodHandle && callee.name == target.name) return true;  // the intrinsic's own code
  if (target.name == "linkToNative") return true;  // native code may call back into anything
  std::string asked = Shape::All(target.descriptor);
  std::string has = Shape::All(callee.descriptor);
  if (!callee.is_static) has.insert(0, 1, 'L');
  if (target.name == "invokeBasic") {
    asked.insert(0, 1, 'L');  // the handle itself
  } else {
    const size_t end = asked.find(')');  // the last argument is the MemberName, which is not passed on
    if (end == std::string::npos || end == 0 || asked[end - 1] != 'L') return false;
    asked.erase(end - 1, 1);
  }
  // A VarHandle's access whose result the program drops comes to a guard for void (VarHandleGuards.java:
  // VarForm.getMethodType_V), which links to the method with the result all the same.
  if (caller.class_name == kGuards && asked.ends_with(")V") && has.find(')') == asked.size() - 2) {
    has.resize(asked.size() - 1);
    has.push_back('V');
  }
  return asked == has;
}

// Whether this is true of a class or of one above it. What is not known may be.
template <typename Is>
bool MayInherit(const ClassNode* klass, const Is& is) {
  for (int depth = 0; depth < 256; depth++) {
    if (is(klass)) return true;
    const ClassNode::Kind kind = klass->kind.load(std::memory_order_acquire);
    if (kind == ClassNode::Kind::kUnknown || kind == ClassNode::Kind::kSeveral) return true;
    const ClassNode* next = klass->super.load(std::memory_order_acquire);
    if (next == nullptr) return false;
    klass = next;
  }
  return true;
}

bool MayExtend(const ClassNode* sub, const ClassNode* super) {
  return MayInherit(sub, [&](const ClassNode* c) { return c == super; });
}

// Whether an invoke of a method of class owner can select one that class callee declares (JVMS 5.4.6).
bool MaySelect(uint8_t opcode, const CallTarget& target, const MethodInfo& callee) {
  const ClassNode* owner = target.owner;
  const ClassNode* has = callee.klass;
  if (owner == nullptr || has == nullptr || owner == has) return true;
  if (target.name == "<init>") return false;  // constructors are not inherited
  // A default method may come from any interface of the receiver's class, and that class may extend any other.
  if (opcode == kInvokeinterface || has->kind.load(std::memory_order_acquire) != ClassNode::Kind::kClass) return true;
  // invokespecial looks again from the caller's superclass on, which may be below the class that is named (JVMS 6.5).
  return MayExtend(owner, has) || (opcode != kInvokestatic && MayExtend(has, owner));
}

// Whether the VM may have the method compiled at a bci: at its entry (0, and -1 in compiled code: InvocationEntryBci)
// or at a branch back. Where the interpreter asks for it, bcp is the branch's target by then (TemplateTable::branch).
bool MayCompile(const Frame& frame) {
  if (frame.bci == 0 || frame.bci == -1) return true;
  const std::vector<Site>& sites = frame.info->body->sites;
  return std::any_of(sites.begin(), sites.end(), [&](const Site& site) {
    return site.back && (site.bci == frame.bci || site.back_to == frame.bci);
  });
}

// Whether the VM can make this call of the method from a frame at this instruction, which is null when it is none that
// can call. target is what an invoke names.
bool Permits(const Frame& frame, const Site* site, const CallTarget* target, const MethodInfo& method) {
  const Occasions asks = OccasionsOf(method.upcall, method.class_name, method.name, method.descriptor);
  if ((asks & kCompiling) != 0 && MayCompile(frame)) return true;
  if (site == nullptr || asks == 0) return false;
  const bool named = target != nullptr && target->owner != nullptr;
  return (asks & OccasionsAt(site->opcode, named ? target->owner->name : "", named ? target->name : "")) != 0;
}

}  // namespace

bool MayBeThread(const ClassNode* klass) {
  return MayInherit(klass, [](const ClassNode* c) { return c->name == "java/lang/Thread"; });
}

const Site* SiteAt(const Frame& frame) {
  if (frame.info == nullptr || frame.info->body == nullptr || frame.bci < 0) return nullptr;
  const std::vector<Site>& sites = frame.info->body->sites;
  const auto it = std::lower_bound(sites.begin(), sites.end(), frame.bci,
                                   [](const Site& site, int32_t bci) { return site.bci < bci; });
  return it != sites.end() && it->bci == frame.bci ? &*it : nullptr;
}

Explained ExplainEdge(const Frame& caller, const Frame& callee) {
  if (caller.info == nullptr || callee.info == nullptr) return Explained::kUnknown;
  const MethodInfo& to = *callee.info;
  if (caller.info->native) return Explained::kNativeCaller;
  const bool redefined = caller.info->klass != nullptr && caller.info->klass->redefined.load(std::memory_order_relaxed);
  if (caller.info->body == nullptr) return redefined ? Explained::kRedefined : Explained::kUnknown;
  const Site* site = SiteAt(caller);
  const CallTarget* target =
      site == nullptr || site->target < 0 ? nullptr : &(*caller.info->body->targets)[static_cast<size_t>(site->target)];
  // Interned: equal texts are at one place.
  if (target != nullptr && target->name.data() == to.name.data() && target->descriptor.data() == to.descriptor.data() &&
      MaySelect(site->opcode, *target, to)) {
    return Explained::kCall;
  }
  if (Permits(caller, site, target, to)) return Explained::kUpcall;
  if (target != nullptr && target->polymorphic && HandleCalls(*caller.info, *target, to))
    return Explained::kMethodHandle;
  return redefined ? Explained::kRedefined : Explained::kNothing;
}

Verdict CheckEdges(std::span<const Frame> frames, EdgeCounts* counts) {
  Explained weakest = Explained::kCall;
  uint32_t at = 0;
  for (size_t i = 0; i + 1 < frames.size(); i++) {
    const Explained explained = ExplainEdge(frames[i + 1], frames[i]);
    counts->of[static_cast<size_t>(explained)]++;
    if (explained < weakest) continue;
    weakest = explained;
    at = static_cast<uint32_t>(frames.size() - 1 - i);
  }
  return VerdictOn(weakest, at);
}

Verdict VerdictOn(Explained edge, uint32_t at) {
  switch (edge) {
    case Explained::kUpcall:
      return Verdict::Tolerated(Rule::kVmUpcall);
    case Explained::kMethodHandle:
      return Verdict::Tolerated(Rule::kMethodHandle);
    case Explained::kNativeCaller:
      return Verdict::Tolerated(Rule::kNativeCaller);
    case Explained::kRedefined:
      return Verdict::Tolerated(Rule::kRetransformed);
    case Explained::kUnknown:
      return Verdict::Void(Reason::kUnknownMethod);
    case Explained::kNothing:
      return Verdict::Mismatch(Kind::kImpossibleEdge, at);
    case Explained::kCall:
    case Explained::kCount:
      break;
  }
  return Verdict::Match();
}

}  // namespace misstep
