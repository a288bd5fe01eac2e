// The native half of Crashes.java: each function is one cause. Frame pointers are kept, so that HotSpot can walk the
// stack.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <jni.h>
#include <jvmti.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define APART __attribute__((noinline))
#define METHOD(name) JNIEXPORT void JNICALL Java_Vault_##name(JNIEnv* env, jclass vault)

static volatile uintptr_t wild = 0x18;
static volatile int sink;
static char target[1 << 16];
static JavaVM* vm;

JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM* loader, void* reserved) {
  vm = loader;
  return JNI_VERSION_1_6;
}

APART void table_put(int value) { *(volatile int*)wild = value; }
METHOD(tablePut) { table_put(7); }

APART int index_find(int key) { return *(volatile int*)(wild + 8) + key; }
METHOD(indexFind) { sink = index_find(3); }

APART int average_of(volatile int sum, volatile int count) { return sum / count; }
METHOD(average) { sink = average_of(7, 0); }

APART void close_file(FILE* file) { sink = fclose(file); }
METHOD(closeFile) { close_file((FILE*)(wild + 0x1000)); }

APART void format_line(const char* text) { sink = snprintf(target, sizeof target, "%d: %s", 7, text); }
METHOD(formatLine) { format_line((const char*)wild); }

APART void copy_rows(size_t n) {
  memcpy(target, (void*)wild, n);
  sink = target[0];
}
METHOD(copyRows) { copy_rows((size_t)sink + 4096); }

APART void pack_keys(size_t n) {
  memcpy((void*)wild, target, n);
  sink++;
}
METHOD(packKeys) { pack_keys((size_t)sink + 8192); }

APART void wipe_pages(size_t n) {
  memset((void*)wild, 0, n);
  sink++;
}
METHOD(wipePages) { wipe_pages((size_t)sink + 4096); }

APART void parse_name(const char* text) { sink = (int)strlen(text); }
METHOD(parseName) { parse_name((const char*)wild); }

APART void list_folder(DIR* folder) { sink = readdir(folder) != NULL; }
METHOD(listFolder) { list_folder((DIR*)wild); }

APART void free_node(void* node) {
  free(node);
  sink++;
}
METHOD(freeNode) { free_node((void*)(wild + 0x10000)); }

APART void worker_sum(void) { *(volatile int*)wild = 9; }
static void* detached(void* argument) {
  worker_sum();
  return argument;
}
METHOD(detachedSum) {
  pthread_t t;
  if (pthread_create(&t, NULL, detached, NULL) == 0) pthread_join(t, NULL);
}

APART void attached_sum(void) { *(volatile int*)(wild + 32) = 9; }
static void* attached(void* argument) {
  void* env;
  (*vm)->AttachCurrentThread(vm, &env, NULL);
  attached_sum();
  return argument;
}
METHOD(attachedSum) {
  pthread_t t;
  if (pthread_create(&t, NULL, attached, NULL) == 0) pthread_join(t, NULL);
}

APART void decode_op(int op) {
  if (op == sink) __builtin_trap();
}
METHOD(decodeOp) { decode_op(sink); }

APART void call_hook(void (*volatile hook)(void)) {
  hook();
  sink++;
}
METHOD(callHook) { call_hook(NULL); }

APART void dispatch_event(void (*volatile handler)(void)) {
  handler();
  sink++;
}
METHOD(dispatchEvent) { dispatch_event((void (*)(void))0x7a5500); }

APART int compare_rows(const void* a, const void* b) { return *(volatile int*)wild; }
METHOD(sortRows) { qsort(target, 8, 8, compare_rows); }

APART void self_signal(void) {
  raise(SIGSEGV);
  sink++;
}
METHOD(selfSignal) { self_signal(); }

APART void scan_map(volatile char* map) { sink = map[8192]; }
METHOD(scanMap) {
  FILE* file = tmpfile();
  scan_map(mmap(NULL, 16384, PROT_READ, MAP_SHARED, fileno(file), 0));
}

static APART void hidden_first(void) { *(volatile int*)(wild + 64) = sink; }
static APART void hidden_second(void) { sink += *(volatile int*)(wild + 96); }
METHOD(unnamedFirst) { hidden_first(); }
METHOD(unnamedSecond) { hidden_second(); }

APART void free_handle(void) { *(volatile int*)(wild + 48) = 0; }
METHOD(releaseHandle) { free_handle(); }

APART void say_goodbye(void) { *(volatile int*)(wild + 56) = 0; }
METHOD(exit) { atexit(say_goodbye); }

static jobject stale(void) { return (jobject)(wild + 0x10000 - 0x18); }
METHOD(staleClass) { (*env)->GetObjectClass(env, stale()); }
METHOD(staleLength) { sink = (*env)->GetArrayLength(env, stale()); }
METHOD(staleText) { (*env)->GetStringUTFChars(env, stale(), NULL); }
METHOD(staleGlobal) { sink = (*env)->IsSameObject(env, stale(), NULL); }
METHOD(staleMethod) { (*env)->CallStaticVoidMethod(env, vault, (jmethodID)stale()); }

static void JNICALL loaded(jvmtiEnv* jvmti, JNIEnv* env, jthread t, jclass c) {}

// AsyncGetCallTrace requires that somebody listens to the event.
static jvmtiEnv* tools(void) {
  jvmtiEnv* jvmti = NULL;
  jvmtiEventCallbacks callbacks = {.ClassLoad = loaded};
  (*vm)->GetEnv(vm, (void**)&jvmti, JVMTI_VERSION_1_1);
  (*jvmti)->SetEventCallbacks(jvmti, &callbacks, sizeof callbacks);
  (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, JVMTI_EVENT_CLASS_LOAD, NULL);
  return jvmti;
}

METHOD(walkSelf) {
  jint n;
  jvmtiEnv* jvmti = tools();
  (*jvmti)->GetStackTrace(jvmti, NULL, 0, 20, (jvmtiFrameInfo*)wild, &n);
}

JNIEXPORT void JNICALL Java_Vault_walkOther(JNIEnv* env, jclass vault, jthread other) {
  jint n;
  jvmtiEnv* jvmti = tools();
  (*jvmti)->GetStackTrace(jvmti, other, 0, 20, (jvmtiFrameInfo*)wild, &n);
}

METHOD(walkStale) {
  jvmtiEnv* jvmti = tools();
  jthread threads[] = {(jthread)stale()};
  jvmtiStackInfo* stacks;
  (*jvmti)->GetThreadListStackTraces(jvmti, 1, threads, 20, &stacks);
}

typedef struct {
  JNIEnv* env;
  jint count;
  void* frames;
} CallTrace;

METHOD(walkAsync) {
  tools();
  void (*walk)(CallTrace*, jint, void*) = (void (*)(CallTrace*, jint, void*))dlsym(RTLD_DEFAULT, "AsyncGetCallTrace");
  CallTrace trace = {env, 0, (void*)wild};
  ucontext_t here;
  getcontext(&here);
  walk(&trace, 20, &here);
  fprintf(stderr, "no crash: %d frames\n", trace.count);
}

// With broken set, the interpreter's frame of this method loses its Method*, which a walk then reads.
JNIEXPORT void JNICALL Java_Vault_pause(JNIEnv* env, jclass vault, jboolean broken) {
  if (broken) {
    uintptr_t* caller = *(uintptr_t**)__builtin_frame_address(0);
    caller[-3] = 0x11110;
  }
  for (;;) sleep(1);
}

// Sends SIGSEGV to the first thread whose name begins with one of the names between bars.
JNIEXPORT void JNICALL Java_Vault_kill(JNIEnv* env, jclass vault, jstring wanted) {
  char names[200];
  snprintf(names, sizeof names, "%s", (*env)->GetStringUTFChars(env, wanted, NULL));
  usleep(300000);
  for (char* name = strtok(names, "|"); name != NULL; name = strtok(NULL, "|")) {
    DIR* tasks = opendir("/proc/self/task");
    for (struct dirent* e; tasks != NULL && (e = readdir(tasks)) != NULL;) {
      char path[300], comm[32] = "";
      snprintf(path, sizeof path, "/proc/self/task/%s/comm", e->d_name);
      FILE* f = fopen(path, "r");
      if (f == NULL) continue;
      if (fgets(comm, sizeof comm, f) != NULL && strncmp(comm, name, strlen(name)) == 0) {
        syscall(SYS_tgkill, getpid(), atoi(e->d_name), SIGSEGV);
        sleep(20);
      }
      fclose(f);
    }
  }
  fprintf(stderr, "no such thread\n");
  _exit(4);
}
