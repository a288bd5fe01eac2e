#include "methods.h"

#include <algorithm>

namespace misstep {
namespace {

Role RoleOf(std::string_view class_name, std::string_view name) {
  if (class_name == "java/lang/MisstepShadow") {
    if (name == "enter") return Role::kEnter;
    if (name == "exit") return Role::kExit;
    return Role::kRuntime;
  }
  // Continuation.enterSpecial is the frame between a carrier and what is mounted on it (JDK 21 and later).
  if (class_name == "jdk/internal/vm/Continuation" && name == "enterSpecial") {
    return Role::kContinuation;
  }
  return Role::kPlain;
}

// Whether the push and the pops stand in the code that runs where the instrumentation had put them. Another transformer
// may have moved them since, or the JVM (JFR's, of classes of events: jfrEventClassTransformer.cpp).
bool StandsThere(const Body& body, const RegisteredMethod& r) {
  const auto calls = [&](int32_t from, int32_t to, std::string_view name) {
    return std::any_of(body.sites.begin(), body.sites.end(), [&](const Site& site) {
      if (site.bci < from || site.bci > to || site.opcode != kInvokestatic || site.target < 0) return false;
      const CallTarget& target = (*body.targets)[static_cast<size_t>(site.target)];
      return target.name == name && target.owner != nullptr && target.owner->name == "java/lang/MisstepShadow";
    });
  };
  constexpr int32_t kCall = 3, kReturn = 1, kLeastStore = 1, kMostStore = 4;
  return calls(r.push_end - kMostStore - kCall, r.push_end - kLeastStore - kCall, "enter") &&
         std::all_of(r.exits.begin(), r.exits.end(), [&](const auto& pop) {
           const int32_t at = pop.second - kReturn - kCall;
           return calls(at, at, "exit");
         });
}

std::string KeyText(std::string_view class_name, std::string_view name, std::string_view descriptor) {
  std::string text;
  text.reserve(class_name.size() + name.size() + descriptor.size() + 1);
  text.append(class_name).append(".").append(name).append(descriptor);
  return text;
}

}  // namespace

uint32_t MethodTable::KeyOf(std::string_view class_name, std::string_view name, std::string_view descriptor) {
  const auto [it, fresh] =
      keys_.emplace(KeyText(class_name, name, descriptor), static_cast<uint32_t>(key_names_.size()));
  if (fresh) key_names_.push_back({symbols_.Intern(class_name), symbols_.Intern(name), symbols_.Intern(descriptor)});
  return it->second;
}

uint32_t MethodTable::Reserve(uint32_t count) {
  const WriteLock lock(mutex_);
  const uint32_t first = static_cast<uint32_t>(id_keys_.size());
  id_keys_.resize(id_keys_.size() + count, 0);
  return first;
}

void MethodTable::Register(Registration r) {
  const WriteLock lock(mutex_);
  for (size_t i = 0; i < r.methods.size(); i++) {
    const std::string_view text = r.methods[i].name_and_descriptor;
    const size_t paren = text.find('(');
    if (paren == std::string_view::npos || r.first_id + i >= id_keys_.size()) continue;
    id_keys_[r.first_id + i] = KeyOf(r.class_name, text.substr(0, paren), text.substr(paren));
  }
  instrumented_ += r.methods.size();
  const std::string name = r.class_name;
  registrations_[name].push_back(std::make_shared<const Registration>(std::move(r)));
}

std::vector<std::shared_ptr<const Registration>> MethodTable::Registrations(std::string_view class_name) const {
  const ReadLock lock(mutex_);
  const auto it = registrations_.find(std::string(class_name));
  return it == registrations_.end() ? std::vector<std::shared_ptr<const Registration>>() : it->second;
}

// The caller's references keep what is dropped until the lock is free: the end of a loader's reference is a JNI call.
void MethodTable::Forget(std::string_view class_name, std::span<const std::shared_ptr<const Registration>> gone) {
  const WriteLock lock(mutex_);
  const auto it = registrations_.find(std::string(class_name));
  if (it == registrations_.end()) return;
  std::erase_if(it->second, [&](const auto& r) { return std::find(gone.begin(), gone.end(), r) != gone.end(); });
}

void MethodTable::Publish(std::string_view class_name, std::span<const PreparedMethod> methods,
                          std::span<const std::shared_ptr<const Registration>> registrations, const ClassFacts* facts) {
  const WriteLock lock(mutex_);
  const std::string_view interned = symbols_.Intern(class_name);
  const ClassNode* node = nullptr;
  std::vector<Body> bodies;
  bool fresh = false;
  for (const PreparedMethod& m : methods) fresh = fresh || !by_method_.contains(m.method);
  if (facts != nullptr && fresh) {
    node = sites_.Define(&symbols_, interned, *facts);
    std::vector<std::span<const RawSite>> raw;
    raw.reserve(methods.size());
    for (const PreparedMethod& m : methods) raw.emplace_back(m.sites);
    bodies = sites_.Read(&symbols_, interned, *facts->pool, raw);
  }
  std::vector<const MethodInfo*>& last = of_class_[interned];
  if (last.size() < methods.size()) last.resize(methods.size());
  for (size_t i = 0; i < methods.size(); i++) {
    const PreparedMethod& m = methods[i];
    const auto known = by_method_.find(m.method);
    const MethodInfo* before = known == by_method_.end() ? nullptr : known->second;
    MethodInfo info;
    if (before != nullptr) {
      info = *before;
    } else {
      info = Describe(interned, m);
      info.klass = node;
      if (!bodies.empty()) info.body = sites_.Keep(std::move(bodies[i]), last[i] != nullptr ? last[i]->body : nullptr);
    }
    const std::string text = m.name + m.descriptor;
    for (const auto& registration : registrations) {
      for (const RegisteredMethod& r : registration->methods) {
        if (r.name_and_descriptor != text) continue;
        info.key = KeyOf(class_name, m.name, m.descriptor);
        info.push_end = r.push_end;
        info.exits = r.exits;
        info.retransformed = registration->retransformed || (info.body != nullptr && !StandsThere(*info.body, r));
      }
    }
    if (before != nullptr) {
      // The same code again, or none from Misstep: nothing changes for the frames of the version before.
      if (info.key == before->key && info.push_end == before->push_end && info.exits == before->exits) continue;
      info.retransformed = true;
    }
    if (last[i] == nullptr || *last[i] != info) last[i] = &infos_.emplace_back(std::move(info));
    by_method_[m.method] = last[i];
  }
}

void MethodTable::PublishObsolete(std::string_view class_name, const PreparedMethod& m) {
  const WriteLock lock(mutex_);
  if (by_method_.contains(m.method)) return;
  const std::string_view interned = symbols_.Intern(class_name);
  MethodInfo info = Describe(interned, m);
  info.klass = sites_.Node(interned);
  const auto key = keys_.find(KeyText(class_name, m.name, m.descriptor));
  if (key != keys_.end()) info.key = key->second;
  info.retransformed = true;
  by_method_.emplace(m.method, &infos_.emplace_back(std::move(info)));
}

MethodInfo MethodTable::Describe(std::string_view interned_class, const PreparedMethod& m) {
  MethodInfo info;
  info.class_name = interned_class;
  info.name = symbols_.Intern(m.name);
  info.descriptor = symbols_.Intern(m.descriptor);
  info.native = m.native;
  info.is_static = m.is_static;
  info.upcall = UpcallOf(interned_class, info.name, info.descriptor);
  info.role = RoleOf(interned_class, info.name);
  return info;
}

void MethodTable::Redefine(std::string_view class_name) {
  const WriteLock lock(mutex_);
  sites_.Node(symbols_.Intern(class_name))->redefined.store(true, std::memory_order_relaxed);
}

bool MethodTable::IsRedefined(std::string_view class_name) {
  const WriteLock lock(mutex_);
  return sites_.Node(symbols_.Intern(class_name))->redefined.load(std::memory_order_relaxed);
}

void MethodTable::NoteGiven(std::span<const Frame> frames) {
  if (!Unknown(frames)) return;
  const WriteLock lock(mutex_);
  for (const Frame& f : frames) {
    if (f.info == nullptr && f.method != 0) given_.insert(f.method);
  }
}

bool MethodTable::WasGiven(std::span<const Frame> frames) const {
  const ReadLock lock(mutex_);
  for (const Frame& f : frames) {
    if (f.info == nullptr && given_.contains(f.method)) return true;
  }
  return false;
}

void MethodTable::Resolve(std::span<Frame> frames) const {
  const ReadLock lock(mutex_);
  for (Frame& f : frames) {
    const auto it = by_method_.find(f.method);
    f.info = it == by_method_.end() ? nullptr : it->second;
  }
}

const MethodInfo* MethodTable::Find(uint64_t method) const {
  const ReadLock lock(mutex_);
  const auto it = by_method_.find(method);
  return it == by_method_.end() ? nullptr : it->second;
}

void MethodTable::KeysOf(std::span<uint32_t> ids) const {
  const ReadLock lock(mutex_);
  for (uint32_t& id : ids) id = id < id_keys_.size() ? id_keys_[id] : 0;
}

MethodName MethodTable::NameOfKey(uint32_t key) const {
  const ReadLock lock(mutex_);
  return key < key_names_.size() ? key_names_[key] : MethodName();
}

size_t MethodTable::instrumented() const {
  const ReadLock lock(mutex_);
  return instrumented_;
}

}  // namespace misstep
