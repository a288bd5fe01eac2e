// The engine of liveness: checks that threads leave the agent again.
#pragma once

#include <cstdint>

#include "engine.h"

namespace misstep {

struct State;

class LivenessEngine final : public Engine {
 public:
  explicit LivenessEngine(State& state) : state_(state) {}

  // Looks at each thread if a probe is due. Returns the time of the next probe, UINT64_MAX for never. For the sampler's
  // thread.
  uint64_t Probe(uint64_t now_nanos);

 private:
  State& state_;
  uint64_t next_nanos_ = 0;
};

}  // namespace misstep
