// Data of classes for edges and brackets: the instructions of each method that can have a callee, what they call, and
// the class hierarchy. Nothing is ever freed: pointers that are handed out are read without a lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "bytecode.h"
#include "upcalls.h"

namespace misstep {

// Strings that are interned and never freed: equal ones have equal data().
class Symbols {
 public:
  std::string_view Intern(std::string_view text) { return *strings_.emplace(text).first; }

 private:
  std::unordered_set<std::string> strings_;  // nodes never move
};

// Facts about the classes of one name. Several loaders may each have one: facts in which these differ are unknown.
struct ClassNode {
  enum class Kind : uint8_t { kUnknown, kClass, kInterface, kSeveral };
  std::string_view name;
  std::atomic<Kind> kind = Kind::kUnknown;
  std::atomic<const ClassNode*> super = nullptr;
  std::atomic<bool> redefined = false;
};

// The method that an invoke instruction names. name and descriptor are interned.
struct CallTarget {
  const ClassNode* owner = nullptr;  // null for invokedynamic
  std::string_view name;
  std::string_view descriptor;
  bool polymorphic = false;  // a signature-polymorphic method (JVMS 2.9.3) or invokedynamic
  bool operator==(const CallTarget&) const = default;
};

struct Site {
  uint16_t bci = 0;
  uint8_t opcode = 0;
  bool back = false;
  uint16_t back_to = 0;
  int32_t target = -1;  // index into the body's targets
  bool operator==(const Site&) const = default;
};

// The instructions of one method that can have a callee, by bci.
struct Body {
  std::vector<Site> sites;
  std::shared_ptr<const std::vector<CallTarget>> targets;  // of the class
  bool operator==(const Body& other) const { return sites == other.sites && *targets == *other.targets; }
};

// Reads the method that an invoke in the class self names: an array's are Object's, and a class without a name of its
// own has the name that JVMTI gives it. Returns false if the pool has none there.
bool ReadCall(const ConstantPool& pool, uint16_t index, std::string_view self, CallRef* call, bool* polymorphic);

// The facts about a class that the edges of its methods need. The views need to be valid only during the call.
struct ClassFacts {
  std::string_view super;  // empty for none
  bool interface = false;
  const ConstantPool* pool = nullptr;
};

// Classes and bodies, never freed. The owner locks; results are read without a lock.
class SiteTable {
 public:
  // The node of a name, created if there is none.
  ClassNode* Node(std::string_view interned);
  // Sets the facts of a class. Those that contradict an earlier class of the name become unknown.
  ClassNode* Define(Symbols* symbols, std::string_view interned, const ClassFacts& facts);
  // Bodies of the methods of the class self.
  std::vector<Body> Read(Symbols* symbols, std::string_view self, const ConstantPool& pool,
                         std::span<const std::span<const RawSite>> methods);
  // Keeps a body unless `like` is equal to it; null for one without sites.
  const Body* Keep(Body body, const Body* like);

 private:
  std::unordered_map<std::string_view, std::unique_ptr<ClassNode>> nodes_;
  std::deque<Body> bodies_;
};

}  // namespace misstep
