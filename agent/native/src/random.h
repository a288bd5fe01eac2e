// Random numbers that a seed repeats.
#pragma once

#include <cstdint>

namespace misstep {

// One step of a splitmix64 stream.
inline uint64_t NextRandom(uint64_t* state) {
  uint64_t z = (*state += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

// Uniform in [0, 1).
inline double Uniform(uint64_t* random) { return static_cast<double>(NextRandom(random) >> 11) * 0x1.0p-53; }

}  // namespace misstep
