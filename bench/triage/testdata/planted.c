// The native half of Planted.java, and with -DSPIN a preloaded library that makes the agent's handler hang.
#include <stdint.h>

#ifdef SPIN
#include <stdatomic.h>

static atomic_uint walks;

// The agent calls this function before each walk (agent/native/src/seam.h).
__attribute__((visibility("default"))) void misstep_seam_walk(uint64_t walk) {
  if (walk >> 63 == 0 && atomic_fetch_add(&walks, 1) == 50) {
    for (;;) __asm__ volatile("");
  }
}
#else
#include <dirent.h>
#include <jni.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile uintptr_t nowhere;

__attribute__((noinline)) void table_put(int value) { *(volatile int*)nowhere = value; }
__attribute__((noinline)) int table_get(void) { return *(volatile int*)(nowhere + 0x18); }

JNIEXPORT void JNICALL Java_Planted_writeNull(JNIEnv* env, jclass c) { table_put(7); }
JNIEXPORT void JNICALL Java_Planted_readWild(JNIEnv* env, jclass c) { table_get(); }

__attribute__((noinline)) int descend(volatile int* up) {
  volatile int here[512];
  here[0] = *up + 1;
  return descend(here) + here[0];
}
JNIEXPORT void JNICALL Java_Planted_overflowStack(JNIEnv* env, jclass c) {
  volatile int start = 0;
  descend(&start);
}

static void* worker(void* argument) {
  table_put(9);
  return argument;
}
JNIEXPORT void JNICALL Java_Planted_crashInNativeThread(JNIEnv* env, jclass c) {
  pthread_t t;
  if (pthread_create(&t, NULL, worker, NULL) == 0) pthread_join(t, NULL);
}

__attribute__((noinline)) void cleanup_pool(void) { abort(); }
__attribute__((noinline)) void flush_journal(void) { abort(); }
__attribute__((noinline)) void parse_header(void) { abort(); }
JNIEXPORT void JNICALL Java_Planted_abortInParse(JNIEnv* env, jclass c) { parse_header(); }

__attribute__((noinline)) int average(volatile int sum, volatile int count) { return sum / count; }
JNIEXPORT void JNICALL Java_Planted_divide(JNIEnv* env, jclass c) { nowhere += average(7, 0); }

JNIEXPORT void JNICALL Java_Planted_abortInCleanup(JNIEnv* env, jclass c) { cleanup_pool(); }
JNIEXPORT void JNICALL Java_Planted_abortInFlush(JNIEnv* env, jclass c) { flush_journal(); }

// Sends SIGSEGV to the first thread whose name begins with wanted.
JNIEXPORT void JNICALL Java_Planted_signalThread(JNIEnv* env, jclass c, jstring wanted) {
  const char* name = (*env)->GetStringUTFChars(env, wanted, NULL);
  DIR* d = opendir("/proc/self/task");
  for (struct dirent* e; d != NULL && (e = readdir(d)) != NULL;) {
    char path[300], comm[32] = "";
    snprintf(path, sizeof path, "/proc/self/task/%s/comm", e->d_name);
    FILE* f = fopen(path, "r");
    if (f == NULL) continue;
    if (fgets(comm, sizeof comm, f) != NULL && strncmp(comm, name, strlen(name)) == 0) {
      syscall(SYS_tgkill, getpid(), atoi(e->d_name), SIGSEGV);
      fclose(f);
      return;
    }
    fclose(f);
  }
  fprintf(stderr, "no thread %s\n", name);
  _exit(4);
}
#endif
