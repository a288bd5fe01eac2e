#include "spot.h"

#include <algorithm>

#include "registers.h"

namespace misstep {

namespace {

constexpr uint64_t kPage = 4096;

// Copies code that is being executed. A system call for each signal would be the most expensive part of a tap.
[[gnu::no_sanitize_address]] void CopyCode(uint64_t pc, uint8_t* to, uint32_t size) {
  const auto* from = reinterpret_cast<const volatile uint8_t*>(pc);
  for (uint32_t i = 0; i < size; i++) to[i] = from[i];
}

}  // namespace

void ReadPlace(const CodeMap& code, const ucontext_t& registers, Spot* spot) {
  spot->pc = Pc(registers);
  spot->sp = Sp(registers);
  spot->fp = Fp(registers);
  // The page of generated code that runs is there, and readable.
  if (code.MayHold(spot->pc) && spot->pc % kPage + sizeof(spot->code) <= kPage) {
    spot->code_size = sizeof(spot->code);
    CopyCode(spot->pc, spot->code, spot->code_size);
  } else {
    spot->code_size = ReadCode(spot->pc, spot->code, sizeof(spot->code));
  }
  spot->next_code = spot->returns = {};
  spot->original = 0;
  spot->return_size = 0;
}

void ReadReturns(const CodeMap& code, uint64_t end, Spot* spot) {
  const bool generated = code.MayHold(spot->pc);
  spot->next_code = code.NextReturn(spot->sp, generated ? std::min(end, spot->sp + sizeof(uint64_t)) : end);
  if (generated) return;
  spot->returns = code.Returns(spot->fp, spot->sp, end);
  if (spot->returns.at == 0) return;
  spot->original = CodeMap::Original(spot->returns, end);
  spot->return_size = ReadCode(spot->returns.value, spot->return_code, sizeof(spot->return_code));
}

}  // namespace misstep
