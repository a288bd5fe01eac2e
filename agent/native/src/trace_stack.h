// Pushes traces onto a thread's trace stack (threads.h), by which asgct-shadow judges bcis and uninstrumented methods.
#pragma once

#include <jni.h>

#include <span>

#include "frame.h"
#include "threads.h"

namespace misstep {

struct State;

// Keeps GetStackTrace's result at the entry of the method that was just pushed. For the slot's own thread.
void KeepTrace(State& state, JNIEnv* env, Slot* slot, std::span<Frame> gst);

}  // namespace misstep
