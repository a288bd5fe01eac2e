// Imprecision by inlining in compiled code: which frames of a walk belong to one nmethod, and which other frames could
// be there instead.
#pragma once

#include <cstddef>
#include <span>

#include "compare.h"

namespace misstep {

// The most frames that one nmethod is assumed to contain: HotSpot's inline depth is 15 (MaxInlineLevel).
constexpr size_t kMostInlined = 64;

// Whether some position of this compiled code explains rest, the top part of the shadow stack.
bool Explains(const Nmethod& nmethod, std::span<const uint32_t> rest);

// Whether the difference is one of inlined frames at the top: pc has no debug info, or that of another position.
bool InlineImprecision(const Sample& s, const CodeLookup& code);

}  // namespace misstep
