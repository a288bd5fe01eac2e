// The agent's own threads.
#pragma once

#include <jni.h>
#include <pthread.h>

namespace misstep {

// Starts a thread with all signals blocked. Returns false if no thread can be created.
bool StartThread(pthread_t* thread, void* (*run)(void*), void* argument);

// Rule 1: whether the calling thread is not attached to the JVM. vm is null in tests without one.
bool Detached(JavaVM* vm);

}  // namespace misstep
