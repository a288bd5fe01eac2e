// The signal handler: it walks the thread that it runs on and fills a ticket with the result.
#pragma once

#include <string>

namespace misstep {

struct State;

// Installs the handler of the option signal for this state, permanently. Returns an empty string or one line with the
// error.
std::string InstallHandler(State& state);

}  // namespace misstep
