#include "bracketer.h"

#include <pthread.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "agent_thread.h"
#include "clock.h"
#include "log.h"
#include "rules.h"
#include "signals.h"
#include "state.h"
#include "turns.h"

namespace misstep {

namespace {

constexpr size_t kMostQueued = 128;  // brackets that the judge has not taken yet
constexpr uint64_t kMostRestNanos = 20'000'000;
constexpr uint64_t kSpinNanos = 20'000;  // longer than a thread that runs takes to answer
constexpr int kNice = -19;               // it mostly waits, and each bracket waits for it
constexpr unsigned long kTimerSlackNanos = 1'000;
constexpr uint64_t kStopLookNanos = 50'000'000;  // so that a stop is noticed soon
constexpr uint64_t kStopNanos = 2'000'000'000;   // how long Stop waits for current walks
constexpr uint64_t kWaitLookNanos = 100'000;

// The instruction that enters the kernel.
#if defined(__x86_64__)
constexpr uint8_t kSystemCall[] = {0x0f, 0x05};  // syscall
#elif defined(__aarch64__)
constexpr uint8_t kSystemCall[] = {0x01, 0x00, 0x00, 0xd4};  // svc #0
#endif

OwnedBracket::Walk TakeWalk(const Ticket& t) {
  OwnedBracket::Walk w;
  w.code = t.num_frames;
  for (int32_t i = 0; i < t.num_frames; i++) {
    w.frames.push_back({reinterpret_cast<uint64_t>(t.frames[i].method), t.frames[i].bci, nullptr});
  }
  w.spot = t.spot;
  w.sequence = t.sample;
  w.deoptimises = t.deoptimises;
  w.words.assign(t.words, t.words + t.words_size);
  return w;
}

std::vector<Frame> GstOf(const BracketSlot& b) {
  std::vector<Frame> gst;
  gst.reserve(static_cast<size_t>(b.gst_count));
  for (jint f = 0; f < b.gst_count; f++) {
    gst.push_back({reinterpret_cast<uint64_t>(b.gst[f].method), static_cast<int32_t>(b.gst[f].location), nullptr});
  }
  return gst;
}

Ticket* AwaitedTicket(Slot* slot) {
  switch (slot->bracket.state.load(std::memory_order_acquire)) {
    case BracketState::kFirst:
      return &slot->bracket.first;
    case BracketState::kSecond:
      return &slot->bracket.second;
    default:
      return nullptr;
  }
}

// Ends a turn that no thread takes any more.
void EndTurn(Slot* slot) {
  BracketState turn = BracketState::kTurn;
  slot->bracket.state.compare_exchange_strong(turn, BracketState::kIdle);
}

// Whether both walks found the thread at the same system call, before which the kernel sets its pc to restart the call:
// the thread waits there, and its stack does not change.
bool StandsStill(const BracketSlot& b) {
  const Spot& spot = b.first.spot;
  if (spot.pc != b.second.spot.pc || spot.sp != b.second.spot.sp) return false;
  const auto is_call = [](const uint8_t* code, uint32_t size) {
    return size >= sizeof(kSystemCall) && std::equal(std::begin(kSystemCall), std::end(kSystemCall), code);
  };
  uint8_t before[sizeof(kSystemCall)];
  return is_call(spot.code, spot.code_size) ||
         is_call(before, ReadCode(spot.pc - sizeof(before), before, sizeof(before)));
}

// Waits a little for the thread's answer: falling asleep and waking up takes longer, and the more time a thread has
// between the walks, the less they prove.
void AwaitAnswer(Slot* slot) {
  const Ticket* t = AwaitedTicket(slot);
  if (t == nullptr) return;
  const uint64_t limit_nanos = MonotonicNanos() + kSpinNanos;
  while (t->state.load(std::memory_order_acquire) != TicketState::kReady && MonotonicNanos() < limit_nanos) {
  }
}

}  // namespace

bool Bracketer::QueueFull() {
  const ReadLock lock(queue_mutex_);
  return queue_.size() >= kMostQueued;
}

// GetStackTrace returned these ids, so they belong to methods, although the bracket is void.
void Bracketer::TakeIds(const BracketSlot& b) const {
  std::vector<Frame> gst = GstOf(b);
  state_.methods.Resolve(gst);
  state_.methods.NoteGiven(gst);
}

// Ends a bracket that is void, and with it the turn.
void Bracketer::GiveUp(Slot* slot, Reason reason) const {
  BracketSlot& b = slot->bracket;
  if (b.state.load(std::memory_order_acquire) == BracketState::kSecond) TakeIds(b);
  b.first.state.store(TicketState::kIdle, std::memory_order_release);
  b.second.state.store(TicketState::kIdle, std::memory_order_release);
  // At the JVM's end two threads may give it up at the same time.
  if (b.state.exchange(BracketState::kIdle, std::memory_order_acq_rel) == BracketState::kIdle) return;
  Count(state_.status, Check::kAsgctGstBracket, Verdict::Void(reason));
}

// Ends a bracket whose signal has not been handled. Returns false if a handler is handling it.
bool Bracketer::GiveUpPending(Slot* slot, Ticket* t, Reason reason) const {
  TicketState pending = TicketState::kPending;
  if (!t->state.compare_exchange_strong(pending, TicketState::kIdle)) return false;
  GiveUp(slot, reason);
  return true;
}

// Begins the next bracket of a turn, or ends it.
void Bracketer::Begin(Slot* slot) {
  BracketSlot& b = slot->bracket;
  if (given_.load(std::memory_order_relaxed) == 0 || b.thread == nullptr || QueueFull()) {
    b.state.store(BracketState::kIdle, std::memory_order_release);
    return;
  }
  given_.fetch_sub(1, std::memory_order_relaxed);
  b.state.store(BracketState::kFirst, std::memory_order_release);
  switch (SendTicket(state_, slot, &b.first, SignalFor::kBracketFirst, b.next++)) {
    case Sent::kYes:
      break;
    case Sent::kThreadEnded:
      b.state.store(BracketState::kIdle, std::memory_order_release);
      break;
    case Sent::kRefused:
      GiveUp(slot, Reason::kSendFailed);
      break;
  }
}

// Takes the stack at the next safepoint after the first walk, then signals again.
void Bracketer::WalkAtSafepoint(Slot* slot) {
  BracketSlot& b = slot->bracket;
  b.state.store(BracketState::kWalking, std::memory_order_release);
  if (b.first.unjudged != Reason::kUnspecified) return GiveUp(slot, b.first.unjudged);
  // Rule 2, as in Threads::End: the thread does not end while it is walked.
  b.walking.store(true, std::memory_order_seq_cst);
  jvmtiError error = JVMTI_ERROR_THREAD_NOT_ALIVE;
  if (slot->state.load(std::memory_order_seq_cst) == SlotState::kActive &&
      b.thread != nullptr) {  // null is this thread itself
    MaySafepoint();
    error = state_.jvmti->GetStackTrace(b.thread, 0, static_cast<jint>(state_.options.depth), b.gst, &b.gst_count);
    Assert(2, [&] { return HasThread(*slot); });
  }
  b.walking.store(false, std::memory_order_seq_cst);
  if (error == JVMTI_ERROR_THREAD_NOT_ALIVE) return GiveUp(slot, Reason::kThreadEnd);
  if (error != JVMTI_ERROR_NONE) return GiveUp(slot, Reason::kGstError);
  if (b.gst_count > 0 && b.gst_count < static_cast<jint>(state_.options.depth)) {
    slot->bottom = reinterpret_cast<uint64_t>(b.gst[b.gst_count - 1].method);
  }
  b.state.store(BracketState::kSecond, std::memory_order_release);
  switch (SendTicket(state_, slot, &b.second, SignalFor::kBracketSecond, b.next++)) {
    case Sent::kYes:
      state_.status->second.fetch_add(1, std::memory_order_relaxed);
      break;
    case Sent::kThreadEnded:
      GiveUp(slot, Reason::kThreadEnd);
      break;
    case Sent::kRefused:
      state_.status->second.fetch_add(1, std::memory_order_relaxed);
      GiveUp(slot, Reason::kSendFailed);
      break;
  }
}

// Passes on all three walks after the second ASGCT walk. The turn ends when its time is over or the thread does not
// run.
void Bracketer::HandOn(Slot* slot) {
  BracketSlot& b = slot->bracket;
  if (b.second.unjudged != Reason::kUnspecified) return GiveUp(slot, b.second.unjudged);
  auto o = std::make_unique<OwnedBracket>();
  o->before = TakeWalk(b.first);
  o->after = TakeWalk(b.second);
  o->gst = GstOf(b);
  o->thread = slot->name;
  o->tid = slot->tid;
  o->since_nanos = MonotonicNanos();
  // No thread spends more than half of its time in the handler.
  b.not_before_nanos = b.first.sent_nanos + std::min(2 * (b.first.took_nanos + b.second.took_nanos), kMostRestNanos);
  const bool turn_ends = o->since_nanos >= b.until_nanos.load(std::memory_order_relaxed) || StandsStill(b);
  {
    const WriteLock lock(queue_mutex_);
    queue_.push_back(std::move(o));
  }
  b.first.state.store(TicketState::kIdle, std::memory_order_release);
  b.second.state.store(TicketState::kIdle, std::memory_order_release);
  b.state.store(turn_ends ? BracketState::kIdle : BracketState::kTurn, std::memory_order_release);
}

// Takes the next step of a thread's bracket that is possible now. Returns false if there was none; soonest_nanos is
// lowered to the time at which there will be one.
bool Bracketer::Step(Slot* slot, uint64_t* soonest_nanos) {
  BracketSlot& b = slot->bracket;
  switch (b.state.load(std::memory_order_acquire)) {
    case BracketState::kTurn:
      if (b.not_before_nanos > MonotonicNanos()) {
        *soonest_nanos = std::min(*soonest_nanos, b.not_before_nanos);
        return false;
      }
      Begin(slot);
      return true;
    case BracketState::kFirst:
      if (b.first.state.load(std::memory_order_acquire) != TicketState::kReady) return false;
      WalkAtSafepoint(slot);
      return true;
    case BracketState::kSecond:
      if (b.second.state.load(std::memory_order_acquire) != TicketState::kReady) return false;
      HandOn(slot);
      return true;
    default:
      return false;
  }
}

// Gives up brackets whose signals were lost. The bracketer's alone, as it sends them.
void Bracketer::Sweep(uint64_t now_nanos) const {
  for (size_t i = 0; i < state_.threads.size(); i++) {
    Slot* slot = state_.threads.at(i);
    if (Ticket* t = AwaitedTicket(slot); t != nullptr && t->state.load() == TicketState::kPending) {
      if (t->sent_nanos + kLostNanos <= now_nanos) GiveUpPending(slot, t, Reason::kLost);
    }
  }
}

void Bracketer::Run() {
  prctl(PR_SET_NAME, "misstep-bracket");
  prctl(PR_SET_TIMERSLACK, kTimerSlackNanos);
  setpriority(PRIO_PROCESS, 0, kNice);  // of this thread, if that is allowed
  Threads::ExcludeThisThread();
  JNIEnv* env = nullptr;
  char name[] = "misstep-bracket";
  JavaVMAttachArgs arguments = {JNI_VERSION_1_6, name, nullptr};
  MaySafepoint();
  if (state_.vm->AttachCurrentThreadAsDaemon(reinterpret_cast<void**>(&env), &arguments) != JNI_OK) {
    Log("cannot attach the bracket thread: asgct-gst-bracket does nothing");
    stopped_.store(true);
    for (size_t i = 0; i < state_.threads.size(); i++) EndTurn(state_.threads.at(i));
    return;
  }
  while (!stop_.load(std::memory_order_acquire)) {
    const uint32_t seen = state_.bracketer_wake.Seen();
    bool any = false;
    const uint64_t now_nanos = MonotonicNanos();
    uint64_t soonest_nanos = now_nanos + kStopLookNanos;
    for (size_t i = 0; i < state_.threads.size() && !stop_.load(std::memory_order_acquire); i++) {
      Slot* slot = state_.threads.at(i);
      // Complete one bracket if the thread answers: the less it does between the walks, the more they prove.
      while (Step(slot, &soonest_nanos)) {
        any = true;
        if (AwaitedTicket(slot) == nullptr) break;
        AwaitAnswer(slot);
      }
    }
    Sweep(now_nanos);
    if (any) continue;
    state_.bracketer_wake.Wait(seen, soonest_nanos - std::min(soonest_nanos, MonotonicNanos()));
  }
  stopped_.store(true, std::memory_order_release);
  MaySafepoint();
  state_.vm->DetachCurrentThread();
}

bool Bracketer::Give(Slot* slot, uint32_t count, uint64_t until_nanos) {
  BracketSlot& b = slot->bracket;
  if (b.thread == nullptr) return false;
  if (given_.load(std::memory_order_relaxed) <= kMostSpare * count) given_.fetch_add(count, std::memory_order_relaxed);
  b.until_nanos.store(until_nanos, std::memory_order_relaxed);
  BracketState idle = BracketState::kIdle;
  if (b.state.compare_exchange_strong(idle, BracketState::kTurn)) state_.bracketer_wake.Wake();
  if (!stopped_.load()) return true;
  EndTurn(slot);
  return false;
}

void Bracketer::ThreadEnds(Slot* slot) {
  if (Ticket* t = AwaitedTicket(slot); t != nullptr) GiveUpPending(slot, t, Reason::kThreadEnd);
}

std::vector<std::unique_ptr<OwnedBracket>> Bracketer::TakeQueue() {
  std::vector<std::unique_ptr<OwnedBracket>> queued;
  const WriteLock lock(queue_mutex_);
  queued.swap(queue_);
  return queued;
}

bool Bracketer::Start() {
  stopped_.store(false);
  const auto run = [](void* self) -> void* {
    static_cast<Bracketer*>(self)->Run();
    return nullptr;
  };
  pthread_t thread;
  if (!StartThread(&thread, run, this)) {
    stopped_.store(true);
    return false;
  }
  pthread_detach(thread);
  return true;
}

void Bracketer::Stop() {
  const uint64_t limit_nanos = MonotonicNanos() + kStopNanos;
  stop_.store(true, std::memory_order_release);
  state_.bracketer_wake.Wake();
  while (!stopped_.load(std::memory_order_acquire) && MonotonicNanos() < limit_nanos)
    SleepUntil(MonotonicNanos() + kWaitLookNanos);
  for (size_t i = 0; i < state_.threads.size(); i++) {
    Slot* slot = state_.threads.at(i);
    BracketSlot& b = slot->bracket;
    while (Ticket* t = AwaitedTicket(slot)) {
      if (GiveUpPending(slot, t, Reason::kExit)) break;
      // Wait for a running handler, for a bounded time.
      if (t->state.load(std::memory_order_acquire) != TicketState::kFilling || MonotonicNanos() >= limit_nanos) break;
      SleepUntil(MonotonicNanos() + kWaitLookNanos);
    }
    const BracketState state = b.state.load(std::memory_order_acquire);
    if (!stopped_.load(std::memory_order_acquire))
      continue;  // its thread still uses them: no verdict is better than two
    if (state == BracketState::kSecond && b.second.state.load(std::memory_order_acquire) == TicketState::kReady) {
      HandOn(slot);
    } else if (state != BracketState::kIdle && state != BracketState::kTurn) {
      GiveUp(slot, Reason::kExit);
    }
  }
}

}  // namespace misstep
