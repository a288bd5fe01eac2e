#include "bracket_engine.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "clock.h"
#include "edge_check.h"
#include "evidence.h"
#include "log.h"
#include "random.h"
#include "signals.h"
#include "state.h"
#include "turns.h"
#include "verdict_count.h"

namespace misstep {

namespace {

constexpr size_t kMostDeferred = 1024;
constexpr size_t kMostThreads = 4;  // the most threads that share the brackets of a turn's time

// Whether a walk ends with a method that GetStackTrace does not have at all.
bool Elsewhere(const Verdict& v) { return v.kind == Kind::kForeign && v.divergence == 0; }

}  // namespace

BracketEngine::BracketEngine(State& state, Events& events)
    : state_(state), events_(events), bracketer_(state), deferred_(events) {}

void BracketEngine::Start() {
  if (state_.options.bracket <= 0) return;
  random_ = state_.options.seed ^ 0x627261636b6574;
  if (!bracketer_.Start()) Log("cannot start the bracket thread: asgct-gst-bracket does nothing");
}

void BracketEngine::Stop() {
  if (state_.options.bracket > 0) bracketer_.Stop();
}

bool BracketEngine::InTurns() const { return UsesBracketTurns(state_.options); }

bool BracketEngine::Draw(uint64_t* random) { return bracketer_.Runs() && Uniform(random) < state_.options.bracket; }

// In turns, several threads share the brackets of the time, as they mostly wait. If samples have turns, too, it is one
// thread: samples are more frequent, and cannot be of the same threads.
size_t BracketEngine::ThreadsOfTick() const { return InTurns() && !UsesTurns(state_.options) ? kMostThreads : 1; }

// Not during a turn of brackets, unless that is to be prolonged, and not during a check at a method entry, where the
// walker is busy and the program's own code is not on top.
bool BracketEngine::MayTake(const Slot& slot) const {
  if (slot.state.load(std::memory_order_acquire) != SlotState::kActive) return false;
  if (slot.bracket.state.load(std::memory_order_acquire) != BracketState::kIdle) return InTurns();
  return slot.status->phase.load(std::memory_order_acquire) == MISSTEP_PHASE_NONE;
}

// The first thread of a turn adds the brackets of its time, which all threads of the turn share.
bool BracketEngine::Give(Slot* slot, uint64_t now_nanos, bool first) {
  if (!MayTake(*slot) || slot->turn.ticks.load(std::memory_order_acquire) > 0 || UnderWay(*slot)) return false;
  if (!InTurns()) return bracketer_.Give(slot, 1, 0);
  return bracketer_.Give(slot, first ? TicksOfTurn(state_.options) : 0, now_nanos + kTurnNanos);
}

void BracketEngine::Judge(uint64_t, bool end) {
  for (std::unique_ptr<OwnedBracket>& o : bracketer_.TakeQueue()) {
    const BracketVerdict v = Compare(o.get());
    if (!MayBeEarly(*o, v)) {
      Finish(*o, v);
    } else if (!deferred_.Add(&o, kMostDeferred)) {
      Finish(*o, {Verdict::Void(Reason::kOverrun)});
    }
  }
  deferred_.Take(MonotonicNanos(), end, [&](OwnedBracket* o) { Finish(*o, CompareAgain(o)); });
}

// As misstep::MayBeEarly of a sample.
bool BracketEngine::MayBeEarly(const OwnedBracket& o, const BracketVerdict& v) const {
  if (events_.MayDescribe(o.before.frames) || events_.MayDescribe(o.after.frames)) return true;
  if (v.verdict.outcome == Outcome::kMismatch) return (v.after ? o.after.code : o.before.code) >= -10;
  return v.verdict.outcome != Outcome::kMatch &&
         (Unknown(o.before.frames) || Unknown(o.gst) || Unknown(o.after.frames));
}

BracketWalk BracketEngine::Look(OwnedBracket::Walk* w) const {
  state_.methods.Resolve(w->frames);
  std::vector<NmethodRef> now;
  w->region = state_.code.Find(w->spot.pc, &now);
  for (NmethodRef& n : now) {
    if (std::find(w->at_pc.begin(), w->at_pc.end(), n) == w->at_pc.end()) w->at_pc.push_back(std::move(n));
  }
  if (!w->at_pc.empty()) w->region = Region::kCompiled;
  return {.frames = w->frames, .code = w->code, .region = w->region, .at_pc = w->at_pc, .deoptimises = w->deoptimises};
}

BracketVerdict BracketEngine::Compare(OwnedBracket* o) const {
  state_.methods.Resolve(o->gst);
  state_.methods.NoteGiven(o->gst);
  const BracketVerdict v = CompareBracket({.before = Look(&o->before),
                                           .gst = o->gst,
                                           .after = Look(&o->after),
                                           .limit = state_.options.depth,
                                           .all_described = o->all_described},
                                          state_.code);
  const OwnedBracket::Walk& walk = v.after ? o->after : o->before;
  if (o->deoptimised == nullptr && !walk.frames.empty() &&
      (v.verdict.kind == Kind::kTruncated || Elsewhere(v.verdict))) {
    const std::span<const Frame> gst = o->gst;
    const MethodInfo* last = walk.frames.back().info;
    o->deoptimised = state_.code.Deoptimised(walk.words, state_.deopt_stubs, [&](const Nmethod& n) {
      // GetStackTrace walked the thread after both had returned: the call is in the code.
      if (Elsewhere(v.verdict) && last != nullptr && n.Calls(*last)) return true;
      for (size_t i = 0; i < gst.size(); i++) {  // a recursion has the walk's last method more than once
        if (gst[i].method == walk.frames.back().method && n.Begins(gst.subspan(i + 1))) return true;
        // GetStackTrace walked the thread after the call that the walk shows had returned to that code.
        if (Elsewhere(v.verdict) && gst[i].method == n.method) return true;
      }
      return false;
    });
  }
  return v;
}

// The final verdict of a bracket that has waited.
BracketVerdict BracketEngine::CompareAgain(OwnedBracket* o) const {
  // Whether frames without info, in walks that have any, have ids of no method.
  const auto all_described = [&](const std::vector<Frame>& frames) {
    return !Unknown(frames) || events_.AllDescribed(frames, o->since_nanos);
  };
  o->all_described = all_described(o->before.frames) && all_described(o->after.frames);
  BracketVerdict v = Compare(o);
  v.verdict = events_.Proven(events_.Proven(v.verdict, o->before.frames), o->after.frames);
  const OwnedBracket::Walk& walk = v.after ? o->after : o->before;
  v.verdict = events_.After(Settled(v.verdict, walk.code, walk.region, state_.Ended()), o->since_nanos);
  return v;
}

void BracketEngine::Finish(const OwnedBracket& o, const BracketVerdict& v) {
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
  CheckEdgesOf(state_, o.before.frames, origin(o.before), &random_);
  CheckEdgesOf(state_, o.gst, {.source = "gst", .num_frames = gst_frames, .place = {.thread = o.thread, .tid = o.tid}},
               &random_);
  CheckEdgesOf(state_, o.after.frames, origin(o.after), &random_);
  if (v.verdict.outcome == Outcome::kMismatch) {
    const OwnedBracket::Walk& suspect = v.after ? o.after : o.before;
    Mismatch m;
    m.check = Check::kAsgctGstBracket;
    m.verdict = v.verdict;
    m.reference = Named("gst", o.gst, gst_frames);
    m.suspect = Named("asgct", suspect.frames, suspect.code);
    m.place = origin(suspect).place;
    m.deoptimised_caller =
        NamedRoot(state_.methods, v.verdict.kind == Kind::kTruncated || Elsewhere(v.verdict) ? o.deoptimised : nullptr);
    AddStack(state_, &m, suspect.frames, suspect.words);
    Report(state_, m);
  }
  state_.status->answered.fetch_add(2, std::memory_order_relaxed);
  Count(state_.status, Check::kAsgctGstBracket, v.verdict);
  // A mismatch, or a code, belongs to one walk; the other one gets no verdict.
  const bool both = v.verdict.outcome != Outcome::kMismatch && v.verdict.outcome != Outcome::kUnwalkable;
  if (both || !v.after) ShowVerdict(state_, Check::kAsgctGstBracket, v.verdict, o.before.sequence, o.before.spot.pc);
  if (both || v.after) ShowVerdict(state_, Check::kAsgctGstBracket, v.verdict, o.after.sequence, o.after.spot.pc);
}

}  // namespace misstep
