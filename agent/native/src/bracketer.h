// The course of a bracket (bracket.h): sampler -> handler -> bracketer -> handler -> judge.
//
// The bracketer is a daemon thread attached to the JVM: it alone calls GetStackTrace of other threads, waits for their
// safepoints and runs no Java code of the application. The sampler never waits for it.
#pragma once

#include <jni.h>

#include <cstdint>

namespace misstep {

struct Slot;

// Which ticket a signal is for: the low bits of its value, the ticket's sequence number above them.
enum class SignalFor : uint64_t { kSample, kBracketFirst, kBracketSecond };
constexpr int kSignalForBits = 2;

// Wakes the bracketer. Async-signal-safe.
void WakeBracketer();

// The sampler's: begins a bracket of a thread; gives up those whose signal is lost.
bool BeginBracket(Slot* slot);
void SweepBrackets(uint64_t now);

// The thread's own, when it ends and no signal is on its way: gives up its bracket. The bracketer gives up the others.
void EndBracket(Slot* slot);

// The judge's: judges brackets whose walks are all there, and what waited long enough. At the end everything.
void JudgeBrackets(uint64_t now, bool end);
// Whether brackets wait for events still to come.
bool BracketsWait();

// From a thread of the JVM. Returns false when there can be no thread.
bool StartBracketer(JNIEnv* env);
// Waits for a walk under way, within reason, and gives up brackets whose signals have not been handled.
void StopBracketer();

}  // namespace misstep
