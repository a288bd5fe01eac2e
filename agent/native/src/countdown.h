// The countdown of a shadow buffer (abi.h): when the next entry check is due, and the next point of the perturbation.
#pragma once

#include <cstdint>

#include "options.h"
#include "state.h"

namespace misstep {

// The share of entries at which something is to be done: the checks take nested shares of them.
double EntryShare(const Options& o);

// Entries to skip until the next check, so that each entry is checked with probability share.
int64_t DrawCountdown(double share, uint64_t* random);

// Arms the countdown of a shadow buffer for the next entry check and the next point of the perturbation, whichever
// comes first, both in method entries from here. It runs out before the buffer is full, too: MisstepShadow.enter asks
// for room only then.
void Arm(uint64_t* shadow, int64_t check, int64_t point);

// Method entries until what cannot be done now is tried again.
constexpr int64_t kLater = 256;

// What a countdown that ran out stands for: comes to a point of the perturbation when one is due, and returns whether
// an entry check is.
bool CheckIsDue(State& state, Slot* slot, uint64_t* shadow, double share, Stage stage);

}  // namespace misstep
