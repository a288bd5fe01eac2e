// The engine that taps other samplers' signal handlers (tap.h) and writes tap.bin. It judges nothing.
#pragma once

#include <pthread.h>

#include <atomic>
#include <map>
#include <string>

#include "engine.h"
#include "tap_buffer.h"
#include "tap_file.h"
#include "tap_record.h"
#include "tap_still.h"

namespace misstep {

struct State;

class TapEngine final : public Engine {
 public:
  explicit TapEngine(State& state);

  // Creates the file, if the option asks for taps. Returns an empty string or one line with the error.
  std::string Open();
  void Start() override;
  // Waits for the last records. The handlers stay installed and hand on.
  void Stop() override;

 private:
  void Run();
  bool Look();
  bool Rests(uint32_t tap, int signal);
  void Drain(bool last);

  State& state_;
  TapBuffers buffers_;
  TapFile file_;
  TapRecords records_;
  StillThreads still_;
  struct {
    std::map<int, int32_t> timers;  // that sent the signal at the last look, with their threads
    bool withdrawn = false;
  } seen_[MISSTEP_TAP_COUNT];
  pthread_t thread_ = 0;
  bool started_ = false;
  std::atomic<bool> stop_ = false;
};

}  // namespace misstep
