// Counts verdicts, and passes those that are based on walks to a test (seam.h).
#pragma once

#include <cstdint>

#include "verdict.h"

namespace misstep {

struct State;

// Counts the verdict of a check on a walk from pc, 0 for a walk of the thread itself. Not for signal handlers.
void CountWalk(const State& state, Check check, const Verdict& verdict, uint64_t walk, uint64_t pc);
// Passes it to a test without counting it, for a verdict on several walks. state must be that of the process.
void ShowVerdict(const State& state, Check check, const Verdict& verdict, uint64_t walk, uint64_t pc);

}  // namespace misstep
