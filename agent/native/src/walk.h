// The calls of AsyncGetCallTrace on which verdicts are based.
#pragma once

#include <cstdint>

#include "asgct.h"

namespace misstep {

struct State;

// Walks the calling thread with ASGCT. Each such walk has a number: the sample's, or that of an entry check or-ed with
// kEntryWalk. Async-signal-safe.
constexpr uint64_t kEntryWalk = uint64_t{1} << 63;
void Walk(const State& state, AsgctTrace* trace, void* context, uint64_t walk);

}  // namespace misstep
