// The process that attached the agent to a JVM that ran: it holds a lock (flock) of a file, which the kernel releases
// however it ends.
#pragma once

#include <string>

namespace misstep {

// Starts a thread that calls gone once no other process holds a lock of the file. Without such a file nothing is
// awaited. Returns an empty string, or one line that says what is wrong.
std::string AwaitOwnersEnd(const std::string& file, void (*gone)());

}  // namespace misstep
