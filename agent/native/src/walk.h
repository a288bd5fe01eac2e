// The call of AsyncGetCallTrace on which verdicts rest.
#pragma once

#include <cstdint>

#include "asgct.h"

namespace misstep {

struct State;

// Walks the calling thread with ASGCT. Each walk that verdicts rest on has a number: the sample's, or that of an entry
// check with kEntryWalk. Async-signal-safe.
constexpr uint64_t kEntryWalk = uint64_t{1} << 63;
void Walk(const State& state, AsgctTrace* trace, void* context, uint64_t walk);

}  // namespace misstep
