// Has code compiled, replaced and swept away while the JVM still starts: at each class that is prepared from VMInit to
// the program's first class two methods are called often, and another thread makes a safepoint each 0.2 ms
// (docs/figures/0011).
#pragma once

#include <jni.h>
#include <jvmti.h>

// What Agent_OnLoad is to return.
jint Hurry(JavaVM* java, jvmtiEnv* with);
