// What a signal handler sees of the place at which it interrupted a thread. Async-signal-safe.
#pragma once

#include <ucontext.h>

#include <cstdint>

#include "code_map.h"

namespace misstep {

// Fills in the registers and the code at pc, and clears the rest.
void ReadPlace(const CodeMap& code, const ucontext_t& registers, Spot* spot);

// Fills in the return addresses on the calling thread's stack, which ends at end: 0 if it is not known, or if another
// stack was interrupted.
void ReadReturns(const CodeMap& code, uint64_t end, Spot* spot);

}  // namespace misstep
