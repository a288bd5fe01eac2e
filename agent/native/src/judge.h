// The judge's thread: makes the engines judge new results, and detects walks that hang.
//
// It is not attached to the JVM (rule 1): it runs no Java code and calls neither JNI nor JVMTI.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "engine.h"

namespace misstep {

struct State;

class Judge {
 public:
  Judge(State& state, std::initializer_list<Engine*> engines) : state_(state), engines_(engines) {}

  // Returns false if no thread can be created.
  bool Start();
  void Stop();
  // Judges all that is left, once the thread has ended: verdicts that wait for events wait here, too, as the JVM posts
  // events until it is dead.
  void Finish();

 private:
  void Run();
  void Round(uint64_t now_nanos, bool end);

  State& state_;
  const std::vector<Engine*> engines_;
  pthread_t thread_ = 0;
  bool started_ = false;
  std::atomic<bool> stop_ = false;
};

}  // namespace misstep
