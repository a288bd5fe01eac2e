#include "bracketer.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <deque>
#include <iterator>
#include <memory>

#include "agent.h"
#include "bracket.h"
#include "sampler.h"

namespace misstep {
namespace {

constexpr size_t kMostDeferred = 1024;
constexpr size_t kMostQueued = 128;  // brackets that the judge has not come to
constexpr uint64_t kMostRestNanos = 20'000'000;
constexpr uint64_t kSpinNanos = 20'000;  // longer than a thread that runs takes to answer
constexpr int kNice = -19;               // it mostly waits, and each bracket waits for it

// What enters the kernel.
#if defined(__x86_64__)
constexpr uint8_t kSystemCall[] = {0x0f, 0x05};  // syscall
#elif defined(__aarch64__)
constexpr uint8_t kSystemCall[] = {0x01, 0x00, 0x00, 0xd4};  // svc #0
#endif

// A bracket that owns its data.
struct OwnedBracket {
  struct Walk {
    std::vector<Frame> frames;
    int32_t code = 0;
    Spot spot;
    uint64_t sequence = 0;
    std::vector<StackWord> words;
    std::vector<NmethodRef> at_pc;  // what was there at any look: code may have been unloaded since
    Region region = Region::kUnknown;
    bool deoptimises = false;
  };
  bool told = false;  // the JVM has told of every method there is
  Walk before;
  std::vector<Frame> gst;
  Walk after;
  NmethodRef deoptimised;  // the caller at which a walk was cut off
  std::string thread;
  int64_t tid = 0;
  uint64_t since = 0;
};

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

std::atomic<uint32_t> wake = 0;
std::atomic<bool> stop = false;
std::atomic<bool> stopped = true;  // no walk of the bracketer is under way, and none will be
std::atomic<uint32_t> given = 0;   // brackets that turns were given and have not taken yet

Mutex queue_mutex;
std::vector<std::unique_ptr<OwnedBracket>> queue GUARDED_BY(queue_mutex);  // to the judge

bool QueueFull() {
  const ReadLock lock(queue_mutex);
  return queue.size() >= kMostQueued;
}

std::vector<Frame> GstOf(const BracketSlot& b) {
  std::vector<Frame> gst;
  gst.reserve(static_cast<size_t>(b.gst_count));
  for (jint f = 0; f < b.gst_count; f++) {
    gst.push_back({reinterpret_cast<uint64_t>(b.gst[f].method), static_cast<int32_t>(b.gst[f].location), nullptr});
  }
  return gst;
}

// Of the ids that GetStackTrace gave the JVM has told, though the bracket came to nothing.
void TakeIds(const BracketSlot& b) {
  std::vector<Frame> gst = GstOf(b);
  agent->methods.Resolve(gst);
  agent->methods.Given(gst);
}

// Ends a bracket that comes to nothing, and with it the turn.
void GiveUp(Slot* slot, Reason reason) {
  BracketSlot& b = slot->bracket;
  if (b.state.load(std::memory_order_acquire) == BracketState::kSecond) TakeIds(b);
  b.first.state.store(TicketState::kIdle, std::memory_order_release);
  b.second.state.store(TicketState::kIdle, std::memory_order_release);
  // At the JVM's end two may find that nobody waits for it.
  if (b.state.exchange(BracketState::kIdle, std::memory_order_acq_rel) == BracketState::kIdle) return;
  Count(agent->status, Check::kAsgctGstBracket, Verdict::Void(reason));
}

// Ends a bracket whose signal has not been handled. Returns false when a handler has it.
bool GiveUpPending(Slot* slot, Ticket* t, Reason reason) {
  TicketState pending = TicketState::kPending;
  if (!t->state.compare_exchange_strong(pending, TicketState::kIdle)) return false;
  GiveUp(slot, reason);
  return true;
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

// Ends a turn that nobody is there to take.
void GiveBack(Slot* slot) {
  BracketState turn = BracketState::kTurn;
  slot->bracket.state.compare_exchange_strong(turn, BracketState::kIdle);
}

// Begins the next bracket of a turn, or ends it.
void Begin(Slot* slot) {
  BracketSlot& b = slot->bracket;
  if (given.load(std::memory_order_relaxed) == 0 || b.thread == nullptr || QueueFull()) {
    b.state.store(BracketState::kIdle, std::memory_order_release);
    return;
  }
  given.fetch_sub(1, std::memory_order_relaxed);
  b.state.store(BracketState::kFirst, std::memory_order_release);
  switch (SendTicket(slot, &b.first, SignalFor::kBracketFirst, b.next++)) {
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

// The first walk is there: takes the stack at the next safepoint, then signals again.
void Walk(Slot* slot) {
  BracketSlot& b = slot->bracket;
  b.state.store(BracketState::kWalking, std::memory_order_release);
  if (b.first.busy) return GiveUp(slot, Reason::kWalkerBusy);
  // Rule 2, as in Threads::End: the thread does not end while it is walked.
  b.walking.store(true, std::memory_order_seq_cst);
  jvmtiError error = JVMTI_ERROR_THREAD_NOT_ALIVE;
  if (slot->state.load(std::memory_order_seq_cst) == SlotState::kActive &&
      b.thread != nullptr) {  // null is this thread itself
    MaySafepoint();
    error = agent->jvmti->GetStackTrace(b.thread, 0, static_cast<jint>(agent->options.depth), b.gst, &b.gst_count);
    Assert(2, [&] { return HasThread(*slot); });
  }
  b.walking.store(false, std::memory_order_seq_cst);
  if (error == JVMTI_ERROR_THREAD_NOT_ALIVE) return GiveUp(slot, Reason::kThreadEnd);
  if (error != JVMTI_ERROR_NONE) return GiveUp(slot, Reason::kGstError);
  if (b.gst_count > 0 && b.gst_count < static_cast<jint>(agent->options.depth)) {
    slot->bottom = reinterpret_cast<uint64_t>(b.gst[b.gst_count - 1].method);
  }
  b.state.store(BracketState::kSecond, std::memory_order_release);
  switch (SendTicket(slot, &b.second, SignalFor::kBracketSecond, b.next++)) {
    case Sent::kYes:
      agent->status->second.fetch_add(1, std::memory_order_relaxed);
      break;
    case Sent::kThreadEnded:
      GiveUp(slot, Reason::kThreadEnd);
      break;
    case Sent::kRefused:
      agent->status->second.fetch_add(1, std::memory_order_relaxed);
      GiveUp(slot, Reason::kSendFailed);
      break;
  }
}

// Whether both walks met the thread at one system call, before which the kernel puts it to have it made again: it waits
// there, and its stack stays what it is.
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

// The second walk is there: hands all three on. The turn ends when its time is up or the thread does not run.
void HandOn(Slot* slot) {
  BracketSlot& b = slot->bracket;
  if (b.second.busy) return GiveUp(slot, Reason::kWalkerBusy);
  auto o = std::make_unique<OwnedBracket>();
  o->before = TakeWalk(b.first);
  o->after = TakeWalk(b.second);
  o->gst = GstOf(b);
  o->thread = slot->name;
  o->tid = slot->tid;
  o->since = MonotonicNanos();
  // No thread spends more than half of its time in the handler.
  b.not_before = b.first.sent_nanos + std::min(2 * (b.first.took + b.second.took), kMostRestNanos);
  const bool over = o->since >= b.until.load(std::memory_order_relaxed) || StandsStill(b);
  {
    const WriteLock lock(queue_mutex);
    queue.push_back(std::move(o));
  }
  b.first.state.store(TicketState::kIdle, std::memory_order_release);
  b.second.state.store(TicketState::kIdle, std::memory_order_release);
  b.state.store(over ? BracketState::kIdle : BracketState::kTurn, std::memory_order_release);
}

// Takes what a thread's bracket can take now. Returns false when it was nothing; soonest is brought forward to when
// there will be something.
bool Step(Slot* slot, uint64_t* soonest) {
  BracketSlot& b = slot->bracket;
  switch (b.state.load(std::memory_order_acquire)) {
    case BracketState::kTurn:
      if (b.not_before > MonotonicNanos()) {
        *soonest = std::min(*soonest, b.not_before);
        return false;
      }
      Begin(slot);
      return true;
    case BracketState::kFirst:
      if (b.first.state.load(std::memory_order_acquire) != TicketState::kReady) return false;
      Walk(slot);
      return true;
    case BracketState::kSecond:
      if (b.second.state.load(std::memory_order_acquire) != TicketState::kReady) return false;
      HandOn(slot);
      return true;
    default:
      return false;
  }
}

// Waits a little for the thread's answer: falling asleep and waking up takes longer, and the more time a thread has
// between the walks, the less they prove.
void AwaitAnswer(Slot* slot) {
  const Ticket* t = AwaitedTicket(slot);
  if (t == nullptr) return;
  const uint64_t limit = MonotonicNanos() + kSpinNanos;
  while (t->state.load(std::memory_order_acquire) != TicketState::kReady && MonotonicNanos() < limit) {
  }
}

// Gives up brackets whose signals were lost. The bracketer's alone, as it sends them.
void SweepBrackets(uint64_t now) {
  for (size_t i = 0; i < agent->threads.size(); i++) {
    Slot* slot = agent->threads.at(i);
    if (Ticket* t = AwaitedTicket(slot); t != nullptr && t->state.load() == TicketState::kPending) {
      if (t->sent_nanos + kLostNanos <= now) GiveUpPending(slot, t, Reason::kLost);
    }
  }
}

void* Run(void*) {
  prctl(PR_SET_NAME, "misstep-bracket");
  prctl(PR_SET_TIMERSLACK, 1000UL);
  setpriority(PRIO_PROCESS, 0, kNice);  // of this thread, if that is allowed
  Threads::ExcludeThisThread();
  JNIEnv* env = nullptr;
  char name[] = "misstep-bracket";
  JavaVMAttachArgs arguments = {JNI_VERSION_1_6, name, nullptr};
  MaySafepoint();
  if (agent->vm->AttachCurrentThreadAsDaemon(reinterpret_cast<void**>(&env), &arguments) != JNI_OK) {
    Log("cannot attach the bracket thread: asgct-gst-bracket does nothing");
    stopped.store(true);
    for (size_t i = 0; i < agent->threads.size(); i++) GiveBack(agent->threads.at(i));
    return nullptr;
  }
  while (!stop.load(std::memory_order_acquire)) {
    const uint32_t seen = wake.load(std::memory_order_acquire);
    bool any = false;
    const uint64_t now = MonotonicNanos();
    uint64_t soonest = now + 50'000'000;  // so that a stop is seen soon
    for (size_t i = 0; i < agent->threads.size() && !stop.load(std::memory_order_acquire); i++) {
      Slot* slot = agent->threads.at(i);
      // One bracket to its end, if the thread answers: what it does between the walks is not to be proven.
      while (Step(slot, &soonest)) {
        any = true;
        if (AwaitedTicket(slot) == nullptr) break;
        AwaitAnswer(slot);
      }
    }
    SweepBrackets(now);
    if (any) continue;
    const timespec most = {0, static_cast<long>(soonest - std::min(soonest, MonotonicNanos()))};
    syscall(SYS_futex, reinterpret_cast<uint32_t*>(&wake), FUTEX_WAIT_PRIVATE, seen, &most, nullptr, 0);
  }
  stopped.store(true, std::memory_order_release);
  MaySafepoint();
  agent->vm->DetachCurrentThread();
  return nullptr;
}

BracketWalk Look(OwnedBracket::Walk* w) {
  agent->methods.Resolve(w->frames);
  std::vector<NmethodRef> now;
  w->region = agent->code.Find(w->spot.pc, &now);
  for (NmethodRef& n : now) {
    if (std::find(w->at_pc.begin(), w->at_pc.end(), n) == w->at_pc.end()) w->at_pc.push_back(std::move(n));
  }
  if (!w->at_pc.empty()) w->region = Region::kCompiled;
  return {.frames = w->frames, .code = w->code, .region = w->region, .at_pc = w->at_pc, .deoptimises = w->deoptimises};
}

// Whether a walk ends where GetStackTrace has nothing at all.
bool Elsewhere(const Verdict& v) { return v.kind == Kind::kForeign && v.divergence == 0; }

BracketVerdict Compare(OwnedBracket* o) {
  agent->methods.Resolve(o->gst);
  agent->methods.Given(o->gst);
  const BracketVerdict v = CompareBracket({.before = Look(&o->before),
                                           .gst = o->gst,
                                           .after = Look(&o->after),
                                           .limit = agent->options.depth,
                                           .told = o->told},
                                          agent->code);
  const OwnedBracket::Walk& walk = v.after ? o->after : o->before;
  if (o->deoptimised == nullptr && !walk.frames.empty() &&
      (v.verdict.kind == Kind::kTruncated || Elsewhere(v.verdict))) {
    const std::span<const Frame> gst = o->gst;
    const MethodInfo* last = walk.frames.back().info;
    o->deoptimised = agent->code.Deoptimised(walk.words, agent->deopt_stubs, [&](const Nmethod& n) {
      // GetStackTrace met the thread after both had returned: the call is in the code.
      if (Elsewhere(v.verdict) && last != nullptr && n.Calls(*last)) return true;
      for (size_t i = 0; i < gst.size(); i++) {  // a recursion has the walk's last method more than once
        if (gst[i].method == walk.frames.back().method && n.Begins(gst.subspan(i + 1))) return true;
        // GetStackTrace met the thread after the call that the walk shows had returned to that code.
        if (Elsewhere(v.verdict) && gst[i].method == n.method) return true;
      }
      return false;
    });
  }
  return v;
}

// Whether the frames without info have ids of no method, in the walks that have such frames.
bool AllTold(const OwnedBracket& o) {
  const auto told = [&](const std::vector<Frame>& frames) { return !Unknown(frames) || Told(frames, o.since); };
  return told(o.before.frames) && told(o.after.frames);
}

uint64_t edges_random = 0;

void Finish(const OwnedBracket& o, const BracketVerdict& v) {
  const auto origin = [&](const OwnedBracket::Walk& w) {
    return Origin{.source = "asgct",
                  .num_frames = w.code,
                  .walk = w.sequence,
                  .place = {.thread = o.thread,
                            .tid = o.tid,
                            .sequence = w.sequence,
                            .spot = w.spot,
                            .top_state = kRegionNames[static_cast<int>(w.region)]}};
  };
  const auto gst_frames = static_cast<int32_t>(o.gst.size());
  CheckEdgesOf(o.before.frames, origin(o.before), &edges_random);
  CheckEdgesOf(o.gst, {.source = "gst", .num_frames = gst_frames, .place = {.thread = o.thread, .tid = o.tid}},
               &edges_random);
  CheckEdgesOf(o.after.frames, origin(o.after), &edges_random);
  if (v.verdict.outcome == Outcome::kMismatch) {
    const OwnedBracket::Walk& suspect = v.after ? o.after : o.before;
    misstep::Mismatch m;
    m.check = Check::kAsgctGstBracket;
    m.verdict = v.verdict;
    m.reference = Named("gst", o.gst, gst_frames);
    m.suspect = Named("asgct", suspect.frames, suspect.code);
    m.place = origin(suspect).place;
    m.deoptimised_caller =
        NamedRoot(v.verdict.kind == Kind::kTruncated || Elsewhere(v.verdict) ? o.deoptimised : nullptr);
    AddStack(&m, suspect.frames, suspect.words);
    Report(m);
  }
  agent->status->answered.fetch_add(2, std::memory_order_relaxed);
  Count(agent->status, Check::kAsgctGstBracket, v.verdict);
  // A mismatch, or a code, is of one walk; of the other nothing is said.
  const bool both = v.verdict.outcome != Outcome::kMismatch && v.verdict.outcome != Outcome::kUnwalkable;
  if (both || !v.after) SayVerdict(Check::kAsgctGstBracket, v.verdict, o.before.sequence, o.before.spot.pc);
  if (both || v.after) SayVerdict(Check::kAsgctGstBracket, v.verdict, o.after.sequence, o.after.spot.pc);
}

BracketVerdict CompareAgain(OwnedBracket* o) {
  o->told = AllTold(*o);
  BracketVerdict v = Compare(o);
  const OwnedBracket::Walk& walk = v.after ? o->after : o->before;
  v.verdict = Settled(v.verdict, walk.code, walk.region, agent->stage.load() == Stage::kEnded);
  return v;
}

std::deque<std::unique_ptr<OwnedBracket>> deferred;  // the judge's: may rest on events still to come

}  // namespace

void WakeBracketer() {
  wake.fetch_add(1, std::memory_order_release);
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&wake), FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

bool BracketerRuns() { return !stopped.load(std::memory_order_acquire); }

bool GiveBrackets(Slot* slot, uint32_t count, uint64_t until) {
  BracketSlot& b = slot->bracket;
  if (b.thread == nullptr) return false;
  if (given.load(std::memory_order_relaxed) <= kMostSpare * count) given.fetch_add(count, std::memory_order_relaxed);
  b.until.store(until, std::memory_order_relaxed);
  BracketState idle = BracketState::kIdle;
  if (b.state.compare_exchange_strong(idle, BracketState::kTurn)) WakeBracketer();
  if (!stopped.load()) return true;
  GiveBack(slot);
  return false;
}

void EndBracket(Slot* slot) {
  if (Ticket* t = AwaitedTicket(slot); t != nullptr) GiveUpPending(slot, t, Reason::kThreadEnd);
}

void JudgeBrackets(bool end) {
  std::vector<std::unique_ptr<OwnedBracket>> queued;
  {
    const WriteLock lock(queue_mutex);
    queued.swap(queue);
  }
  for (std::unique_ptr<OwnedBracket>& o : queued) {
    const BracketVerdict v = Compare(o.get());
    const int32_t code = v.after ? o->after.code : o->before.code;
    const bool unknown = Unknown(o->before.frames) || Unknown(o->gst) || Unknown(o->after.frames);
    const bool early = v.verdict.outcome == Outcome::kMismatch ? code >= -10  // as MayBeEarly
                                                               : v.verdict.outcome != Outcome::kMatch && unknown;
    if (!early && !MayTell(o->before.frames) && !MayTell(o->after.frames)) {
      Finish(*o, v);
    } else if (deferred.size() < kMostDeferred) {
      deferred.push_back(std::move(o));
    } else {
      Finish(*o, {Verdict::Void(Reason::kOverrun)});
    }
  }
  if (BracketsWait()) LookForEvents(MonotonicNanos());
  while (!deferred.empty() && (end || WaitedLong(deferred.front()->since))) {
    const std::unique_ptr<OwnedBracket> o = std::move(deferred.front());
    deferred.pop_front();
    BracketVerdict v = CompareAgain(o.get());
    v.verdict = AfterEvents(v.verdict, o->since);
    Finish(*o, v);
  }
}

bool BracketsWait() { return !deferred.empty(); }

bool StartBracketer() {
  edges_random = agent->options.seed ^ 0x627261636b6574;
  stopped.store(false);
  pthread_t thread;
  if (!StartThread(&thread, Run)) {
    stopped.store(true);
    return false;
  }
  pthread_detach(thread);
  return true;
}

void StopBracketer() {
  const uint64_t limit = MonotonicNanos() + 2'000'000'000;
  stop.store(true, std::memory_order_release);
  WakeBracketer();
  while (!stopped.load(std::memory_order_acquire) && MonotonicNanos() < limit) SleepUntil(MonotonicNanos() + 100'000);
  for (size_t i = 0; i < agent->threads.size(); i++) {
    Slot* slot = agent->threads.at(i);
    BracketSlot& b = slot->bracket;
    while (Ticket* t = AwaitedTicket(slot)) {
      if (GiveUpPending(slot, t, Reason::kExit)) break;
      // A handler at work is waited for, within reason.
      if (t->state.load(std::memory_order_acquire) != TicketState::kFilling || MonotonicNanos() >= limit) break;
      SleepUntil(MonotonicNanos() + 100'000);
    }
    const BracketState state = b.state.load(std::memory_order_acquire);
    if (!stopped.load(std::memory_order_acquire)) continue;  // it still has them: no verdict is better than two
    if (state == BracketState::kSecond && b.second.state.load(std::memory_order_acquire) == TicketState::kReady) {
      HandOn(slot);
    } else if (state != BracketState::kIdle && state != BracketState::kTurn) {
      GiveUp(slot, Reason::kExit);
    }
  }
}

}  // namespace misstep
