// Which classes the Java half instruments, and which it leaves unchanged.
#pragma once

#include <string>
#include <string_view>

#include "status.h"

namespace misstep {

// Counts and logs a class or method that is not instrumented although it may have been chosen.
void NotInstrumented(StatusFile* status, std::string_view class_name, std::string_view why);

// Sets which class the calling thread instruments, null for none.
void Instrumenting(const std::string* class_name);
// That class, null for none.
const std::string* Instrumented();

}  // namespace misstep
