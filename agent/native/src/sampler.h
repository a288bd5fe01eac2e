// The sampler's thread: it gives ticks to running threads, and probes whether all threads leave the agent again.
//
// It is not attached to the JVM (rule 1): it runs no Java code and calls neither JNI nor JVMTI.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "engine.h"
#include "liveness_engine.h"

namespace misstep {

struct State;

class Sampler {
 public:
  Sampler(State& state, TickEngine& samples, TickEngine& brackets, LivenessEngine& liveness)
      : state_(state), samples_(samples), brackets_(brackets), liveness_(liveness) {}

  // Returns false if no thread can be created.
  bool Start();
  void Stop();

 private:
  void Run();
  void TickAll(bool of_turns, uint64_t now_nanos);
  void Tick(TickEngine* engine, uint64_t now_nanos);
  void TickByCpu(TickEngine* engine, uint64_t now_nanos, size_t left);

  State& state_;
  TickEngine& samples_;
  TickEngine& brackets_;
  LivenessEngine& liveness_;
  pthread_t thread_ = 0;
  bool started_ = false;
  std::atomic<bool> stop_ = false;
  uint64_t random_ = 0;
  size_t next_thread_ = 0;  // of round-robin
};

}  // namespace misstep
