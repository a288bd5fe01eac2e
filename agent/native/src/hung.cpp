#include "hung.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

#include "evidence.h"
#include "log.h"
#include "state.h"

namespace misstep {
namespace {

constexpr uint64_t kLookNanos = 500'000'000;
constexpr size_t kMostFrames = 1024;     // of one thread
constexpr size_t kMostBytes = 4u << 20;  // of the file, about

// Whether the thread has been in a signal handler for longer than that.
bool InHandler(const ThreadStatus& s, uint64_t now_nanos, uint64_t nanos) {
  const uint32_t phase = s.phase.load(std::memory_order_acquire);
  const bool handles = phase == MISSTEP_PHASE_HANDLER || phase == MISSTEP_PHASE_WALK || phase == MISSTEP_PHASE_GUESS;
  return handles && Overdue(s, now_nanos, nanos);
}

void AppendFrame(std::string* text, const MethodName& name, const char* source) {
  text->append("\tat ").append(WithDots(name.class_name)).append(".").append(name.name).append(source);
}

// What is on a thread's shadow now, top first. Its thread may run meanwhile: then it is of no moment in
// particular.
void AppendShadow(std::string* text, const MethodTable& methods, const Slot& slot) {
  const uint64_t size = std::min<uint64_t>(ShadowSize(slot.shadow), ShadowCapacity(slot.shadow));
  const uint64_t* entries = slot.shadow + MISSTEP_SHADOW_HEADER / 8;
  std::vector<uint32_t> keys;
  for (uint64_t i = size; i > 0 && keys.size() < kMostFrames; i--) {
    keys.push_back(static_cast<uint32_t>(entries[i - 1]));
  }
  methods.KeysOf(keys);
  // A virtual thread that may be mounted is unknown.
  const char* source = slot.carrier ? "(on the carrier's shadow)\n" : "(on the shadow)\n";
  for (const uint32_t key : keys) AppendFrame(text, methods.NameOfKey(key), source);
}

// Where nothing is instrumented: the compiled methods that words of the stack point at. Some may have returned long
// ago. The kernel reads: the thread may end meanwhile, and its stack with it.
void AppendWords(std::string* text, const State& state, const Slot& slot) {
  constexpr uint64_t kMostRead = 1 << 16;
  const uint64_t sp = slot.status->sp.load(std::memory_order_relaxed);
  const uint64_t end = slot.stack.EndFrom(sp);
  std::vector<uint64_t> words(end > sp ? std::min(end - sp, kMostRead) / sizeof(uint64_t) : 0);
  const auto size = static_cast<uint32_t>(words.size() * sizeof(uint64_t));
  words.resize(ReadCode(sp, reinterpret_cast<uint8_t*>(words.data()), size) / sizeof(uint64_t));
  for (const uint64_t word : words) {
    std::vector<NmethodRef> at;
    if (!state.code.MayHold(word) || state.code.Find(word, &at) != Region::kCompiled) continue;
    if (const auto name = NamedRoot(state.methods, at.front())) AppendFrame(text, *name, "(by a word of the stack)\n");
  }
}

}  // namespace

bool Overdue(const ThreadStatus& s, uint64_t now_nanos, uint64_t nanos) {
  const uint64_t enter = s.enter_nanos.load(std::memory_order_relaxed);
  return enter != 0 && enter + nanos < now_nanos;
}

const ThreadStatus* FindInHandler(const Threads& threads, uint64_t now_nanos, uint64_t nanos) {
  for (size_t i = 0; i < threads.size(); i++) {
    const ThreadStatus* s = threads.at(i)->status;
    if (InHandler(*s, now_nanos, nanos)) return s;
  }
  return nullptr;
}

void HungWalks::Look(uint64_t now_nanos) {
  if (now_nanos < next_nanos_ || reported_ == kMostReported) return;
  next_nanos_ = now_nanos + kLookNanos;
  const ThreadStatus* culprit = FindInHandler(state_.threads, now_nanos, kHandlerOverdueNanos);
  if (culprit == nullptr) return;
  const uint64_t sample = culprit->sequence.load(std::memory_order_relaxed);
  if (sample == last_) return;
  last_ = sample;
  reported_++;
  std::string text = "sample " + std::to_string(sample) + " of " + std::to_string(culprit->tid.load()) + "\n\n";
  for (size_t i = 0; i < state_.threads.size() && text.size() < kMostBytes; i++) {
    const Slot& slot = *state_.threads.at(i);
    if (!HasThread(slot)) continue;
    const std::string tid = std::to_string(slot.tid.load());
    text.append("\"thread ").append(tid).append("\" nid=").append(tid).append("\n");
    AppendShadow(&text, state_.methods, slot);
    if (ShadowSize(slot.shadow) == 0 && InHandler(*slot.status, now_nanos, kHandlerOverdueNanos))
      AppendWords(&text, state_, slot);
    text.append("\n");
  }
  // Atomic: a reader finds the whole file or none.
  const std::string part = path_ + ".part";
  FILE* f = fopen(part.c_str(), "we");
  bool written = f != nullptr;
  if (f != nullptr) {
    written = fwrite(text.data(), 1, text.size(), f) == text.size();
    written = fclose(f) == 0 && written;
  }
  if (!written || rename(part.c_str(), path_.c_str()) != 0) {
    Log("cannot write " + path_ + ": " + std::strerror(errno));
    return;
  }
  Log("sample " + std::to_string(sample) + " does not return: the threads' shadow stacks are in " + path_);
}

}  // namespace misstep
