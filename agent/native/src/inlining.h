// What compiled code may hide of a stack: which frames of a walk are of one piece of code, and what else could stand
// there.
#pragma once

#include <cstddef>
#include <span>

#include "compare.h"

namespace misstep {

// The most frames that one piece of compiled code is taken to hold: HotSpot's inline depth is 15 (MaxInlineLevel).
constexpr size_t kMostInlined = 64;

// Whether some position of this compiled code can stand for what the shadow has above the frames below it.
bool Explains(const Nmethod& nmethod, std::span<const uint32_t> rest);

// Whether the difference is one of inlined frames at the top: pc has no debug info of its own, or that of another
// place.
bool InlineImprecision(const Sample& s, const CodeLookup& code);

}  // namespace misstep
