// The agent: its state, the engines of its checks and the threads that run them. There is one in a process.
//
// The modules of this folder, each of which includes those above it alone:
//   bytecode, sites, frame, edges, align, nmethod, compare, bracket   pure comparisons: no JVM, no locks, no clock
//   methods, code_map, record, status, threads                       tables that threads share
//   state.h                                                          all of these, as one object that is passed on
//   publisher, events, evidence, edge_check, verdict_count           what the engines have in common
//   signals, turns, handler                                          how a thread comes to walk its own stack
//   entry_engine, sample_engine, bracket_engine, liveness_engine     one for each kind of check (engine.h)
//   sampler, judge                                                   the threads that run the engines
//   agent; callbacks, natives, on_load                               what the JVM calls
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

namespace misstep {

struct Agent : State {
  Agent();

  // The Java half, if there is one, is ready: checks and sampling start, as soon as the Service Thread runs.
  void Ready();
  // The Service Thread runs now.
  void ServiceThreadRuns();
  // The JVM dies: checks and sampling end.
  void End();

  // The threads of the checks and those that run them: from Ready to End.
  void StartChecks();
  void StopChecks();

  ServiceThread service_thread;
  Events events{*this};
  EntryEngine entries{*this};
  SampleEngine samples{*this, events};
  BracketEngine brackets{*this, events};
  LivenessEngine liveness{*this};

 private:
  Judge judge_{*this, {&samples, &brackets}};
  Sampler sampler_{*this, samples, brackets, liveness};
  bool checking_ = false;
  std::atomic<bool> ready_ = false;
};

// For what the JVM calls without an argument of ours. Null until Agent_OnLoad succeeded.
extern Agent* agent;

}  // namespace misstep
