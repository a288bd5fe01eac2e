// Threads that the agent knows: a slot each, with the shadow buffer, the sample buffers and what rule 2 needs.
//
// Slots are never freed: the sampler, the judge and a late signal may look at one at any time. A slot is given to
// another thread only when none of its tickets is under way.
#pragma once

#include <jni.h>
#include <jvmti.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <functional>
#include <string>

#include "asgct.h"
#include "code_map.h"
#include "lock.h"
#include "options.h"
#include "perturb.h"
#include "status.h"

namespace misstep {

enum class TicketState : uint32_t {
  kIdle,     // free for the sampler
  kPending,  // the signal was sent
  kFilling,  // the handler is at work
  kReady,    // for the judge, of a bracket for the bracketer
};

// One sample on its way: sampler -> handler -> judge. Each transition is one compare-and-swap, so that every signal
// sent gets exactly one verdict.
struct Ticket {
  std::atomic<TicketState> state = TicketState::kIdle;
  std::atomic<uint64_t> sequence = 0;  // of this thread's signals; a late signal looks at it while the next is sent
  uint64_t sample = 0;                 // of all signals: the number in reports
  std::atomic<uint64_t> sent_nanos = 0;
  // The handler's answer.
  Spot spot;
  uint64_t took_nanos = 0;  // in the handler
  int32_t num_frames = 0;
  bool busy = false;             // the signal met a walk of the same thread
  bool deoptimises = false;      // at code -9: see DeoptStubs
  bool shadow_overflow = false;  // deeper than the buffers
  uint32_t shadow_size = 0;
  AsgctFrame* frames = nullptr;  // options.depth of them
  uint32_t words_size = 0;
  StackWord* words = nullptr;  // of the stack, where the walk may be cut off: CodeMap::WordsOnStack
  uint64_t* shadow = nullptr;  // options.depth of them
  uint32_t trace_size = 0;
  AsgctFrame* trace = nullptr;  // options.depth of them, bottom first
};

// The trace stack: what GetStackTrace showed at the entries of methods that are still on the shadow. Its frames are one
// array, bottom first: the trace of an entry is [0, end), and end - 1 is the method itself, whose bci moves on. The
// trace of a method that it calls continues there: its caller's frame is that of index end - 1.
//
// An entry of the shadow that was traced carries the tag of its trace in its high 32 bits, which a later push clears.
struct TraceStack {
  static constexpr uint32_t kMost = 256;
  struct Entry {
    uint64_t at = 0;  // index on the shadow
    uint32_t tag = 0;
    uint32_t end = 0;
  };
  Entry entries[kMost];
  volatile uint32_t size = 0;
  uint32_t last_tag = 0;
  AsgctFrame* frames = nullptr;  // options.depth of them

  // The newest entry that is on this shadow of this size, null when none is. Async-signal-safe on the own thread.
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
  kEnding,  // its thread still has to do with it: no new signals, no other thread
  kDead,    // to be given to another thread
};

constexpr int kTickets = 32;     // what a thread's turn fills until the judge comes by
constexpr int kWarmTickets = 8;  // with memory from the start, as many as a burst has
constexpr uint32_t kShadowEntries = 16384;

enum class BracketState : uint32_t {
  kIdle,
  kTurn,     // the next bracket of the turn may begin
  kFirst,    // the first signal was sent: the bracketer's once the ticket is ready
  kWalking,  // the first walk is there
  kSecond,   // the second signal was sent: the bracketer's once the ticket is ready
};

// The turn of a thread in asgct-gst-bracket and its bracket on its way, see bracketer.h: the bracketer's when not idle.
// Until it is idle again the thread gets no other signal.
struct BracketSlot {
  std::atomic<BracketState> state = BracketState::kIdle;
  std::atomic<uint64_t> until_nanos = 0;  // no bracket of the turn begins after it, but for the first
  std::atomic<bool> walking = false;      // the bracketer is about to walk this thread (rule 2)
  std::atomic<jthread> thread = nullptr;  // a global reference; null where brackets cannot be
  uint64_t next = 0;                      // sequence of its signals
  uint64_t not_before_nanos = 0;          // when the next one of the turn may begin
  Ticket first;
  Ticket second;
  jvmtiFrameInfo* gst = nullptr;  // options.depth of them
  jint gst_count = 0;
};

// The ticks of some milliseconds, all of which one thread takes: its own timer brings the signals, so that they come in
// time however late the sampler wakes up on a busy machine. The turn lasts as long as the thread runs.
struct Turn {
  timer_t timer = nullptr;
  std::atomic<bool> has_timer = false;
  std::atomic<uint32_t> ticks = 0;  // to come; 0: it is not this thread's turn, and the sampler's signals may come
  // The handler's:
  uint64_t due_nanos = 0;  // when the last tick was due
  uint64_t cpu_nanos = 0;  // CPU time at the end of the last tick
  uint64_t random = 0;
};

// A thread's own stack, both 0 where it is not known.
struct StackBounds {
  uint64_t low = 0;
  uint64_t end = 0;
  // Where what is below sp ends: 0 when sp is on another stack, as a handler's own is.
  uint64_t EndFrom(uint64_t sp) const { return sp >= low && sp < end ? end : 0; }
};

class Threads;

struct Slot {
  std::atomic<SlotState> state = SlotState::kFree;
  std::atomic<bool> sending = false;  // somebody is about to signal this thread (rule 2)
  std::atomic<int32_t> tid = 0;       // the sampler may look at it while the slot changes hands
  JNIEnv* env = nullptr;
  uint64_t* shadow = nullptr;  // the buffer of abi.h
  StackBounds stack;
  ThreadStatus* status = nullptr;
  Ticket tickets[kTickets];
  BracketSlot bracket;
  uint64_t next_ticket = 0;         // the sampler's
  std::atomic<uint32_t> ready = 0;  // tickets for the judge
  Turn turn;
  std::atomic<uint64_t> last_cpu_nanos = 0;  // the sampler's: CPU time when last looked at
  std::atomic<uint64_t> bottom = 0;          // lowest method of the last GetStackTrace, 0 before
  std::atomic<uint64_t> root = 0;            // bottom method of the last walk that can be relied on
  std::atomic<bool> chosen = false;          // its name is one that the option threads asks for
  std::atomic<bool> carrier = false;         // virtual threads were seen mounted on it
  volatile sig_atomic_t busy = 0;            // the thread walks itself: one walker at a time
  uint64_t random = 0;                       // the thread's own stream, for countdowns
  jvmtiFrameInfo* gst = nullptr;             // options.depth of them
  AsgctFrame* asgct = nullptr;               // options.depth of them
  TraceStack traces;
  std::string name;
  PointState point;
  Threads* owner = nullptr;
  JavaVM* vm = nullptr;  // null in tests without one
};

// Whether a thread has the slot, from Attach to End. Async-signal-safe.
inline bool HasThread(const Slot& slot) {
  const SlotState s = slot.state.load(std::memory_order_seq_cst);
  return s == SlotState::kActive || s == SlotState::kEnding;
}

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

  // Gives the calling thread a slot; vm is null in tests without one. Returns nullptr when there is none left or no
  // memory.
  Slot* Attach(JNIEnv* env, JavaVM* vm, StatusFile* status, std::string name);
  // Ends the calling thread's slot: afterwards the sampler has no signal on its way to it, and the handler does
  // nothing.
  void End();
  // To be called for each thread that ends, on that thread, with its slot: gives up the signals on their way to it.
  void OnEnd(std::function<void(Slot*)> give_up) { give_up_ = std::move(give_up); }
  // Says that the calling thread is one of the agent's own, which never gets a slot.
  static void ExcludeThisThread();
  static bool IsExcluded();
  // The calling thread's slot, null when it has none. Async-signal-safe.
  static Slot* Current();

  size_t size() const { return size_.load(std::memory_order_acquire); }
  Slot* at(size_t i) const { return slots_[i].load(std::memory_order_acquire); }

 private:
  bool MakeTimer(Slot* slot) const;

  const Options& options_;
  Perturber& perturber_;
  std::function<void(Slot*)> give_up_;
  Mutex mutex_;
  std::atomic<size_t> size_ = 0;
  std::atomic<Slot*> slots_[MISSTEP_THREAD_COUNT] = {};
  uint64_t attached_ GUARDED_BY(mutex_) = 0;
};

}  // namespace misstep
