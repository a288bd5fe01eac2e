#include "shadow_view.h"

#include <algorithm>

#include "../../abi.h"

namespace misstep {
namespace {

std::span<const uint64_t> EntriesOf(const uint64_t* buffer) {
  return {buffer + MISSTEP_SHADOW_HEADER / MISSTEP_SHADOW_ENTRY, ShadowSize(buffer)};
}

bool RanOver(const uint64_t* buffer) { return ShadowSize(buffer) > ShadowCapacity(buffer); }

}  // namespace

ShadowView ViewShadow(const uint64_t* own) {
  ShadowView view;
  if (RanOver(own)) {
    view.overflow = true;
    return view;
  }
  view.below = EntriesOf(own);
  const auto mounted = static_cast<int64_t>(own[MISSTEP_SHADOW_MOUNTED / 8]);
  if (mounted == MISSTEP_SHADOW_NONE) return view;
  view.state = mounted == MISSTEP_SHADOW_UNKNOWN ? Mounted::kUnknown : Mounted::kKnown;
  const auto base = reinterpret_cast<uint64_t>(own) + MISSTEP_SHADOW_HEADER;
  const uint64_t mark =
      std::min<uint64_t>((own[MISSTEP_SHADOW_MARK / 8] - base) / MISSTEP_SHADOW_ENTRY, view.below.size());
  view.above = view.below.subspan(mark);
  view.below = view.below.first(mark);
  if (mounted == MISSTEP_SHADOW_UNKNOWN || mounted == MISSTEP_SHADOW_UNCALLED) return view;
  const auto* buffer = reinterpret_cast<const uint64_t*>(mounted);
  if (RanOver(buffer)) return {.state = view.state, .overflow = true};
  view.mounted = EntriesOf(buffer);
  return view;
}

}  // namespace misstep
