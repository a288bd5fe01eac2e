// The state that the agent's parts share: options, tables, and what events have described. Created in Agent_OnLoad and
// never destroyed: daemon threads may still use it when the process exits.
#pragma once

#include <jni.h>
#include <jvmti.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "asgct.h"
#include "code_map.h"
#include "edges.h"
#include "futex.h"
#include "methods.h"
#include "options.h"
#include "perturb.h"
#include "publications.h"
#include "record.h"
#include "site_file.h"
#include "status.h"
#include "threads.h"
#include "virtual_shadows.h"

namespace misstep {

class Adoption;

// Threads get their shadow stacks from kStarting on, as earlier frames would be missing from them; checks run in
// kReady.
enum class Stage : uint32_t { kStarting, kReady, kEnded };

struct State {
  Options options;
  std::string option_text;
  JavaVM* vm = nullptr;  // null in tests without one
  jvmtiEnv* jvmti = nullptr;
  AsgctFunction asgct = nullptr;
  StatusFile* status = nullptr;
  std::atomic<Stage> stage = Stage::kStarting;

  Recorder recorder;
  MethodTable methods;
  SiteFile sites;
  CodeMap code;
  DeoptStubs deopt_stubs;
  Perturber perturber;
  Threads threads{options, perturber};
  std::atomic<Adoption*> adoption = nullptr;  // null unless the agent was attached to a JVM that ran; never destroyed
  VirtualShadows virtual_shadows;
  jfieldID shadow_field = nullptr;  // Thread.misstepShadow
  // java.lang.VirtualThread, null before JDK 21. Not its superclass: a BoundVirtualThread is a platform thread.
  jclass virtual_thread_class = nullptr;
  // Thread and its method currentCarrierThread(), null unless VirtualThread notes what is mounted (Patch.java).
  jclass thread_class = nullptr;
  jmethodID current_carrier = nullptr;

  // How far the JVM is with posting its events.
  std::atomic<bool> redefines = false;  // a class was redefined: no event describes the frames of its old version
  std::atomic<int32_t> sender = 0;      // the thread that posts the events of compiled code, the VM's Service Thread
  Publications publications;            // calls of PublishClass
  size_t most_deferred = 4096;          // the most samples that wait for events still to come

  // Shared by the signal handler and the threads that send signals.
  std::atomic<bool> turns_stopped = false;
  std::atomic<uint32_t> spare_ticks = 0;  // of turns that ended early
  Futex bracketer_wake;

  std::atomic<uint64_t> edges[static_cast<size_t>(Explained::kCount)] = {};  // judged edges by their explanation

  bool Ended() const { return stage.load() == Stage::kEnded; }
};

}  // namespace misstep
