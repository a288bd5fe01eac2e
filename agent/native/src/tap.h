// Handlers of the agent's own that stand before other samplers' signal handlers: each call is noted with the thread's
// shadow at that instant, and handed on.
//
// A handler that is found gets a generation and a function of its own that calls it, as long as the process lives. So a
// sampler that keeps what it found installed, to call it or to install it again, gets what stood there then.
#pragma once

#include <atomic>
#include <csignal>
#include <cstdint>
#include <functional>

#include "tap_buffer.h"
#include "tap_file.h"

namespace misstep {

struct State;

class Taps {
 public:
  // Handlers that can be tapped in one process.
  static constexpr uint32_t kGenerations = 32;

  // found is called for each handler that is tapped for the first time.
  using Found = std::function<void(int signal, uint32_t generation, const struct sigaction& original)>;

  // The ones that are installed work on these buffers, and count in this header, until Stop. state is never destroyed.
  static void Start(const State* state, TapBuffers* buffers, TapHeader* header);
  // From here on handlers only call the original. They stay installed.
  static void Stop();

  // Puts a handler before the one that the signal has, if that is another's. tap is its index in abi.h. Returns whether
  // the signal is tapped. For one thread.
  static bool Look(uint32_t tap, int signal, const Found& found);
  // Puts back the handler before which one of the agent's stands, if it does. For the same thread.
  static void Withdraw(int signal);
};

}  // namespace misstep
