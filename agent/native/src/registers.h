// The registers of an interrupted thread that say where it is, and the signals that it blocked. Async-signal-safe.
#pragma once

#include <pthread.h>
#include <ucontext.h>

#include <csignal>
#include <cstdint>
#include <cstring>

namespace misstep {

#if defined(__x86_64__)
inline uint64_t Pc(const ucontext_t& c) { return static_cast<uint64_t>(c.uc_mcontext.gregs[REG_RIP]); }
inline uint64_t Sp(const ucontext_t& c) { return static_cast<uint64_t>(c.uc_mcontext.gregs[REG_RSP]); }
inline uint64_t Fp(const ucontext_t& c) { return static_cast<uint64_t>(c.uc_mcontext.gregs[REG_RBP]); }
inline void SetPlace(ucontext_t* c, uint64_t pc, uint64_t sp) {
  c->uc_mcontext.gregs[REG_RIP] = static_cast<greg_t>(pc);
  c->uc_mcontext.gregs[REG_RSP] = static_cast<greg_t>(sp);
}
#elif defined(__aarch64__)
inline uint64_t Pc(const ucontext_t& c) { return c.uc_mcontext.pc; }
inline uint64_t Sp(const ucontext_t& c) { return c.uc_mcontext.sp; }
inline uint64_t Fp(const ucontext_t& c) { return c.uc_mcontext.regs[29]; }
inline void SetPlace(ucontext_t* c, uint64_t pc, uint64_t sp) {
  c->uc_mcontext.pc = pc;
  c->uc_mcontext.sp = sp;
}
#else
#error "the register names of this architecture are not known here"
#endif

// The first word of a set of signals, signal 1 as the lowest bit: the kernel knows no others.
inline uint64_t FirstWord(const sigset_t& signals) {
  uint64_t word = 0;
  std::memcpy(&word, &signals, sizeof(word));
  return word;
}

// The signals that an interrupted thread blocked.
inline uint64_t Blocked(const ucontext_t& c) { return FirstWord(c.uc_sigmask); }
// Those that the calling thread blocks.
inline uint64_t OwnBlocked() {
  sigset_t blocked = {};
  pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
  return FirstWord(blocked);
}

}  // namespace misstep
