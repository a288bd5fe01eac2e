// The engine of asgct-shadow: sends signals that make running threads walk themselves, and judges the walks.
#pragma once

#include <cstdint>
#include <set>

#include "deferred.h"
#include "engine.h"
#include "verdict.h"

namespace misstep {

struct State;

class SampleEngine final : public TickEngine {
 public:
  SampleEngine(State& state, Events& events);
  ~SampleEngine() override;

  void Start() override;
  void Stop() override;
  void Judge(uint64_t now_nanos, bool end) override;
  bool Waits() const override { return !deferred_.empty(); }
  void GiveUp(Slot* slot) override;

  bool InTurns() const override;
  bool Draw(uint64_t* random) override;
  size_t ThreadsOfTick() const override { return 1; }
  bool MayTake(const Slot& slot) const override;
  bool Give(Slot* slot, uint64_t now_nanos, bool first) override;

 private:
  struct Owned;

  Ticket* FreeTicket(Slot* slot, uint64_t now_nanos) const;
  bool Send(Slot* slot, uint64_t now_nanos) const;
  bool SendBurst(Slot* slot, uint64_t now_nanos) const;
  bool GiveTurn(Slot* slot, uint64_t now_nanos) const;

  void Take(Slot* slot, Ticket* t, uint64_t now_nanos);
  void LearnBottom(Slot* slot, const Owned& o, const Verdict& verdict);
  Verdict Compare(Owned* o) const;
  Verdict CompareAgain(Owned* o) const;
  void FindDeoptimised(Owned* o, const Verdict& verdict) const;
  void Finish(const Owned& o, const Verdict& verdict);

  State& state_;
  Events& events_;
  Deferred<Owned> deferred_;
  std::set<uint64_t> bottoms_;  // bottom methods of matching walks: the few that threads begin with
  uint64_t random_ = 0;         // for the share of edges
};

}  // namespace misstep
