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

// Who was walked and where it stood: a spot of zeros where there was no signal.
struct Place {
  std::string_view thread;
  int64_t tid = 0;
  uint64_t sequence = 0;
  Spot spot;
  std::string_view top_state;
};

// A word of the stack that points at generated code, and at which.
struct NamedWord {
  uint64_t at = 0;
  std::string code;
};

struct Mismatch {
  Check check = Check::kGstAsgct;
  Verdict verdict;
  NamedTrace reference;
  NamedTrace suspect;
  Place place;
  // Kind truncated: the compiled method at which the walk ended, when it was deoptimised while it was calling.
  std::optional<MethodName> deoptimised_caller;
  std::vector<NamedWord> stack;        // kind truncated without one: what the walker could have gone on from
  std::optional<MethodName> top_call;  // what the suspect's top frame calls, by the byte code
  std::string_view return_state;       // what spot.returns points at, as Place::top_state
};

// Appends text as a JSON string. Bytes that are no UTF-8 become '?': HotSpot's modified UTF-8 may hold some.
void AppendJson(std::string* out, std::string_view text);

// One line with its line break, and where in it the count stands. The count is the last field and padded behind, so
// that it can be overwritten in place.
std::string MismatchLine(const Mismatch& m, size_t* count_at);

// A class name of JVMTI (java/lang/String) as Java writes it.
std::string WithDots(std::string_view class_name);

// Where a mismatch is: check, kind and the frames at the boundary.
std::string Boundary(const Mismatch& m);

// When it was in the top frame's life, by all that may tell its stages apart: the code at pc, what it calls, what the
// stack says of its caller. The same boundary at another moment may have another cause.
std::string Moment(const Mismatch& m);

class Recorder {
 public:
  // Makes path anew. Returns an empty string or one line that says why not.
  std::string Open(const std::string& path, uint32_t most, bool every = false);
  // Writes a new record, always if every one is kept; else or beyond the bound it raises the count of the last one like
  // it, if there is one: of the same boundary and moment, or of the same boundary when that has many moments. Returns
  // an empty string, or one line the first time that a mismatch is lost.
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
