// Puts traces onto a thread's trace stack (threads.h), by which asgct-shadow judges bcis and methods without shadow.
#pragma once

#include <jni.h>

#include <span>

#include "frame.h"
#include "threads.h"

namespace misstep {

struct State;

// Keeps the stack at the entry of the method that was just pushed, as GetStackTrace gave it. For the slot's own thread.
void KeepTrace(State& state, JNIEnv* env, Slot* slot, std::span<Frame> gst);

}  // namespace misstep
