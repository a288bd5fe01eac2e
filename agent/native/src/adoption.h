// Slots for the threads that ran before the agent was attached to their JVM.
//
// Only a thread itself can take a slot, which is thread-local. So each thread of the process gets one signal, in whose
// handler it takes the slot that was reserved for it, if any: it knows the slot by its own JNIEnv.
#pragma once

#include <jni.h>
#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "threads.h"

namespace misstep {

struct State;

class Adoption {
 public:
  explicit Adoption(State& state) : state_(state) {}

  // Gives the JVM's threads slots. Waits for them, for a bounded time: a thread that does not answer stays unchecked.
  // To be called once, on a thread of the JVM, when the handler is installed. Returns the error, empty if there is
  // none.
  std::string Run(JNIEnv* env);

  // In the handler of the signal: the calling thread, which blocked these signals, takes its slot. Async-signal-safe.
  void Take(uint64_t blocked);

 private:
  enum class Answer : uint8_t { kNone, kTaking, kTaken, kRefused };
  struct Reservation {
    Slot* slot = nullptr;
    std::atomic<Answer> answer = Answer::kNone;
    pthread_t thread = 0;  // that has taken the slot
  };

  std::string Reserve(JNIEnv* env);
  void SignalAll() const;
  void Await() const;
  void Settle(JNIEnv* env, Reservation* r);

  State& state_;
  std::unique_ptr<Reservation[]> reserved_;  // by ascending Slot::env
  size_t count_ = 0;
  std::atomic<bool> open_ = false;
};

}  // namespace misstep
