// The agent's JVMTI callbacks.
#pragma once

#include <jvmti.h>

namespace misstep {

jvmtiEventCallbacks Callbacks();

// Makes the calling thread one that no check observes: it has no slot, no shadow stack and gets no signals.
void LeaveAlone(JNIEnv* env, jthread thread);

}  // namespace misstep
