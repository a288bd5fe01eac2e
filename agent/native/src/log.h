// agent.log, the agent's log.
#pragma once

#include <string>
#include <string_view>

namespace misstep {

// Opens the log for appending. Returns an empty string or one line with the error. Until then nothing is logged.
std::string OpenLog(const std::string& path);

// Appends one line. Not for signal handlers.
void Log(std::string_view line);

}  // namespace misstep
