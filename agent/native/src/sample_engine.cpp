#include "sample_engine.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bracket.h"
#include "clock.h"
#include "compare.h"
#include "edge_check.h"
#include "evidence.h"
#include "random.h"
#include "rules.h"
#include "shadow_view.h"
#include "signals.h"
#include "state.h"
#include "turns.h"
#include "verdict_count.h"

namespace misstep {

namespace {

constexpr uint64_t kMostBetweenNanos = 20'000'000;  // some time slices: a thread that does not run ends its burst
constexpr uint64_t kBetweenLookNanos = 5'000;       // between two looks for the answer to a signal of a burst
constexpr uint64_t kStopNanos = 2'000'000'000;      // how long the end waits for handlers at work
constexpr uint64_t kStopLookNanos = 1'000'000;

// Counts a sample of a thread on which a virtual thread is mounted.
void CountVirtual(StatusFile* status, Mounted mounted, const Verdict& verdict) {
  if (mounted == Mounted::kNone) return;
  status->virtual_samples.fetch_add(1, std::memory_order_relaxed);
  if (verdict.outcome != Outcome::kVoid) status->virtual_judged.fetch_add(1, std::memory_order_relaxed);
  if (verdict.kind == Kind::kTruncated) status->virtual_cut.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

// A sample that owns its data, while it waits to be judged again.
struct SampleEngine::Owned {
  std::vector<Frame> frames;
  std::vector<uint32_t> keys;
  std::vector<Frame> trace;  // bottom first
  std::vector<StackWord> words;
  NmethodRef deoptimised;  // the caller at which the walk was cut off
  bool fits = false;       // what is below the cut says that it is that one
  bool by_trace = false;   // the shadow agreed, and the trace was asked too
  Sample sample;
  Spot spot;
  uint64_t sequence = 0;
  std::string thread;
  int64_t tid = 0;
  uint64_t since_nanos = 0;
};

SampleEngine::SampleEngine(State& state, Events& events) : state_(state), events_(events), deferred_(events) {}

SampleEngine::~SampleEngine() = default;

void SampleEngine::Start() { random_ = state_.options.seed ^ 0x6564676573; }

void SampleEngine::Stop() {
  state_.turns_stopped.store(true, std::memory_order_seq_cst);
  // Pending signals are given up; a running handler is waited for, for a bounded time.
  const uint64_t limit_nanos = MonotonicNanos() + kStopNanos;
  for (size_t i = 0; i < state_.threads.size(); i++) {
    for (Ticket& t : state_.threads.at(i)->tickets) {
      TicketState pending = TicketState::kPending;
      if (t.state.compare_exchange_strong(pending, TicketState::kIdle)) {
        Count(state_.status, Check::kAsgctShadow, Verdict::Void(Reason::kExit));
      }
      while (t.state.load(std::memory_order_seq_cst) == TicketState::kFilling && MonotonicNanos() < limit_nanos) {
        SleepUntil(MonotonicNanos() + kStopLookNanos);
      }
    }
  }
}

void SampleEngine::GiveUp(Slot* slot) {
  for (Ticket& t : slot->tickets) {
    TicketState pending = TicketState::kPending;
    if (t.state.compare_exchange_strong(pending, TicketState::kIdle)) {
      Count(state_.status, Check::kAsgctShadow, Verdict::Void(Reason::kThreadEnd));
    }
  }
}

bool SampleEngine::InTurns() const { return UsesTurns(state_.options); }

// The handler draws the share of a turn's ticks.
bool SampleEngine::Draw(uint64_t* random) { return InTurns() || Uniform(random) < state_.options.asgct_shadow; }

// Not in a turn of brackets, and not in a check at a method entry, where the walker is busy and nothing of the
// program's is on top.
bool SampleEngine::MayTake(const Slot& slot) const {
  return slot.state.load(std::memory_order_acquire) == SlotState::kActive &&
         slot.bracket.state.load(std::memory_order_acquire) == BracketState::kIdle &&
         slot.status->phase.load(std::memory_order_acquire) == MISSTEP_PHASE_NONE;
}

bool SampleEngine::Give(Slot* slot, uint64_t now_nanos, bool) {
  if (!MayTake(*slot)) return false;
  if (InTurns() && slot->turn.has_timer) return GiveTurn(slot, now_nanos);
  return slot->turn.ticks.load(std::memory_order_acquire) == 0 && SendBurst(slot, now_nanos);
}

// Gives up what was sent too long ago, and finds an idle ticket. Only one signal may be under way to a thread: a
// pending one of the same number would swallow the next.
Ticket* SampleEngine::FreeTicket(Slot* slot, uint64_t now_nanos) const {
  for (Ticket& t : slot->tickets) {
    TicketState pending = TicketState::kPending;
    if (t.state.load(std::memory_order_acquire) != TicketState::kPending) continue;
    if (t.sent_nanos + kLostNanos > now_nanos) return nullptr;
    if (t.state.compare_exchange_strong(pending, TicketState::kIdle)) {
      Count(state_.status, Check::kAsgctShadow, Verdict::Void(Reason::kLost));
    }
  }
  Ticket* t = &slot->tickets[slot->next_ticket % kWarmTickets];
  return t->state.load(std::memory_order_acquire) == TicketState::kIdle ? t : nullptr;
}

// Signals for one sample of asgct-shadow. Returns false when the thread has ended or has no free ticket.
bool SampleEngine::Send(Slot* slot, uint64_t now_nanos) const {
  Ticket* t = FreeTicket(slot, now_nanos);
  if (t == nullptr) return false;
  switch (SendTicket(state_, slot, t, SignalFor::kSample, slot->next_ticket)) {
    case Sent::kThreadEnded:
      return false;
    case Sent::kRefused:
      Count(state_.status, Check::kAsgctShadow, Verdict::Void(Reason::kSendFailed));
      break;
    case Sent::kYes:
      break;
  }
  slot->next_ticket++;
  return true;
}

// Signals one thread as often as a burst asks for, each time as soon as the last signal was handled.
bool SampleEngine::SendBurst(Slot* slot, uint64_t now_nanos) const {
  if (!Send(slot, now_nanos)) return false;
  for (uint32_t i = 1; i < state_.options.burst; i++) {
    const uint64_t limit_nanos = MonotonicNanos() + kMostBetweenNanos;
    while (UnderWay(*slot)) {
      if (MonotonicNanos() > limit_nanos) return true;
      SleepUntil(MonotonicNanos() + kBetweenLookNanos);
    }
    if (!MayTake(*slot) || !Send(slot, MonotonicNanos())) return true;
  }
  return true;
}

// Gives the thread the ticks of the next milliseconds plus those that other turns have left over, or prolongs its turn
// if it still has ticks.
bool SampleEngine::GiveTurn(Slot* slot, uint64_t now_nanos) const {
  const auto own = TicksOfTurn(state_.options);
  Turn& turn = slot->turn;
  for (uint32_t left = turn.ticks.load(std::memory_order_acquire); left > 0;) {
    if (left > own || turn.ticks.compare_exchange_weak(left, left + own)) return true;
  }
  if (UnderWay(*slot)) return false;
  // As in SendTicket: the thread does not end, and with it the timer, before this is done.
  slot->sending.store(true, std::memory_order_seq_cst);
  const bool active = slot->state.load(std::memory_order_seq_cst) == SlotState::kActive;
  if (active) {
    const uint32_t ticks = own + std::min(state_.spare_ticks.exchange(0), kMostSpare * own);
    turn.ticks.store(ticks, std::memory_order_release);
    SetTimer(turn, now_nanos + 1);
    Assert(2, [&] { return HasThread(*slot); });
  }
  slot->sending.store(false, std::memory_order_seq_cst);
  return active;
}

void SampleEngine::Judge(uint64_t now_nanos, bool end) {
  for (size_t i = 0; i < state_.threads.size(); i++) {
    Slot* slot = state_.threads.at(i);
    if (slot->ready.load(std::memory_order_acquire) == 0 && !end) continue;
    for (Ticket& t : slot->tickets) {
      if (t.state.load(std::memory_order_acquire) == TicketState::kReady) Take(slot, &t, now_nanos);
    }
  }
  deferred_.Take(now_nanos, end, [&](Owned* o) { Finish(*o, CompareAgain(o)); });
}

void SampleEngine::Take(Slot* slot, Ticket* t, uint64_t now_nanos) {
  slot->ready.fetch_sub(1, std::memory_order_relaxed);
  if (t->unjudged != Reason::kUnspecified) {
    const Verdict verdict = Verdict::Void(t->unjudged);
    CountVirtual(state_.status, t->mounted, verdict);
    const uint64_t sample = t->sample;
    const uint64_t pc = t->spot.pc;
    t->state.store(TicketState::kIdle, std::memory_order_release);
    CountWalk(state_, Check::kAsgctShadow, verdict, sample, pc);
    return;
  }
  auto o = std::make_unique<Owned>();
  const auto* raw = t->frames;
  for (int32_t i = 0; i < t->num_frames; i++) {
    o->frames.push_back({reinterpret_cast<uint64_t>(raw[i].method), raw[i].bci, nullptr});
  }
  for (uint32_t i = 0; i < t->shadow_size; i++) o->keys.push_back(static_cast<uint32_t>(t->shadow[i]));
  state_.methods.KeysOf(o->keys);
  for (uint32_t i = 0; i < t->trace_size; i++) {
    o->trace.push_back({reinterpret_cast<uint64_t>(t->trace[i].method), t->trace[i].bci, nullptr});
  }
  o->sample.code = t->num_frames;
  o->sample.limit = state_.options.depth;
  o->sample.deoptimises = t->deoptimises;
  o->sample.deeper = t->shadow_overflow;
  o->sample.root = slot->root;
  o->sample.mounted = t->mounted;
  o->sample.mount_at = t->mount_at;
  if (t->mounted != Mounted::kNone) slot->mounts = true;
  o->sample.carrier = MayCarry(*slot, t->mounted);
  o->words.assign(t->words, t->words + t->words_size);
  o->spot = t->spot;
  o->sequence = t->sample;
  o->thread = slot->name;
  o->tid = slot->tid;
  o->since_nanos = now_nanos;
  Verdict verdict = Compare(o.get());
  LearnBottom(slot, *o, verdict);
  // Last: without a ticket under way the slot may become another thread's, whose root is another.
  t->state.store(TicketState::kIdle, std::memory_order_release);
  if (MayBeEarly(o->sample, verdict) || events_.MayDescribe(o->frames)) {
    if (deferred_.Add(&o, state_.most_deferred)) return;
    verdict = Verdict::Void(Reason::kOverrun);
  }
  Finish(*o, verdict);
}

// Learns with which methods threads begin.
//
// A walk that was cut off below everything on the shadow stack matches. But no thread begins with an upcall of the VM
// on behalf of Java code (JDK-8303444); whether another method is a bottom is known from GetStackTrace or from its
// name. A carrier's walk that shows no virtual thread may be incomplete, unless it is known that none is mounted.
void SampleEngine::LearnBottom(Slot* slot, const Owned& o, const Verdict& verdict) {
  const bool mounted = SeamOf(o.frames).has_value();
  if (mounted) slot->carrier.store(true, std::memory_order_relaxed);
  const bool known = mounted == (o.sample.mounted == Mounted::kKnown) && !o.sample.carrier;
  const bool whole = verdict.rule == Rule::kVirtualThread || (verdict.outcome == Outcome::kMatch && known);
  const bool entries = mounted && known ? o.sample.mount_at > 0 : !o.keys.empty();
  const Frame* bottom = whole && entries ? &o.frames.back() : nullptr;
  if (bottom != nullptr && bottom->info != nullptr && bottom->info->upcall == Upcall::kNone) {
    const uint64_t gst = slot->bottom.load(std::memory_order_relaxed);
    if (gst == 0 || gst == bottom->method || MayBeBottom(*bottom->info)) {
      slot->root = bottom->method;
      bottoms_.insert(slot->root);
    }
  }
}

// The final verdict of a sample that has waited.
Verdict SampleEngine::CompareAgain(Owned* o) const {
  o->sample.all_described = events_.AllDescribed(o->frames, o->since_nanos);
  const Verdict verdict = events_.Proven(Compare(o), o->frames);
  return events_.After(Settled(verdict, o->sample.code, o->sample.region, state_.Ended()), o->since_nanos);
}

Verdict SampleEngine::Compare(Owned* o) const {
  state_.methods.Resolve(o->frames);
  o->sample.known_bottom = o->frames.empty() || bottoms_.empty() || bottoms_.contains(o->frames.back().method);
  o->sample.asgct = o->frames;
  o->sample.shadow = o->keys;
  std::vector<NmethodRef> at_pc;
  const Region region = state_.code.Find(o->spot.pc, &at_pc);
  o->sample.region = region;
  // What was there at the first look counts too: code may have been unloaded since.
  for (NmethodRef& n : at_pc) {
    bool there = false;
    for (const NmethodRef& known : o->sample.at_pc) there = there || known == n;
    if (!there) o->sample.at_pc.push_back(std::move(n));
  }
  if (!o->sample.at_pc.empty()) o->sample.region = Region::kCompiled;
  const Verdict verdict = CompareAsgctShadow(o->sample, state_.code);
  FindDeoptimised(o, verdict);
  o->by_trace = !o->trace.empty() && (verdict.outcome == Outcome::kMatch || verdict.outcome == Outcome::kTolerated);
  if (!o->by_trace) return verdict;
  state_.methods.Resolve(o->trace);
  const Verdict traced = CompareTrace(o->trace, o->sample, state_.code);
  if (o->deoptimised == nullptr) {
    const std::vector<Frame> top_first(o->trace.rbegin(), o->trace.rend());
    o->deoptimised = DeoptimisedCaller(state_, top_first, traced, o->words);
  }
  return traced.outcome == Outcome::kMatch ? verdict : traced;
}

// Looks for the caller at which the walk was cut off, if it was deoptimised. Code without entries on the shadow stack
// is accepted if it is the first deoptimised code and no other fits, which events may still describe: words above may
// belong to calls that have returned.
void SampleEngine::FindDeoptimised(Owned* o, const Verdict& verdict) const {
  if (verdict.kind != Kind::kTruncated || o->fits) return;
  const auto lost = std::span(o->keys).first(std::min<size_t>(verdict.divergence, o->keys.size()));
  const auto find = [&](bool first) {
    return state_.code.Deoptimised(o->words, state_.deopt_stubs,
                                   [&](const Nmethod& n) { return n.Ends(lost, std::exchange(first, false)); });
  };
  const NmethodRef fitting = find(false);
  o->fits = fitting != nullptr;
  if (o->fits) o->deoptimised = fitting;
  if (o->deoptimised == nullptr) o->deoptimised = find(true);
}

void SampleEngine::Finish(const Owned& o, const Verdict& verdict) {
  const Origin origin = {.source = "asgct",
                         .num_frames = o.sample.code,
                         .walk = o.sequence,
                         .place = {.thread = o.thread,
                                   .tid = o.tid,
                                   .sequence = o.sequence,
                                   .spot = o.spot,
                                   .top_state = kRegionNames[static_cast<int>(o.sample.region)]}};
  CheckEdgesOf(state_, o.frames, origin, &random_);
  if (verdict.outcome == Outcome::kMismatch) {
    Mismatch m;
    m.check = Check::kAsgctShadow;
    m.verdict = verdict;
    m.reference = NamedShadow(state_.methods, o.keys);
    if (o.by_trace) {
      const std::vector<Frame> top_first(o.trace.rbegin(), o.trace.rend());
      m.reference = Named("gst", top_first, static_cast<int32_t>(top_first.size()));
    }
    m.suspect = Named("asgct", o.frames, o.sample.code);
    m.place = origin.place;
    if (verdict.kind == Kind::kTruncated) m.deoptimised_caller = NamedRoot(state_.methods, o.deoptimised);
    AddStack(state_, &m, o.frames, o.words);
    Report(state_, m);
  }
  if (o.by_trace) state_.status->traced.fetch_add(1, std::memory_order_relaxed);
  state_.status->answered.fetch_add(1, std::memory_order_relaxed);
  CountVirtual(state_.status, o.sample.mounted, verdict);
  CountWalk(state_, Check::kAsgctShadow, verdict, o.sequence, o.spot.pc);
}

}  // namespace misstep
