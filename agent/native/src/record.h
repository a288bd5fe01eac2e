// Mismatch records: JSON lines in protojson form of misstep.v1.Mismatch, deduplicated, bounded in number.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "code_map.h"
#include "lock.h"
#include "methods.h"
#include "verdict.h"

namespace misstep {

struct NamedFrame {
  MethodName method;
  int32_t bci = 0;
};

struct NamedTrace {
  const char* source = "";
  std::vector<NamedFrame> frames;  // top first
  int32_t num_frames = 0;
};

// The walked thread and its state: a spot of zeros if there was no signal.
struct Place {
  std::string_view thread;
  int64_t tid = 0;
  uint64_t sequence = 0;
  Spot spot;
  std::string_view top_state;
};

// A word of the stack that points at generated code, and the name of that code.
struct NamedWord {
  uint64_t at = 0;
  std::string code;
};

struct Mismatch {
  Check check = Check::kGstAsgct;
  Verdict verdict;
  uint64_t count = 1;  // of the mismatches that it stands for
  NamedTrace reference;
  NamedTrace suspect;
  Place place;
  // Kind truncated: the compiled method at which the walk ended, if it was deoptimised during the call.
  std::optional<MethodName> deoptimised_caller;
  std::vector<NamedWord> stack;        // kind truncated without it: words from which the walk could have continued
  std::optional<MethodName> top_call;  // the method that the suspect's top frame calls according to the bytecode
  std::string_view return_state;       // the region that spot.returns points into, as Place::top_state
};

// Appends text as a JSON string. Bytes that are not UTF-8 become '?': HotSpot's modified UTF-8 may have some.
void AppendJson(std::string* out, std::string_view text);

// One line with its line break, and the offset of the count in it. The count is the last field and padded after its
// end, so that it can be overwritten in place.
std::string MismatchLine(const Mismatch& m, size_t* count_at);

// A class name of JVMTI (java/lang/String) in Java's notation.
std::string WithDots(std::string_view class_name);

// The location of a mismatch: check, kind and the frames at the boundary.
std::string Boundary(const Mismatch& m);

// The moment in the top frame's life, by everything that may distinguish its stages: the code at pc, what it calls, and
// what the stack shows about its caller. The same boundary at another moment may have another cause.
std::string Moment(const Mismatch& m);

class Recorder {
 public:
  // Creates path, or truncates it. Returns an empty string or one line with the error.
  std::string Open(const std::string& path, uint32_t most, bool every = false);
  // Writes a new record, always if every one is kept; otherwise, or beyond the bound, increments the count of the last
  // similar record, if there is one: one of the same boundary and moment, or of the same boundary if that has many
  // moments. Returns an empty string, or one line the first time that a mismatch is lost.
  std::string Report(const Mismatch& m);

 private:
  struct Written {
    uint64_t count_at;
    uint64_t count;
  };
  struct Moments {
    uint32_t number = 0;
    std::string last;  // its key in written_
  };
  std::string Lost(const std::string& why) REQUIRES(mutex_);

  Mutex mutex_;
  int fd_ GUARDED_BY(mutex_) = -1;
  uint32_t most_ GUARDED_BY(mutex_) = 0;
  bool every_ GUARDED_BY(mutex_) = false;
  uint32_t records_ GUARDED_BY(mutex_) = 0;
  uint64_t size_ GUARDED_BY(mutex_) = 0;
  bool lost_ GUARDED_BY(mutex_) = false;
  std::unordered_map<std::string, Written> written_ GUARDED_BY(mutex_);  // by boundary and moment
  std::unordered_map<std::string, Moments> moments_ GUARDED_BY(mutex_);  // by boundary
};

}  // namespace misstep
