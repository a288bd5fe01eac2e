// The signal handler: it walks the thread that it runs on and fills a ticket with the result.
#pragma once

#include <string>

namespace misstep {

struct State;

// Installs the handler of the option signal for this state. Returns an empty string or one line with the
// error.
std::string InstallHandler(State& state);

// Ignores that signal from here on: late ones are dropped, and whoever wants it may have it.
void ReleaseSignal(const State& state);

}  // namespace misstep
