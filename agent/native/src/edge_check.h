// The check edges, which judges the traces that the other checks take.
#pragma once

#include <cstdint>
#include <span>

#include "frame.h"
#include "record.h"

namespace misstep {

struct State;

// Where a trace that edges judges comes from.
struct Origin {
  const char* source = "";  // "gst" or "asgct"
  int32_t num_frames = 0;   // as the walker returned it
  uint64_t walk = 0;        // number of the ASGCT walk (see CountWalk), 0 for none
  Place place;
};

// Draws whether this trace is judged, and if so judges and counts each of its edges by itself, and reports it with the
// lowest impossible one. frames are resolved, top first.
void CheckEdgesOf(State& state, std::span<const Frame> frames, const Origin& origin, uint64_t* random);

}  // namespace misstep
