// The seam through which a test follows each walk to its verdicts: a library that is loaded before the JVM may define
// these functions (test/injector does). In a real run they are null.
#pragma once

#include <cstdint>

extern "C" {

// Called right before each walk, on the thread that walks. Async-signal-safe. walk is the walk's number.
__attribute__((weak, visibility("default"))) void misstep_seam_walk(uint64_t walk);

// A frame as AsyncGetCallTrace returns it.
struct MisstepSeamFrame {
  int32_t bci;
  uint64_t method;
  bool operator==(const MisstepSeamFrame&) const = default;
};

// Called for each verdict that is based on a walk, outside of signal handlers. outcome is misstep::Outcome, detail
// names the rule, reason or kind. key_of returns the key on the shadow stack for a frame of an instrumented method, 0
// if the method is not instrumented or the frame is in its push or pop. top_of returns how many of these frames, top
// first, belong to the top physical frame of a walk from pc, which is 0 for walks at entries. java_at returns whether a
// pc is in compiled code of a Java method.
__attribute__((weak, visibility("default"))) void misstep_seam_verdict(
    uint64_t walk, const char* check, uint32_t outcome, const char* detail,
    uint32_t (*key_of)(uint64_t method, int32_t bci), uint64_t pc,
    uint32_t (*top_of)(uint64_t pc, const MisstepSeamFrame* frames, uint32_t count), bool (*java_at)(uint64_t pc));
}
