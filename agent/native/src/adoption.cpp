#include "adoption.h"

#include <dirent.h>
#include <jvmti.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "clock.h"
#include "rules.h"
#include "signals.h"
#include "state.h"

namespace misstep {

namespace {

constexpr uint64_t kMostNanos = 1'000'000'000;  // how long threads are waited for
constexpr uint64_t kLookNanos = 1'000'000;

}  // namespace

// A thread's JNIEnv is part of HotSpot's JavaThread, whose address is in the field eetop of java.lang.Thread.
std::string Adoption::Reserve(JNIEnv* env) {
  jvmtiEnv* jvmti = state_.jvmti;
  jclass thread_class = env->FindClass("java/lang/Thread");
  jfieldID eetop = thread_class != nullptr ? env->GetFieldID(thread_class, "eetop", "J") : nullptr;
  jthread self = nullptr;
  jint all = 0;
  jthread* threads = nullptr;
  if (eetop == nullptr || jvmti->GetCurrentThread(&self) != JVMTI_ERROR_NONE ||
      jvmti->GetAllThreads(&all, &threads) != JVMTI_ERROR_NONE) {
    env->ExceptionClear();
    return "this JVM does not show its threads";
  }
  const int64_t offset = reinterpret_cast<int64_t>(env) - env->GetLongField(self, eetop);
  std::vector<Slot*> slots;
  for (jint i = 0; i < all; i++) {
    const int64_t address = env->GetLongField(threads[i], eetop);
    auto* of = reinterpret_cast<JNIEnv*>(address + offset);
    Slot* slot = nullptr;
    if (address != 0 && of != env) {  // alive, and not this thread, which works for the agent
      slot = state_.threads.Reserve(of, state_.vm, state_.status, ThreadName(jvmti, env, threads[i]));
    }
    if (slot != nullptr) {
      slot->bracket.thread = static_cast<jthread>(env->NewGlobalRef(threads[i]));
      slots.push_back(slot);
    }
    env->DeleteLocalRef(threads[i]);
  }
  jvmti->Deallocate(reinterpret_cast<unsigned char*>(threads));
  std::ranges::sort(slots, {}, &Slot::env);
  count_ = slots.size();
  reserved_ = std::make_unique<Reservation[]>(count_);
  for (size_t i = 0; i < count_; i++) reserved_[i].slot = slots[i];
  return "";
}

void Adoption::Take(uint64_t blocked) {
  if (!open_.load(std::memory_order_acquire)) return;
  void* own = nullptr;
  if (state_.vm->GetEnv(&own, JNI_VERSION_1_6) != JNI_OK) return;
  Reservation* const end = reserved_.get() + count_;
  Reservation* r = std::lower_bound(reserved_.get(), end, own, [](const Reservation& a, const void* of) {
    return reinterpret_cast<uintptr_t>(a.slot->env) < reinterpret_cast<uintptr_t>(of);
  });
  if (r == end || r->slot->env != own) return;
  Answer none = Answer::kNone;
  const bool takes = Threads::MayTake();
  if (!r->answer.compare_exchange_strong(none, takes ? Answer::kTaking : Answer::kRefused) || !takes) return;
  Threads::Take(r->slot, blocked);
  r->thread = pthread_self();
  r->answer.store(Answer::kTaken, std::memory_order_release);
}

void Adoption::SignalAll() const {
  DIR* tasks = opendir("/proc/self/task");
  if (tasks == nullptr) return;
  while (const dirent* task = readdir(tasks)) {
    if (const int tid = std::atoi(task->d_name); tid > 0) SendSignal(state_, tid, SignalFor::kAdoption, 0);
  }
  closedir(tasks);
}

void Adoption::Await() const {
  const auto answered = [](const Reservation& r) { return r.answer.load() != Answer::kNone; };
  const uint64_t limit_nanos = MonotonicNanos() + kMostNanos;
  while (!std::all_of(reserved_.get(), reserved_.get() + count_, answered) && MonotonicNanos() < limit_nanos)
    SleepUntil(MonotonicNanos() + kLookNanos);
}

// The slot of a thread that has answered becomes active, one that nobody has taken is free again.
void Adoption::Settle(JNIEnv* env, Reservation* r) {
  Slot* slot = r->slot;
  Answer none = Answer::kNone;
  r->answer.compare_exchange_strong(none, Answer::kRefused);
  while (r->answer.load() == Answer::kTaking) sched_yield();
  if (r->answer.load(std::memory_order_acquire) == Answer::kTaken) return state_.threads.Activate(slot, r->thread);
  MaySafepoint();
  env->DeleteGlobalRef(slot->bracket.thread.exchange(nullptr));
  state_.threads.Release(slot);
}

std::string Adoption::Run(JNIEnv* env) {
  MaySafepoint();
  std::string error = Reserve(env);
  if (!error.empty()) return error;
  open_.store(true, std::memory_order_release);
  SignalAll();
  Await();
  for (size_t i = 0; i < count_; i++) Settle(env, &reserved_[i]);
  return "";
}

}  // namespace misstep
