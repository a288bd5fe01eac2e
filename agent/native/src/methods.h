// The method table: the method of each jmethodID and of each instrumented method id.
//
// jmethodIDs are only compared, never passed to the JVM: a class may be unloaded at any time, and from JDK 26 on they
// are numbers instead of addresses. HotSpot never reuses one, so entries stay. Data that a repeatedly loaded class
// shares with the previous one of its name is kept once.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compare.h"
#include "lock.h"

namespace misstep {

// One instrumented method as the transformer described it.
struct RegisteredMethod {
  std::string name_and_descriptor;
  int32_t push_end = 0;
  std::vector<std::pair<int32_t, int32_t>> exits;
};

// One instrumented class. loader is the caller's (a weak reference, null for the boot loader), only kept here.
struct Registration {
  std::shared_ptr<void> loader;
  std::string class_name;
  uint32_t first_id = 0;
  bool retransformed = false;
  std::vector<RegisteredMethod> methods;
};

// One method of a prepared class.
struct PreparedMethod {
  uint64_t method = 0;  // jmethodID
  std::string name;
  std::string descriptor;
  bool native = false;
  bool is_static = false;
  std::vector<RawSite> sites;  // of its code; empty when no code is read
};

// Names of a method, valid forever.
struct MethodName {
  std::string_view class_name;
  std::string_view name;
  std::string_view descriptor;
};

class MethodTable {
 public:
  // First of count fresh ids, from 1.
  uint32_t Reserve(uint32_t count);
  // Stores the transformer's description of a class that is not defined yet, or that is redefined.
  void Register(Registration registration);
  // The registrations of a class name; the caller selects the loader. The last one for a loader counts.
  std::vector<std::shared_ptr<const Registration>> Registrations(std::string_view class_name) const;
  // Drops registrations whose loader is gone: no class of theirs can be prepared any more.
  void Forget(std::string_view class_name, std::span<const std::shared_ptr<const Registration>> gone);
  // Publishes the methods of a prepared class, the instrumented ones by these registrations. facts is null if no
  // bytecode is read. A method that is already published and now has another registration is retransformed: its frames
  // run the previous version or the registered one.
  void Publish(std::string_view class_name, std::span<const PreparedMethod> methods,
               std::span<const std::shared_ptr<const Registration>> registrations, const ClassFacts* facts = nullptr);
  // Publishes a method whose jmethodID now belongs to another version, while frames still run it.
  void PublishObsolete(std::string_view class_name, const PreparedMethod& method);
  // Marks a class name as redefined: frames of such a class may run the old or the new version.
  void Redefine(std::string_view class_name);
  bool IsRedefined(std::string_view class_name);

  // Notes the ids of frames without info that the JVM itself returned: they belong to methods, though no event has
  // described them (a class prepared while a virtual thread changes its carrier; methods that JVMTI does not list).
  void NoteGiven(std::span<const Frame> frames);
  // Whether a frame without info has an id that the JVM returned.
  bool WasGiven(std::span<const Frame> frames) const;

  // Fills in info of each frame from its method.
  void Resolve(std::span<Frame> frames) const;
  const MethodInfo* Find(uint64_t method) const;
  // Converts ids to keys in place; an id that was not registered becomes 0.
  void KeysOf(std::span<uint32_t> ids) const;
  MethodName NameOfKey(uint32_t key) const;
  size_t instrumented() const;

 private:
  uint32_t KeyOf(std::string_view class_name, std::string_view name, std::string_view descriptor) REQUIRES(mutex_);
  MethodInfo Describe(std::string_view interned_class, const PreparedMethod& method) REQUIRES(mutex_);

  mutable Mutex mutex_;
  Symbols symbols_ GUARDED_BY(mutex_);
  SiteTable sites_ GUARDED_BY(mutex_);
  std::deque<MethodInfo> infos_ GUARDED_BY(mutex_);  // these never move
  std::unordered_map<uint64_t, const MethodInfo*> by_method_ GUARDED_BY(mutex_);
  // For each class name, the methods of the class published last, in its order.
  std::unordered_map<std::string_view, std::vector<const MethodInfo*>> of_class_ GUARDED_BY(mutex_);
  std::unordered_set<uint64_t> given_ GUARDED_BY(mutex_);
  std::unordered_map<std::string, std::vector<std::shared_ptr<const Registration>>> registrations_ GUARDED_BY(mutex_);
  std::unordered_map<std::string, uint32_t> keys_ GUARDED_BY(mutex_);
  std::vector<MethodName> key_names_ GUARDED_BY(mutex_){MethodName()};  // key 0 is none
  std::vector<uint32_t> id_keys_ GUARDED_BY(mutex_){0};                 // id 0 is none
  size_t instrumented_ GUARDED_BY(mutex_) = 0;
};

}  // namespace misstep
