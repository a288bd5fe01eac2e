// The native half of Hangs.java.
#include <jni.h>
#include <unistd.h>

static volatile int always = 1;

JNIEXPORT void JNICALL Java_Native_lock(JNIEnv* env, jclass c, jobject monitor) { (*env)->MonitorEnter(env, monitor); }

JNIEXPORT void JNICALL Java_Native_stall(JNIEnv* env, jclass c) {
  while (always) sleep(1);
}

JNIEXPORT void JNICALL Java_Native_poll(JNIEnv* env, jclass c) {
  while (always) {
  }
}
