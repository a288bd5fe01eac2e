#include "sites.h"

#include <algorithm>
#include <iterator>

namespace misstep {

namespace {

constexpr std::string_view kMethodHandle = "java/lang/invoke/MethodHandle";
constexpr std::string_view kVarHandle = "java/lang/invoke/VarHandle";
constexpr std::string_view kValueObjects = "java/lang/runtime/ValueObjectMethods";

bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// Exceptions that the VM makes itself are the JDK's (vmSymbols.hpp: all below java/lang; 8 to 28).
bool VmThrows(std::string_view class_name) {
  return class_name.starts_with("java/lang/") && (EndsWith(class_name, "Exception") || EndsWith(class_name, "Error"));
}

// MethodHandle's and VarHandle's natives with one Object[] (JVMS 2.9.3): any descriptor stands at the site.
bool Polymorphic(std::string_view owner, std::string_view name) {
  if (owner == kMethodHandle) {
    return name == "invoke" || name == "invokeExact" || name == "invokeBasic" || name.starts_with("linkTo");
  }
  static constexpr std::string_view kAccess[] = {"get", "set", "weakCompareAndSet", "compareAnd"};
  return owner == kVarHandle && std::any_of(std::begin(kAccess), std::end(kAccess),
                                            [&](std::string_view prefix) { return name.starts_with(prefix); });
}

// Whether a name in a class's constant pool is that of the class itself, which JVMTI names with a suffix when it is
// anonymous (8 to 14: C/123 for C) or hidden (15+: C.0x12 for C+0x12).
bool IsItself(std::string_view owner, std::string_view self) {
  const size_t end = self.find_last_of("./");
  if (end == std::string_view::npos || !owner.starts_with(self.substr(0, end))) return false;
  const std::string_view suffix = self.substr(end + 1);
  const std::string_view rest = owner.substr(end);
  if (self[end] == '.') return rest.starts_with('+') && rest.substr(1) == suffix;
  return rest.empty() && suffix.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

bool IsUnsafe(std::string_view class_name) {
  return class_name == "jdk/internal/misc/Unsafe" || class_name == "sun/misc/Unsafe";
}

Upcall UpcallOf(std::string_view class_name, std::string_view name, std::string_view descriptor) {
  if (name == "<clinit>") return Upcall::kClinit;
  if (name == "loadClass" && descriptor == "(Ljava/lang/String;)Ljava/lang/Class;") return Upcall::kLoad;
  if (name == "<init>" && VmThrows(class_name)) return Upcall::kException;
  if (class_name == "java/lang/Throwable" && (name == "initCause" || name == "getStackTrace")) {
    return Upcall::kException;  // Exceptions::new_exception, java_lang_Throwable::create_initialization_error (17+)
  }
  // What stands for a method that must not be called (klassItable::initialize_itable_for_interface).
  if (IsUnsafe(class_name) && (name == "throwIllegalAccessError" || name == "throwNoSuchMethodError")) {
    return Upcall::kException;
  }
  if (class_name == kValueObjects && name == "isSubstitutable") return Upcall::kCompare;
  if (class_name == "java/lang/invoke/MethodHandleNatives") {
    return name.starts_with("link") || name == "findMethodHandleType" ? Upcall::kLink : Upcall::kNone;
  }
  if (class_name == "java/lang/ref/Finalizer") return name == "register" ? Upcall::kFinalizer : Upcall::kNone;
  static constexpr std::string_view kLoads[][2] = {
      {"java/lang/ClassLoader", "checkPackageAccess"},  // SystemDictionary::validate_protection_domain, until 23
      {"java/lang/ClassLoader", "loadClassInternal"},   // 8
      {"java/lang/ClassLoader", "addClass"},            // 8: SystemDictionary::define_instance_class
      {"java/lang/ClassLoader", "findNative"},          // NativeLookup::lookup_style
      {"sun/instrument/InstrumentationImpl", "transform"},
      {"jdk/internal/module/Modules", "transformedByAgent"},  // JvmtiExport::add_default_read_edges, 9+
      {"jdk/jfr/internal/JVMUpcalls", "onRetransform"},
      {"jdk/jfr/internal/JVMUpcalls", "onMethodTrace"},  // 25+
      {"jdk/jfr/internal/JVMUpcalls", "bytesForEagerInstrumentation"},
      {"jdk/jfr/internal/JVMUpcalls", "publishMethodTimersForClass"},  // 25+
  };
  for (const auto& load : kLoads) {
    if (class_name == load[0] && name == load[1]) return Upcall::kLoad;
  }
  return Upcall::kNone;
}

ClassNode* SiteTable::Node(std::string_view interned) {
  auto& node = nodes_[interned];
  if (node == nullptr) {
    node = std::make_unique<ClassNode>();
    node->name = interned;
  }
  return node.get();
}

ClassNode* SiteTable::Define(Symbols* symbols, std::string_view interned, const ClassFacts& facts) {
  ClassNode* node = Node(interned);
  const ClassNode* super = facts.super.empty() ? nullptr : Node(symbols->Intern(facts.super));
  const auto kind = facts.interface ? ClassNode::Kind::kInterface : ClassNode::Kind::kClass;
  const auto known = node->kind.load(std::memory_order_relaxed);
  if (known == ClassNode::Kind::kUnknown) {
    node->super.store(super, std::memory_order_release);
    node->kind.store(kind, std::memory_order_release);
  } else if (known != kind || node->super.load(std::memory_order_relaxed) != super) {
    node->kind.store(ClassNode::Kind::kSeveral, std::memory_order_release);
  }
  return node;
}

std::vector<Body> SiteTable::Read(Symbols* symbols, std::string_view self, const ConstantPool& pool,
                                  std::span<const std::span<const RawSite>> methods) {
  auto targets = std::make_shared<std::vector<CallTarget>>();
  std::unordered_map<uint16_t, int32_t> places;  // of a constant pool index in targets
  std::vector<Body> all;
  for (const std::span<const RawSite>& method : methods) {
    Body& body = all.emplace_back();
    body.targets = targets;
    body.sites.reserve(method.size());
    for (const RawSite& raw : method) {
      Site& site =
          body.sites.emplace_back(Site{.bci = raw.bci, .opcode = raw.opcode, .back = raw.back, .back_to = raw.back_to});
      if (raw.call == 0) continue;
      const auto [it, fresh] = places.emplace(raw.call, -1);
      CallRef call;
      if (fresh && pool.CallAt(raw.call, &call)) {
        it->second = static_cast<int32_t>(targets->size());
        CallTarget& target = targets->emplace_back();
        target.name = symbols->Intern(call.name);
        target.descriptor = symbols->Intern(call.descriptor);
        target.polymorphic = call.owner.empty() || Polymorphic(call.owner, call.name);
        // Arrays have Object's methods (JLS 10.7).
        if (call.owner.starts_with('[')) call.owner = "java/lang/Object";
        if (IsItself(call.owner, self)) call.owner = self;
        if (!call.owner.empty()) target.owner = Node(symbols->Intern(call.owner));
      }
      site.target = it->second;
    }
  }
  return all;
}

const Body* SiteTable::Keep(Body body, const Body* like) {
  if (body.sites.empty()) return nullptr;
  return like != nullptr && *like == body ? like : &bodies_.emplace_back(std::move(body));
}

}  // namespace misstep
