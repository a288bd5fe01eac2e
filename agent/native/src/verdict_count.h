// Counts verdicts, and hands those that rest on walks to a test (seam.h).
#pragma once

#include <cstdint>

#include "verdict.h"

namespace misstep {

struct State;

// Counts the verdict of a check that rests on a walk, from pc or 0 for the thread's own. Not for signal handlers.
void CountWalk(const State& state, Check check, const Verdict& verdict, uint64_t walk, uint64_t pc);
// Shows it to a test without counting it, where one verdict rests on several walks. state is the process's one.
void SayVerdict(const State& state, Check check, const Verdict& verdict, uint64_t walk, uint64_t pc);

}  // namespace misstep
