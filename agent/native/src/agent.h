// The agent: its state, the engines of its checks and the threads that run them. There is one in a process.
//
// The modules of this folder, each of which includes those above it alone:
//   bytecode, upcalls, sites, frame, edges, align, nmethod,
//   compare, bracket                                                 pure comparisons: no JVM, no locks, no clock
//   methods, code_map, record, site_file, status, threads            tables that threads share
//   state.h                                                          all of these, as one object that is passed around
//   publisher, events, evidence, edge_check, verdict_count           shared by the engines
//   signals, adoption, turns, handler                                how a thread is made to walk its own stack
//   tap_buffer, tap_file, tap_still, tap                             how other samplers' signals are noted, who stands
//   entry_engine, sample_engine, bracket_engine, liveness_engine,
//   tap_engine                                                       one for each kind of check (engine.h)
//   sampler, judge                                                   the threads that run the engines
//   owner                                                            a thread that waits for the end of who attached it
//   agent; callbacks, natives, on_load                               functions that the JVM calls
#pragma once

#include <atomic>

#include "bracket_engine.h"
#include "entry_engine.h"
#include "events.h"
#include "judge.h"
#include "liveness_engine.h"
#include "sample_engine.h"
#include "sampler.h"
#include "service_thread.h"
#include "state.h"
#include "tap_engine.h"

namespace misstep {

struct Agent : State {
  Agent();

  // To be called when the Java half, if there is one, is ready: checks and sampling start once the Service Thread runs.
  void Ready();
  // To be called when the Service Thread runs.
  void ServiceThreadRuns();
  // To be called when the JVM shuts down: checks and sampling end.
  void End();

  // Start and stop the engines and the threads that run them: from Ready to End.
  void StartChecks();
  void StopChecks();

  ServiceThread service_thread;
  Events events{*this};
  EntryEngine entries{*this};
  SampleEngine samples{*this, events};
  BracketEngine brackets{*this, events};
  LivenessEngine liveness{*this};
  TapEngine taps{*this};

 private:
  Judge judge_{*this, {&samples, &brackets}};
  Sampler sampler_{*this, samples, brackets, liveness};
  bool checking_ = false;
  std::atomic<bool> ready_ = false;
};

// For functions that the JVM calls without an argument from the agent. Null until Agent_OnLoad or Agent_OnAttach has
// made it.
extern Agent* agent;

}  // namespace misstep
