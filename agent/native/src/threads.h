// Threads that the agent knows: a slot each, with the shadow buffer, the sample buffers and the flags for rule 2.
//
// Slots are never freed: the sampler, the judge and a late signal may access one at any time. A slot is given to
// another thread only when all of its tickets are idle.
#pragma once

#include <jni.h>
#include <jvmti.h>
#include <pthread.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <functional>
#include <string>

#include "asgct.h"
#include "code_map.h"
#include "entry_budget.h"
#include "frame.h"
#include "lock.h"
#include "options.h"
#include "perturb.h"
#include "status.h"
#include "verdict.h"

namespace misstep {

enum class TicketState : uint32_t {
  kIdle,     // free for the sampler
  kPending,  // the signal was sent
  kFilling,  // the handler is running
  kReady,    // for the judge, or for the bracketer if it belongs to a bracket
};

// One sample in progress: sampler -> handler -> judge. Each transition is one compare-and-swap, so that every signal
// sent gets exactly one verdict.
struct Ticket {
  std::atomic<TicketState> state = TicketState::kIdle;
  std::atomic<uint64_t> sequence = 0;  // among this thread's signals; a late signal reads it while the next is sent
  uint64_t sample = 0;                 // among all signals: the number in reports
  std::atomic<uint64_t> sent_nanos = 0;
  // The handler's result.
  Spot spot;
  uint64_t took_nanos = 0;  // in the handler
  int32_t num_frames = 0;
  Reason unjudged = Reason::kUnspecified;  // what the signal interrupted, if that proves nothing
  bool deoptimises = false;                // at code -9: see DeoptStubs
  bool shadow_overflow = false;            // deeper than the buffers
  uint32_t shadow_size = 0;
  Mounted mounted = Mounted::kNone;  // when the signal came
  uint32_t mount_at = 0;             // entries below the mounted virtual thread's
  uint32_t mount_end = 0;            // and with them
  AsgctFrame* frames = nullptr;      // options.depth of them
  uint32_t words_size = 0;
  StackWord* words = nullptr;  // of the stack, if the walk may be cut off: CodeMap::WordsOnStack
  uint64_t* shadow = nullptr;  // options.depth of them
  uint32_t trace_size = 0;
  AsgctFrame* trace = nullptr;  // options.depth of them, bottom first
};

// The trace stack: the results of GetStackTrace at the entries of methods that are still on the shadow stack. Its
// frames are one array, bottom first: the trace of an entry is [0, end), and end - 1 is the method itself, whose bci
// changes. The trace of a method that it calls continues there: its caller's frame is that of index end - 1.
//
// A traced entry of the shadow stack has the tag of its trace in its high 32 bits, which a later push clears.
struct TraceStack {
  static constexpr uint32_t kMost = 256;
  struct Entry {
    uint64_t at = 0;  // index on the shadow stack
    uint32_t tag = 0;
    uint32_t end = 0;
  };
  Entry entries[kMost];
  volatile uint32_t size = 0;
  uint32_t last_tag = 0;
  AsgctFrame* frames = nullptr;  // options.depth of them

  // The newest entry that is on this shadow stack of this size, null if none is. Async-signal-safe on the own thread.
  const Entry* Top(const uint64_t* shadow, uint64_t shadow_size) const {
    for (uint32_t i = size; i > 0; i--) {
      const Entry& e = entries[i - 1];
      if (e.at < shadow_size && shadow[MISSTEP_SHADOW_HEADER / 8 + e.at] >> 32 == e.tag) return &e;
    }
    return nullptr;
  }
};

enum class SlotState : uint32_t {
  kFree,
  kActive,
  kEnding,  // its thread still uses it: no new signals, no other thread
  kDead,    // free for another thread
};

constexpr int kTickets = 32;     // as many as a thread's turn fills between two rounds of the judge
constexpr int kWarmTickets = 8;  // with memory touched from the start, as many as a burst has
constexpr uint32_t kShadowEntries = 16384;

enum class BracketState : uint32_t {
  kIdle,
  kTurn,     // the next bracket of the turn may begin
  kFirst,    // the first signal was sent: for the bracketer once the ticket is ready
  kWalking,  // the first walk is complete
  kSecond,   // the second signal was sent: for the bracketer once the ticket is ready
};

// The turn of a thread in asgct-gst-bracket and its current bracket, see bracketer.h: owned by the bracketer unless
// idle. Until it is idle again the thread gets no other signal.
struct BracketSlot {
  std::atomic<BracketState> state = BracketState::kIdle;
  std::atomic<uint64_t> until_nanos = 0;  // no bracket of the turn except the first begins after this time
  std::atomic<bool> walking = false;      // the bracketer is about to walk this thread (rule 2)
  std::atomic<jthread> thread = nullptr;  // a global reference; null if the thread cannot have brackets
  uint64_t next = 0;                      // sequence of its signals
  uint64_t not_before_nanos = 0;          // when the next one of the turn may begin
  Ticket first;
  Ticket second;
  jvmtiFrameInfo* gst = nullptr;  // options.depth of them
  jint gst_count = 0;
};

// The ticks of some milliseconds, all of which one thread takes: its own timer sends the signals, so that they are on
// time however late the sampler wakes up on a busy machine. The turn lasts as long as the thread runs.
struct Turn {
  timer_t timer = nullptr;
  std::atomic<bool> has_timer = false;
  std::atomic<uint32_t> ticks = 0;  // still to come; 0: it is not this thread's turn, and the sampler may signal it
  // For the handler:
  uint64_t due_nanos = 0;  // when the last tick was due
  uint64_t cpu_nanos = 0;  // CPU time at the end of the last tick
  uint64_t random = 0;
};

// A thread's own stack, both 0 if unknown.
struct StackBounds {
  uint64_t low = 0;
  uint64_t end = 0;
  // The end of the stack that sp is on: 0 if that is another stack, like an alternate signal stack.
  uint64_t EndFrom(uint64_t sp) const { return sp >= low && sp < end ? end : 0; }
};

class Threads;

struct Slot {
  std::atomic<SlotState> state = SlotState::kFree;
  std::atomic<bool> sending = false;  // a signal is about to be sent to this thread (rule 2)
  std::atomic<int32_t> tid = 0;       // the sampler may read it while the slot changes its thread
  JNIEnv* env = nullptr;
  uint64_t* shadow = nullptr;  // the buffer of abi.h
  StackBounds stack;
  uint64_t blocked = 0;  // the signals that the thread blocks outside of handlers
  ThreadStatus* status = nullptr;
  Ticket tickets[kTickets];
  BracketSlot bracket;
  uint64_t next_ticket = 0;         // for the sampler
  std::atomic<uint32_t> ready = 0;  // tickets for the judge
  Turn turn;
  std::atomic<uint64_t> last_cpu_nanos = 0;  // for the sampler: CPU time at its last look
  std::atomic<uint64_t> bottom = 0;          // bottom method of the last GetStackTrace, 0 before
  std::atomic<uint64_t> root = 0;            // bottom method of the last reliable walk
  std::atomic<bool> chosen = false;          // its name matches the option threads
  std::atomic<bool> carrier = false;         // virtual threads were seen mounted on it
  std::atomic<bool> mounts = false;          // and its shadow says which, and when
  volatile sig_atomic_t busy = 0;            // the thread walks itself: one walker at a time
  uint64_t random = 0;                       // the thread's own stream, for countdowns
  EntryBudget entry_budget;
  jvmtiFrameInfo* gst = nullptr;  // options.depth of them
  AsgctFrame* asgct = nullptr;    // options.depth of them
  TraceStack traces;
  std::string name;
  PointState point;
  Threads* owner = nullptr;
  JavaVM* vm = nullptr;  // null in tests without one
};

// Whether a thread owns the slot, from Attach to End. Async-signal-safe.
inline bool HasThread(const Slot& slot) {
  const SlotState s = slot.state.load(std::memory_order_seq_cst);
  return s == SlotState::kActive || s == SlotState::kEnding;
}

// The name of a thread, empty if the JVM does not give it.
std::string ThreadName(jvmtiEnv* jvmti, JNIEnv* env, jthread thread);

// Number of entries that a shadow buffer can hold.
inline uint64_t ShadowCapacity(const uint64_t* buffer) {
  const uint64_t base = reinterpret_cast<uint64_t>(buffer) + MISSTEP_SHADOW_HEADER;
  return (buffer[MISSTEP_SHADOW_LIMIT / 8] - base) / MISSTEP_SHADOW_ENTRY;
}

// Number of entries on a shadow buffer, those beyond the limit included.
inline uint64_t ShadowSize(const uint64_t* buffer) {
  const uint64_t base = reinterpret_cast<uint64_t>(buffer) + MISSTEP_SHADOW_HEADER;
  return (buffer[MISSTEP_SHADOW_TOP / 8] - base) / MISSTEP_SHADOW_ENTRY;
}

class Threads {
 public:
  Threads(const Options& options, Perturber& perturber) : options_(options), perturber_(perturber) {}

  // Gives the calling thread a slot; vm is null in tests without one. Returns nullptr if no slot or no memory is left.
  Slot* Attach(JNIEnv* env, JavaVM* vm, StatusFile* status, std::string name);
  // As Attach, for another thread, of which env is the JNIEnv: nothing is signalled by the slot, nor does its thread
  // end after Take, until Activate or Release. See adoption.h.
  Slot* Reserve(JNIEnv* env, JavaVM* vm, StatusFile* status, std::string name);
  // Whether the calling thread may take a reserved slot: it has none, and is about to get none. Async-signal-safe.
  static bool MayTake();
  // The calling thread takes a slot that was reserved for it. Async-signal-safe.
  static void Take(Slot* slot, uint64_t blocked);
  // Completes a slot that this thread has taken, unless the thread ends.
  void Activate(Slot* slot, pthread_t thread);
  // Frees a reserved slot that no thread has taken.
  static void Release(Slot* slot);
  // Ends the calling thread's slot: afterwards no signal of the sampler is pending for it, and the handler does
  // nothing.
  void End();
  // Sets the function that is called for each ending thread, on that thread, with its slot: it gives up the signals
  // that are pending for the thread.
  void OnEnd(std::function<void(Slot*)> give_up) { give_up_ = std::move(give_up); }
  // Marks the calling thread as one of the agent's own, which never gets a slot.
  static void ExcludeThisThread();
  static bool IsExcluded();
  // The calling thread's slot, null if it has none. Async-signal-safe.
  static Slot* Current();

  size_t size() const { return size_.load(std::memory_order_acquire); }
  Slot* at(size_t i) const { return slots_[i].load(std::memory_order_acquire); }

 private:
  bool MakeTimer(Slot* slot) const;
  Slot* Fresh(JNIEnv* env, JavaVM* vm, StatusFile* status, std::string name);

  const Options& options_;
  Perturber& perturber_;
  std::function<void(Slot*)> give_up_;
  Mutex mutex_;
  std::atomic<size_t> size_ = 0;
  std::atomic<Slot*> slots_[MISSTEP_THREAD_COUNT] = {};
  uint64_t attached_ GUARDED_BY(mutex_) = 0;
};

}  // namespace misstep
