// Threads of the agent's own.
#pragma once

#include <jni.h>
#include <pthread.h>

namespace misstep {

// Starts a thread that gets none of the JVM's signals and none of ours. Returns false when there can be none.
bool StartThread(pthread_t* thread, void* (*run)(void*), void* argument);

// Rule 1: whether the JVM does not know the calling thread. vm is null in tests without one.
bool Detached(JavaVM* vm);

}  // namespace misstep
