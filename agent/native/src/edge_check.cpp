#include "edge_check.h"

#include "edges.h"
#include "evidence.h"
#include "random.h"
#include "state.h"
#include "verdict_count.h"

namespace misstep {

void CheckEdgesOf(State& state, std::span<const Frame> frames, const Origin& origin, uint64_t* random) {
  if (state.options.edges <= 0 || frames.empty() || Uniform(random) >= state.options.edges) return;
  EdgeCounts counts;
  const Verdict verdict = CheckEdges(frames, &counts);
  for (size_t i = 0; i < static_cast<size_t>(Explained::kCount); i++) {
    if (counts.of[i] == 0) continue;
    state.edges[i].fetch_add(counts.of[i], std::memory_order_relaxed);
    Count(state.status, Check::kEdges, VerdictOn(static_cast<Explained>(i), 0), counts.of[i]);
  }
  if (verdict.outcome == Outcome::kMismatch) {
    Mismatch m;
    m.check = Check::kEdges;
    m.verdict = verdict;
    m.count = counts.of[static_cast<size_t>(Explained::kNothing)];
    m.suspect = Named(origin.source, frames, origin.num_frames);
    // The stack as the bytecode has it, up to what it calls there, if anything.
    const std::span<const Frame> below = frames.last(verdict.divergence);
    m.reference = Named("bytecode", below, 0);
    if (const auto call = CallOf(below[0])) m.reference.frames.insert(m.reference.frames.begin(), {*call, 0});
    m.reference.num_frames = static_cast<int32_t>(m.reference.frames.size());
    m.place = origin.place;
    AddStack(state, &m, frames, {});
    Report(state, m);
  }
  if (origin.walk != 0) ShowVerdict(state, Check::kEdges, verdict, origin.walk, origin.place.spot.pc);
}

}  // namespace misstep
