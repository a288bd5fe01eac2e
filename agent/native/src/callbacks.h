// The agent's JVMTI callbacks.
#pragma once

#include <jvmti.h>

namespace misstep {

jvmtiEventCallbacks Callbacks();

// Ends all checks, and writes what is left to be written.
void EndAgent(JNIEnv* env);

// Makes the calling thread one that no check observes: it has no slot, no shadow stack and gets no signals.
void LeaveAlone(JNIEnv* env, jthread thread);

}  // namespace misstep
