#include "spot.h"

#include <algorithm>

#include "registers.h"

namespace misstep {

void ReadPlace(const ucontext_t& registers, Spot* spot) {
  spot->pc = Pc(registers);
  spot->sp = Sp(registers);
  spot->fp = Fp(registers);
  spot->code_size = ReadCode(spot->pc, spot->code, sizeof(spot->code));
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
