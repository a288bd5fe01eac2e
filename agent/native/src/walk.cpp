#include "walk.h"

#include "seam.h"
#include "state.h"

namespace misstep {

void Walk(const State& state, AsgctTrace* trace, void* context, uint64_t walk) {
  if (misstep_seam_walk != nullptr) misstep_seam_walk(walk);
  const auto depth = static_cast<jint>(state.options.depth);
  state.asgct(trace, depth, context);
  // More frames than there is room for is not a valid count: treat it as an invalid code, so that nothing is read.
  if (trace->num_frames > depth) trace->num_frames = -trace->num_frames;
}

}  // namespace misstep
