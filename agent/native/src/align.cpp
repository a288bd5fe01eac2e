#include "align.h"

namespace misstep {

Presence PresenceOf(const Frame& f, const Frame* callee) {
  if (!Instrumented(f)) return Presence::kOff;
  const MethodInfo& m = *f.info;
  if (m.retransformed) return Presence::kMaybe;
  const Role role = callee != nullptr && callee->info != nullptr ? callee->info->role : Role::kPlain;
  const bool in_push = callee == nullptr || role == Role::kEnter || role == Role::kRuntime;
  const bool in_pop = callee == nullptr || role == Role::kExit;
  if (f.bci < m.push_end) {
    if (in_push) return Presence::kMaybe;
    const bool upcall = callee->info == nullptr || callee->info->upcall != Upcall::kNone;
    if (f.bci < 0 && upcall) return Presence::kMaybe;
    return upcall || m.name == "<init>" ? Presence::kOff : Presence::kOn;
  }
  for (const auto& [start, end] : m.exits) {
    if (f.bci == end - 1) return Presence::kMaybe;
    if (f.bci >= start && f.bci < end) return in_pop ? Presence::kMaybe : Presence::kOn;
  }
  return Presence::kOn;
}

Verdict Tolerances::AsVerdict() const {
  if (nameless) return Verdict::Tolerated(Rule::kNullMethodId);
  if (retransformed) return Verdict::Tolerated(Rule::kRetransformed);
  if (window) return Verdict::Tolerated(Rule::kPushPopWindow);
  if (off) return Verdict::Tolerated(Rule::kConstructorPrologue);
  return Verdict::Match();
}

std::optional<Tolerances> AlignAll(const Stack& stack, std::span<const uint32_t> shadow) {
  std::optional<Tolerances> found;
  Align(stack, nullptr, shadow, [&](size_t at, const Tolerances& tolerances) {
    if (at != shadow.size()) return false;
    found = tolerances;
    return true;
  });
  return found;
}

std::vector<uint32_t> SureKeys(const Stack& stack) {
  std::vector<uint32_t> keys;
  for (size_t i = 0; i < stack.size(); i++) {
    const Frame* callee = i + 1 < stack.size() ? &stack[i + 1] : nullptr;
    if (PresenceOf(stack[i], callee) == Presence::kOn) keys.push_back(stack[i].info->key);
  }
  return keys;
}

}  // namespace misstep
