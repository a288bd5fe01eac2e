// The signal handler: it walks the thread that it runs on and fills a ticket with what it saw.
#pragma once

#include <string>

namespace misstep {

struct State;

// Installs the handler of the option signal for this state, which stays for ever. Returns an empty string or one line
// that says why not.
std::string InstallHandler(State& state);

}  // namespace misstep
