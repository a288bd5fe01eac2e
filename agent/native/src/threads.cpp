#include "threads.h"

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <iterator>
#include <span>

#include "log.h"
#include "random.h"
#include "registers.h"

namespace misstep {
namespace {

// initial-exec (CMakeLists.txt): the handler must not allocate thread-local storage lazily.
thread_local Slot* current_slot = nullptr;
thread_local bool excluded = false;
thread_local volatile sig_atomic_t attaching = 0;

// Ends the slot of a thread that ends without a ThreadEnd event: with -XX:-VMContinuations virtual threads are platform
// threads without events. A thread that is still attached may detach in its own destructor, which posts the event.
void EndWithThread(Slot* slot) {
  static pthread_key_t key = 0;
  static const bool made = pthread_key_create(&key, [](void* own) {
                             const auto* ending = static_cast<Slot*>(own);
                             void* env = nullptr;
                             if (ending->vm != nullptr && ending->vm->GetEnv(&env, JNI_VERSION_1_6) == JNI_OK) {
                               pthread_setspecific(key, own);  // run again after the other destructors
                             } else {
                               ending->owner->End();
                             }
                           }) == 0;
  if (made) pthread_setspecific(key, slot);
}

bool Quiet(const Slot& slot) {
  for (const Ticket& t : slot.tickets) {
    if (t.state.load(std::memory_order_acquire) != TicketState::kIdle) return false;
  }
  return slot.bracket.state.load(std::memory_order_acquire) == BracketState::kIdle;
}

// Rule 2, of a slot that changes hands: no signal to its thread is on its way or being handled.
bool NoSignal(const Slot& slot) {
  const auto idle = [](const Ticket& t) {
    const TicketState s = t.state.load(std::memory_order_acquire);
    return s != TicketState::kPending && s != TicketState::kFilling;
  };
  return std::all_of(std::begin(slot.tickets), std::end(slot.tickets), idle) && idle(slot.bracket.first) &&
         idle(slot.bracket.second);
}

// Allocates all memory of a slot in one mapping; untouched pages cost nothing.
bool Allocate(Slot* slot, uint32_t depth) {
  const size_t shadow = MISSTEP_SHADOW_HEADER + size_t{kShadowEntries} * MISSTEP_SHADOW_ENTRY;
  const size_t words = CodeMap::kMostWords * sizeof(StackWord);
  const size_t ticket = words + size_t{depth} * (2 * sizeof(AsgctFrame) + sizeof(uint64_t));
  const size_t bracket = 2 * words + size_t{depth} * (2 * sizeof(AsgctFrame) + sizeof(jvmtiFrameInfo));
  const size_t own = size_t{depth} * (sizeof(AsgctFrame) + sizeof(jvmtiFrameInfo));
  const size_t traces = size_t{depth} * sizeof(AsgctFrame);
  const size_t size = shadow + kTickets * ticket + bracket + own + traces;
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  auto* at = static_cast<uint8_t*>(memory);
  slot->shadow = reinterpret_cast<uint64_t*>(at);
  at += shadow;
  for (Ticket& t : slot->tickets) {
    t.frames = reinterpret_cast<AsgctFrame*>(at);
    at += size_t{depth} * sizeof(AsgctFrame);
    t.shadow = reinterpret_cast<uint64_t*>(at);
    at += size_t{depth} * sizeof(uint64_t);
    t.trace = reinterpret_cast<AsgctFrame*>(at);
    at += size_t{depth} * sizeof(AsgctFrame);
    t.words = reinterpret_cast<StackWord*>(at);
    at += words;
  }
  for (Ticket* t : {&slot->bracket.first, &slot->bracket.second}) {
    t->frames = reinterpret_cast<AsgctFrame*>(at);
    at += size_t{depth} * sizeof(AsgctFrame);
    t->words = reinterpret_cast<StackWord*>(at);
    at += words;
  }
  slot->bracket.gst = reinterpret_cast<jvmtiFrameInfo*>(at);
  at += size_t{depth} * sizeof(jvmtiFrameInfo);
  slot->asgct = reinterpret_cast<AsgctFrame*>(at);
  at += size_t{depth} * sizeof(AsgctFrame);
  slot->gst = reinterpret_cast<jvmtiFrameInfo*>(at);
  at += size_t{depth} * sizeof(jvmtiFrameInfo);
  slot->traces.frames = reinterpret_cast<AsgctFrame*>(at);
  return true;
}

StackBounds StackOf(pthread_t thread) {
  pthread_attr_t attributes;
  if (pthread_getattr_np(thread, &attributes) != 0) return {};
  void* low = nullptr;
  size_t size = 0;
  const bool known = pthread_attr_getstack(&attributes, &low, &size) == 0;
  pthread_attr_destroy(&attributes);
  if (!known) return {};
  return {.low = reinterpret_cast<uint64_t>(low), .end = reinterpret_cast<uint64_t>(low) + size};
}

int32_t OwnTid() { return static_cast<int32_t>(syscall(SYS_gettid)); }

}  // namespace

std::string ThreadName(jvmtiEnv* jvmti, JNIEnv* env, jthread thread) {
  jvmtiThreadInfo info = {};
  MaySafepoint();
  if (jvmti->GetThreadInfo(thread, &info) != JVMTI_ERROR_NONE) return "";
  std::string name = info.name != nullptr ? info.name : "";
  jvmti->Deallocate(reinterpret_cast<unsigned char*>(info.name));
  if (info.thread_group != nullptr) env->DeleteLocalRef(info.thread_group);
  if (info.context_class_loader != nullptr) env->DeleteLocalRef(info.context_class_loader);
  return name;
}

Slot* Threads::Current() { return current_slot; }

void Threads::ExcludeThisThread() { excluded = true; }

bool Threads::IsExcluded() { return excluded; }

// Makes the timer of the calling thread's turns. Where there is none, the sampler's own signals have to do.
bool Threads::MakeTimer(Slot* slot) const {
  sigevent event = {};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = options_.signal;
  event.sigev_value.sival_ptr = slot;
  event._sigev_un._tid = slot->tid;  // sigev_notify_thread_id, which older headers do not name
  if (timer_create(CLOCK_MONOTONIC, &event, &slot->turn.timer) == 0) return true;
  static std::atomic<bool> logged = false;
  if (!logged.exchange(true)) {
    Log(std::string("threads get fewer signals than the interval requests: cannot create a timer: ") + strerror(errno));
  }
  return false;
}

// A slot in which all is in place except what only its thread knows.
Slot* Threads::Fresh(JNIEnv* env, JavaVM* vm, StatusFile* status, std::string name) {
  Slot* slot = nullptr;
  {
    const WriteLock lock(mutex_);
    const size_t n = size_.load(std::memory_order_relaxed);
    for (size_t i = 0; i < n && slot == nullptr; i++) {
      Slot* s = at(i);
      if (s->state.load(std::memory_order_acquire) == SlotState::kDead && Quiet(*s)) slot = s;
    }
    if (slot == nullptr) {
      if (n == MISSTEP_THREAD_COUNT) return nullptr;
      slot = new Slot();
      if (!Allocate(slot, options_.depth)) {
        delete slot;
        return nullptr;
      }
      slot->owner = this;
      slot->vm = vm;
      slot->status = &status->threads[n];
      slots_[n].store(slot, std::memory_order_release);
      size_.store(n + 1, std::memory_order_release);
    }
    // Tolerances: neither free nor dead nor active until everything below is in place.
    slot->state.store(SlotState::kFree, std::memory_order_release);
    slot->random = options_.seed ^ (++attached_ * 0x9e3779b97f4a7c15);
  }
  slot->entry_budget = {};
  const auto base = reinterpret_cast<uint64_t>(slot->shadow);
  slot->shadow[MISSTEP_SHADOW_TOP / 8] = base + MISSTEP_SHADOW_HEADER;
  slot->shadow[MISSTEP_SHADOW_SELF / 8] = base;
  slot->shadow[MISSTEP_SHADOW_MOUNTED / 8] = MISSTEP_SHADOW_NONE;
  slot->shadow[MISSTEP_SHADOW_LIMIT / 8] =
      base + MISSTEP_SHADOW_HEADER + uint64_t{kShadowEntries} * MISSTEP_SHADOW_ENTRY;
  slot->tid = 0;
  slot->env = env;
  slot->stack = {};
  slot->busy = 0;
  slot->bracket.thread = nullptr;
  slot->bottom = 0;
  slot->traces.size = 0;
  slot->last_cpu_nanos = 0;
  slot->root = 0;
  slot->carrier = false;
  slot->mounts = false;
  slot->chosen.store(Matches(options_.thread_pattern, name), std::memory_order_relaxed);
  slot->name = std::move(name);
  slot->status->phase.store(MISSTEP_PHASE_NONE, std::memory_order_relaxed);
  // The handler touches these pages: have them there before the first signal.
  for (const Ticket& t : std::span(slot->tickets).first(kWarmTickets)) {
    *reinterpret_cast<volatile uint64_t*>(t.frames) = 0;
    *reinterpret_cast<volatile uint64_t*>(t.shadow) = 0;
  }
  *reinterpret_cast<volatile uint64_t*>(slot->bracket.first.frames) = 0;
  *reinterpret_cast<volatile uint64_t*>(slot->bracket.second.frames) = 0;
  slot->turn.ticks = 0;
  slot->turn.cpu_nanos = 0;
  slot->turn.random = NextRandom(&slot->random);
  slot->turn.has_timer = false;
  Assert(2, [&] { return NoSignal(*slot) && !slot->bracket.walking; });
  return slot;
}

Slot* Threads::Attach(JNIEnv* env, JavaVM* vm, StatusFile* status, std::string name) {
  if (excluded) return nullptr;
  attaching = 1;
  Slot* slot = Fresh(env, vm, status, std::move(name));
  if (slot != nullptr) {
    slot->tid = OwnTid();
    slot->stack = StackOf(pthread_self());
    slot->blocked = OwnBlocked();
    slot->status->tid.store(static_cast<uint32_t>(slot->tid), std::memory_order_relaxed);
    if (perturber_.on()) perturber_.Begin(&slot->point, slot->name, static_cast<uint32_t>(slot->tid));
    slot->turn.has_timer = UsesTurns(options_) && MakeTimer(slot);
    EndWithThread(slot);
    current_slot = slot;
    slot->state.store(SlotState::kActive, std::memory_order_seq_cst);
  }
  attaching = 0;
  return slot;
}

Slot* Threads::Reserve(JNIEnv* env, JavaVM* vm, StatusFile* status, std::string name) {
  Slot* slot = Fresh(env, vm, status, std::move(name));
  if (slot != nullptr) slot->sending.store(true, std::memory_order_seq_cst);
  return slot;
}

bool Threads::MayTake() { return current_slot == nullptr && !excluded && attaching == 0; }

void Threads::Take(Slot* slot, uint64_t blocked) {
  slot->tid = OwnTid();
  slot->blocked = blocked;
  current_slot = slot;
}

// Rule 2, as in End: the thread does not end before sending is false, so that it and its stack exist here.
void Threads::Activate(Slot* slot, pthread_t thread) {
  slot->stack = StackOf(thread);
  slot->status->tid.store(static_cast<uint32_t>(slot->tid), std::memory_order_relaxed);
  SlotState fresh = SlotState::kFree;
  slot->state.compare_exchange_strong(fresh, SlotState::kActive, std::memory_order_seq_cst);
  slot->sending.store(false, std::memory_order_seq_cst);
}

void Threads::Release(Slot* slot) {
  slot->sending.store(false, std::memory_order_seq_cst);
  slot->state.store(SlotState::kDead, std::memory_order_release);
}

void Threads::End() {
  Slot* slot = current_slot;
  if (slot == nullptr) return;
  // Rule 2. Sampler: sending = true, then looks at state. Here: state = ending, then look at sending. Both sequentially
  // consistent, so one of them sees the other. The handler runs on this thread: it is not under way now.
  slot->state.store(SlotState::kEnding, std::memory_order_seq_cst);
  while (slot->sending.load(std::memory_order_seq_cst) || slot->bracket.walking.load(std::memory_order_seq_cst)) {
    sched_yield();
  }
  slot->turn.ticks.store(0, std::memory_order_relaxed);
  if (slot->turn.has_timer) timer_delete(slot->turn.timer);
  slot->turn.has_timer = false;
  current_slot = nullptr;
  Perturber::End(&slot->point);
  if (give_up_) give_up_(slot);
  Assert(2, [&] { return NoSignal(*slot); });
  slot->status->tid.store(0, std::memory_order_relaxed);
  slot->state.store(SlotState::kDead, std::memory_order_release);  // last: another thread may take it from here on
}

}  // namespace misstep
