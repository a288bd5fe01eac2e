// The contents of a mismatch's record: both traces with names, and what the stack contains.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "code_map.h"
#include "methods.h"
#include "record.h"

namespace misstep {

struct State;

// Records a mismatch.
void Report(State& state, const Mismatch& m);

// The trace with names, as in records.
NamedTrace Named(const char* source, std::span<const Frame> frames, int32_t num_frames);
NamedTrace NamedShadow(const MethodTable& methods, std::span<const uint32_t> keys_bottom_first);
// The method that was compiled, nullopt for no code.
std::optional<MethodName> NamedRoot(const MethodTable& methods, const NmethodRef& code);

// The method that a frame calls according to its bytecode, nullopt if it calls none or an unknown one.
std::optional<MethodName> CallOf(const Frame& frame);

// The caller at which a walk was cut off because it was deoptimised during the call, according to the words of the
// stack (CodeMap::Deoptimised): reference, top first, continues at a position of its code. Null for other verdicts.
NmethodRef DeoptimisedCaller(const State& state, std::span<const Frame> reference, const Verdict& verdict,
                             std::span<const StackWord> words);

// Adds facts from the suspect's frames and the stack: the top frame's call, the code to which the top frame may return,
// and, for a walk that lost its bottom without a deoptimised caller, up to kMostNamed words that point at generated
// code.
constexpr size_t kMostNamed = 160;
void AddStack(const State& state, Mismatch* m, std::span<const Frame> suspect, std::span<const StackWord> words);

}  // namespace misstep
