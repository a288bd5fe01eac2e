#include "sites.h"

#include <algorithm>
#include <iterator>

namespace misstep {

namespace {

constexpr std::string_view kMethodHandle = "java/lang/invoke/MethodHandle";
constexpr std::string_view kVarHandle = "java/lang/invoke/VarHandle";

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

bool ReadCall(const ConstantPool& pool, uint16_t index, std::string_view self, CallRef* call, bool* polymorphic) {
  if (!pool.CallAt(index, call)) return false;
  *polymorphic = call->owner.empty() || Polymorphic(call->owner, call->name);
  // Arrays have Object's methods (JLS 10.7).
  if (call->owner.starts_with('[')) call->owner = "java/lang/Object";
  if (IsItself(call->owner, self)) call->owner = self;
  return true;
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
      bool polymorphic = false;
      if (fresh && ReadCall(pool, raw.call, self, &call, &polymorphic)) {
        it->second = static_cast<int32_t>(targets->size());
        CallTarget& target = targets->emplace_back();
        target.name = symbols->Intern(call.name);
        target.descriptor = symbols->Intern(call.descriptor);
        target.polymorphic = polymorphic;
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
