// The agent's one state, made in Agent_OnLoad and never destroyed: daemon threads may still be in it when the process
// exits.
#pragma once

#include <jni.h>
#include <jvmti.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "code_map.h"
#include "methods.h"
#include "options.h"
#include "perturb.h"
#include "record.h"
#include "status.h"
#include "threads.h"
#include "virtual_shadows.h"

namespace misstep {

// AsyncGetCallTrace's types and signature stand in no header (HotSpot: share/prims/forte.cpp).
struct AsgctFrame {
  jint bci;
  jmethodID method;
};
struct AsgctTrace {
  JNIEnv* env;
  jint num_frames;
  AsgctFrame* frames;
};
using AsgctFunction = void (*)(AsgctTrace*, jint, void*);

// Threads get their shadows from the start on, or frames already there would be missing from it; checks run when ready.
enum class Stage : uint32_t { kStarting, kReady, kEnded };

struct Agent {
  Options options;
  std::string option_text;
  JavaVM* vm = nullptr;  // null in tests without one
  jvmtiEnv* jvmti = nullptr;
  AsgctFunction asgct = nullptr;
  StatusFile* status = nullptr;
  Recorder recorder;
  MethodTable methods;
  CodeMap code;
  DeoptStubs deopt_stubs;
  Threads threads;
  VirtualShadows virtual_shadows;
  Perturber perturber;
  jfieldID shadow_field = nullptr;  // Thread.misstepShadow
  // java.lang.VirtualThread, null before JDK 21. Not its superclass: a BoundVirtualThread is a platform thread.
  jclass virtual_thread_class = nullptr;
  std::atomic<Stage> stage = Stage::kStarting;
  std::atomic<bool> redefines = false;  // a class got other code: of its old version's frames no event tells
  std::atomic<int32_t> sender = 0;      // the thread that tells of compiled code, the VM's Service Thread
  std::atomic<int> publishing = 0;      // calls of PublishClass under way
  std::atomic<uint64_t> sequence = 0;   // of entry checks
  size_t most_deferred = 4096;          // samples that may wait for events still to come
  std::atomic<uint64_t> edges[static_cast<size_t>(Explained::kCount)] = {};  // judged, by what explained them
};

// Null until Agent_OnLoad succeeded.
extern Agent* agent;

uint64_t MonotonicNanos();

// Checks and sampling start.
void Ready();

// The slot of the thread that runs this: for a virtual thread its carrier's. Null when there is none left, and for the
// agent's own threads.
Slot* SlotOfThisThread(JNIEnv* env, jobject thread);

// Appends one line to agent.log. Not for signal handlers.
void Log(std::string_view line);

// Records a mismatch.
void Report(const Mismatch& m);

// Counts and logs a class or method that stays as it is although it may have been chosen.
void NotInstrumented(std::string_view class_name, std::string_view why);

// Says which class the calling thread instruments, null for none.
void Instrumenting(const std::string* class_name);

// Publishes the methods of a prepared class, or of one whose code changes, to the method table. Calls JVMTI and JNI.
void PublishClass(JNIEnv* env, jclass klass);

// Resolves frames of the calling thread's own stack; asks JVMTI about methods that no event has told of yet, which is
// safe because a method on one's own stack cannot be unloaded.
void ResolveOwnStack(JNIEnv* env, std::span<Frame> frames);

// Walks the calling thread with ASGCT. Each walk that verdicts rest on has a number: the sample's, or that of an entry
// check with kEntryWalk. Async-signal-safe.
constexpr uint64_t kEntryWalk = uint64_t{1} << 63;
void Walk(AsgctTrace* trace, void* context, uint64_t walk);

// Counts the verdict of a check that rests on a walk, from pc or 0 for the thread's own. Not for signal handlers.
void CountWalk(Check check, const Verdict& verdict, uint64_t walk, uint64_t pc);
// The same without counting, where one verdict rests on several walks.
void SayVerdict(Check check, const Verdict& verdict, uint64_t walk, uint64_t pc);

// The sampler: its signal handler is installed in OnLoad, its threads run from StartSampler to StopSampler.
std::string InstallHandler(int signal);
void StartSampler();
void StopSampler();

// Where a trace that edges judges comes from.
struct Origin {
  const char* source = "";  // "gst" or "asgct"
  int32_t num_frames = 0;   // as the walker gave it
  uint64_t walk = 0;        // number of the ASGCT walk (see CountWalk), 0 for none
  Place place;
};

// The check edges: draws whether it is this trace's turn, judges it, counts and reports. frames are resolved, top
// first.
void CheckEdgesOf(std::span<const Frame> frames, const Origin& origin, uint64_t* random);

// Uniform in [0, 1).
inline double Uniform(uint64_t* random) { return static_cast<double>(NextRandom(random) >> 11) * 0x1.0p-53; }

// The trace with names, as records show it.
NamedTrace Named(const char* source, std::span<const Frame> frames, int32_t num_frames);
NamedTrace NamedShadow(const MethodTable& methods, std::span<const uint32_t> keys_bottom_first);
// The method that was compiled, nothing for no code.
std::optional<MethodName> NamedRoot(const NmethodRef& code);

// The caller at which a walk was cut off, when it was deoptimised while it was calling, by the words of the stack
// (CodeMap::Deoptimised): a position of its code is where reference, top first, goes on. Null for other verdicts.
NmethodRef DeoptimisedCaller(std::span<const Frame> reference, const Verdict& verdict,
                             std::span<const StackWord> words);

// The method that a frame calls by its byte code, nothing where it calls none or none that is known.
std::optional<MethodName> CallOf(const Frame& frame);

// Adds what the suspect's frames and the stack tell: the top's call, the code to which the top frame may return, and
// for a walk that lost its bottom without a deoptimised caller as many as kMostNamed of the words that point at
// generated code.
constexpr size_t kMostNamed = 160;
void AddStack(Mismatch* m, std::span<const Frame> suspect, std::span<const StackWord> words);

}  // namespace misstep
