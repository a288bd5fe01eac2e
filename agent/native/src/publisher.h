// Publishes methods to the method table: those of prepared classes, and those found on a stack before their event.
#pragma once

#include <jni.h>
#include <jvmti.h>

#include <span>
#include <string>

#include "frame.h"

namespace misstep {

struct State;

// The internal name of a class. Returns false if the JVM refuses it.
bool NameOf(jvmtiEnv* jvmti, jclass klass, std::string* name);

// When a class's methods are published: in its ClassPrepare event, or later.
enum class When { kPrepare, kAfterwards };

// Publishes the methods of a prepared class, or of one that is redefined, to the method table. Calls JVMTI and JNI.
void PublishClass(State& state, JNIEnv* env, jclass klass, When when);

// Publishes the classes that are loaded already.
void PublishLoaded(State& state, JNIEnv* env);

// Writes the code of redefined classes, as it is by now, to sites.bin. To be called when the JVM shuts down.
void WriteRedefined(State& state, JNIEnv* env);

// Resolves frames of the calling thread's own stack; queries JVMTI about methods that no event has described yet, which
// is safe because a method on one's own stack cannot be unloaded.
void ResolveOwnStack(State& state, JNIEnv* env, std::span<Frame> frames);

}  // namespace misstep
