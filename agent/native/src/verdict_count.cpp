#include "verdict_count.h"

#include <atomic>
#include <vector>

#include "compare.h"
#include "seam.h"
#include "state.h"

namespace misstep {

void CountWalk(const State& state, Check check, const Verdict& verdict, uint64_t walk, uint64_t pc) {
  Count(state.status, check, verdict);
  ShowVerdict(state, check, verdict, walk, pc);
}

void ShowVerdict(const State& state, Check check, const Verdict& verdict, uint64_t walk, uint64_t pc) {
  if (misstep_seam_verdict == nullptr) return;
  static std::atomic<const State*> tested = nullptr;  // the seam calls back without an argument from Misstep
  tested = &state;
  const char* detail = verdict.outcome == Outcome::kTolerated  ? kRuleNames[static_cast<int>(verdict.rule)]
                       : verdict.outcome == Outcome::kMismatch ? kKindNames[static_cast<int>(verdict.kind)]
                                                               : kReasonNames[static_cast<int>(verdict.reason)];
  const auto key_of = [](uint64_t method, int32_t bci) {
    const MethodInfo* info = tested.load()->methods.Find(method);
    return info != nullptr && CertainlyOnShadow(*info, bci) ? info->key : 0;
  };
  const auto top_of = [](uint64_t from, const MisstepSeamFrame* frames, uint32_t count) {
    std::vector<Frame> all;
    all.reserve(count);
    for (uint32_t i = 0; i < count; i++) all.push_back({frames[i].method, frames[i].bci, nullptr});
    tested.load()->methods.Resolve(all);
    std::vector<NmethodRef> at_pc;
    const Region region = tested.load()->code.Find(from, &at_pc);
    return static_cast<uint32_t>(TopGroup(all, region, at_pc, tested.load()->code));
  };
  const auto java_at = [](uint64_t from) {
    std::vector<NmethodRef> at_pc;
    return tested.load()->code.Find(from, &at_pc) == Region::kCompiled && AllJava(at_pc);
  };
  misstep_seam_verdict(walk, kCheckNames[static_cast<int>(check)], static_cast<uint32_t>(verdict.outcome), detail,
                       key_of, pc, top_of, java_at);
}

}  // namespace misstep
