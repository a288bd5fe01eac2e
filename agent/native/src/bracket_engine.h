// The engine of asgct-gst-bracket: makes the bracketer take brackets and judges them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bracket.h"
#include "bracketer.h"
#include "deferred.h"
#include "engine.h"

namespace misstep {

struct State;

class BracketEngine final : public TickEngine {
 public:
  BracketEngine(State& state, Events& events);

  void Start() override;
  void Stop() override;
  void Judge(uint64_t now_nanos, bool end) override;
  bool Waits() const override { return !deferred_.empty(); }
  void GiveUp(Slot* slot) override { bracketer_.ThreadEnds(slot); }

  bool InTurns() const override;
  bool Draw(uint64_t* random) override;
  size_t ThreadsOfTick() const override;
  bool MayTake(const Slot& slot) const override;
  bool Give(Slot* slot, uint64_t now_nanos, bool first) override;

 private:
  BracketWalk Look(OwnedBracket::Walk* w) const;
  BracketVerdict Compare(OwnedBracket* o) const;
  BracketVerdict CompareAgain(OwnedBracket* o) const;
  bool MayBeEarly(const OwnedBracket& o, const BracketVerdict& v) const;
  void Finish(const OwnedBracket& o, const BracketVerdict& v);

  State& state_;
  Events& events_;
  Bracketer bracketer_;
  Deferred<OwnedBracket> deferred_;
  uint64_t random_ = 0;  // for the share of edges
};

}  // namespace misstep
