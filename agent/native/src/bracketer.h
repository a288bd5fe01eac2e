// The course of a bracket (bracket.h): sampler -> bracketer -> handler -> bracketer -> handler -> bracketer -> judge.
//
// The sampler gives some threads turns of brackets; the bracketer takes one after the other, as fast as the walks go,
// and hands what they showed to the judge. It is a daemon thread attached to the JVM: it alone calls GetStackTrace of
// other threads, waits for their safepoints and runs no Java code of the application. The sampler never waits for it.
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

// Whether there is somebody to take brackets.
bool BracketerRuns();

// The sampler's: has the bracketer take brackets of a thread to which no signal is on its way, more of them when its
// turn is under way: one, and others until then. They come out of what all turns were given and did not take, which
// grows by count up to some turns' worth. Returns false for a thread that cannot have brackets.
bool GiveBrackets(Slot* slot, uint32_t count, uint64_t until);

// The thread's own, when it ends and no signal is on its way: gives up its bracket. The bracketer gives up the others.
void EndBracket(Slot* slot);

// The judge's: judges what the bracketer handed on, and what waited long enough. At the end everything.
void JudgeBrackets(bool end);
// Whether brackets wait for events still to come.
bool BracketsWait();

// Returns false when there can be no thread.
bool StartBracketer();
// Waits for a walk under way, within reason, hands on brackets whose walks are all there and gives up the others.
void StopBracketer();

}  // namespace misstep
