// The stack of a thread by JVMTI, as names.
#pragma once

#include <jni.h>
#include <jvmti.h>

namespace misstep {

// For each frame, innermost first, the class's binary name with dots and the method's; null if the JVM does not give
// them. For a Java thread, which may block.
jobjectArray StackNames(jvmtiEnv* jvmti, JNIEnv* env, jthread thread);

}  // namespace misstep
