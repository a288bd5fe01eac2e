#include "instrumented.h"

#include "log.h"

namespace misstep {
namespace {

thread_local const std::string* instrumenting = nullptr;

}  // namespace

void NotInstrumented(StatusFile* status, std::string_view class_name, std::string_view why) {
  // A class loaded in an endless variety must not fill the disk.
  constexpr uint64_t kMostLogged = 10000;
  if (status->failed.fetch_add(1) >= kMostLogged) return;
  Log(std::string("not instrumented: ").append(class_name).append(": ").append(why));
}

void Instrumenting(const std::string* class_name) { instrumenting = class_name; }

const std::string* Instrumented() { return instrumenting; }

}  // namespace misstep
