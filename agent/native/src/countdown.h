// The countdown of a shadow buffer (abi.h): when the next entry check is due, and the next point of the perturbation.
#pragma once

#include <cstdint>

#include "options.h"
#include "state.h"

namespace misstep {

// The share of entries at which something is to be done: the shares of the checks are nested.
double EntryShare(const Options& o);

// Entries to skip until the next check, so that each entry is checked with probability share.
int64_t DrawCountdown(double share, uint64_t* random);

// Arms the countdown of a shadow buffer for the next entry check and the next point of the perturbation, whichever
// comes first, both in method entries from now. It also runs out before the buffer is full: MisstepShadow.enter checks
// for room only then.
void Arm(uint64_t* shadow, int64_t check, int64_t point);

// Method entries until something that cannot be done now is tried again.
constexpr int64_t kLater = 256;

// Handles a countdown that ran out: carries out a point of the perturbation if one is due, and returns whether an entry
// check is due.
bool CheckIsDue(State& state, Slot* slot, uint64_t* shadow, double share, Stage stage);

}  // namespace misstep
