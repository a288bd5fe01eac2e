// A fault injector between agent and JVM, to measure what the checks miss: preloaded (LD_PRELOAD), it stands before
// AsyncGetCallTrace and alters its answers at a seeded rate. It is a test fixture and no part of the agent.
//
// Environment:
//   MISSTEP_INJECT_LOG      path of the log (see Entry); without it nothing is injected
//   MISSTEP_INJECT_CLASSES  names of kClasses, separated by commas; each fault draws one of them
//   MISSTEP_INJECT_RATE     share of the walks that a fault is tried on
//   MISSTEP_INJECT_SEED     of all draws
//   MISSTEP_INJECT_WHERE    signal: walks in signal handlers only; entry: walks at method entries only; else both
//   MISSTEP_INJECT_MICROS   length of the class delay, default 20000
//   MISSTEP_INJECT_TRIALS   share of the JVMs that inject at all; the agent's seed says which ones, and all draws
//   MISSTEP_INJECT_NO_THREAD
//                           number of the agent's thread, from 1, that cannot be created
//   MISSTEP_INJECT_NEEDS    arguments of the JVM, separated by commas, without which nothing is injected
//   MISSTEP_INJECT_METHOD   "package.Class.method": only walks through it are altered, at its uppermost frame where the
//                           class has a place; names are looked up at method entries, so some must be walked
//
// Each fault is logged before the walk returns, by the number that the agent gives the walk (native/src/seam.h), and
// each verdict on such a walk beside it. A fault that would change nothing (a swap of two equal frames) is not made.
#include <dlfcn.h>
#include <fcntl.h>
#include <jvmti.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "../../native/src/seam.h"

namespace {

using Frame = MisstepSeamFrame;
struct Trace {
  void* env;
  int32_t num_frames;
  Frame* frames;
};
static_assert(sizeof(Frame) == 16 && sizeof(Trace) == 24, "AsyncGetCallTrace's types (HotSpot: share/prims/forte.cpp)");
using Asgct = void (*)(Trace*, int32_t, void*);

enum Class : int32_t {
  kDropTop,
  kDropMiddle,
  kDropBottom,
  kTruncate,
  kDuplicate,
  kSwap,
  kReplace,
  kUnknownMethod,  // an id that no method has
  kWrongBci,
  kStale,
  kForeign,
  kWrongCode,    // one of ASGCT's own codes instead of a stack
  kInvalidCode,  // a code that ASGCT does not have
  kDelay,
  kHang,
  kCrash,
  kClassCount,
};
constexpr const char* kClasses[] = {
    "drop-top",  "drop-middle", "drop-bottom", "truncate",   "duplicate",    "swap",  "replace", "unknown-method",
    "wrong-bci", "stale",       "foreign",     "wrong-code", "invalid-code", "delay", "hang",    "crash"};
static_assert(sizeof(kClasses) / sizeof(kClasses[0]) == kClassCount);

// The log: a header, then entries; internal/faults reads it.
constexpr uint64_t kMagic = 0x3130544c5541464d;  // "MFAULT01"
constexpr uint32_t kMostEntries = 1 << 17;

enum EntryKind : uint32_t { kNoEntry, kFault, kVerdict };
// Of a verdict: the fault changed the order of methods, not only a bytecode index.
constexpr uint32_t kMethodsChanged = 1;
// Of a verdict: what the fault changed is all of the top physical frame, whose position may be imprecise.
constexpr uint32_t kTopOnly = 2;
// Of a verdict: the walk was from a pc in compiled code of a Java method.
constexpr uint32_t kInJava = 4;

struct Entry {
  std::atomic<uint32_t> kind;  // written last
  uint32_t tid;
  uint64_t walk;
  uint64_t nanos;    // CLOCK_MONOTONIC
  int32_t position;  // of a fault: index from the top; of a verdict: see Reach
  int32_t before;    // num_frames
  int32_t after;
  uint32_t flags;    // of a verdict
  uint32_t outcome;  // of a verdict: misstep::Outcome
  uint32_t at_entry;
  char name[32];    // of a fault its class, of a verdict its check
  char detail[32];  // of a verdict
};
static_assert(sizeof(Entry) == 112);

struct Log {
  uint64_t magic;
  std::atomic<uint64_t> walks;  // that were numbered
  std::atomic<uint64_t> drawn;  // a fault was drawn
  std::atomic<uint64_t> made;   // and was made
  std::atomic<uint64_t> entries;
  uint64_t reserved[3];
  Entry entry[kMostEntries];
};

constexpr int32_t kMostFrames = 512;  // deeper stacks are left alone
struct Copy {
  int32_t count;
  Frame frames[kMostFrames];
};

// What a thread's walks gave last. version is odd while it changes.
struct Previous {
  std::atomic<uint64_t> version;
  Copy trace;
};
constexpr uint32_t kMostThreads = 4096;

// A fault whose verdicts are still to come.
struct Made {
  std::atomic<uint64_t> walk;  // written last
  Copy before;
  Copy after;
};
constexpr uint32_t kMostMade = 1 << 15;  // slots of the table, by walk's hash
constexpr uint64_t kClaimed = UINT64_MAX;

// Methods by id, and whether each is the place. An id is looked up once, by a thread that stands in the method.
struct Known {
  std::atomic<uint64_t> method;  // written last
  bool is_place;
};
constexpr uint32_t kMostMethods = 1 << 16;

struct State {
  double rate;
  uint64_t seed;
  uint64_t delay_micros;
  bool at_signal;
  bool at_entry;
  int32_t classes[kClassCount];
  uint64_t class_count;
  Log* log;
  Previous* previous;
  std::atomic<uint32_t> threads;
  Made* made;
  std::atomic<Asgct> real;
  const char* place;  // null for any
  uint32_t no_thread;
  std::atomic<uint32_t> agent_threads;
  Known* methods;
  std::atomic<jvmtiEnv*> jvmti;
};
State state;

// The library is there before any thread: its thread-local storage is static.
thread_local uint64_t this_walk __attribute__((tls_model("initial-exec"))) = 0;
thread_local Previous* this_previous __attribute__((tls_model("initial-exec"))) = nullptr;
thread_local bool without_previous __attribute__((tls_model("initial-exec"))) = false;

uint64_t Mix(uint64_t z) {
  z += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

// A stream of draws for one walk.
struct Draws {
  uint64_t at;
  uint64_t Next() { return Mix(at++); }
  int32_t Below(int32_t n) { return static_cast<int32_t>(Next() % static_cast<uint64_t>(n)); }
};

template <typename T>
T* Reserve(size_t count) {
  void* memory =
      mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<T*>(memory);
}

void Put(char (&to)[32], const char* text) {
  size_t i = 0;
  for (; i + 1 < sizeof(to) && text[i] != 0; i++) to[i] = text[i];
  to[i] = 0;
}

uint64_t Nanos() {
  timespec ts = {};
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return static_cast<uint64_t>(ts.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(ts.tv_nsec);
}

Entry* NextEntry() {
  const uint64_t i = state.log->entries.fetch_add(1, std::memory_order_relaxed);
  return i < kMostEntries ? &state.log->entry[i] : nullptr;
}

void Save(Copy* to, const Trace& from) {
  to->count = from.num_frames;
  if (from.num_frames > 0) std::memcpy(to->frames, from.frames, static_cast<size_t>(from.num_frames) * sizeof(Frame));
}

bool Same(const Copy& a, const Trace& b) {
  if (a.count != b.num_frames) return false;
  for (int32_t i = 0; i < a.count; i++) {
    if (!(a.frames[i] == b.frames[i])) return false;
  }
  return true;
}

Made* Slot(uint64_t walk) { return &state.made[Mix(walk) % kMostMade]; }

// Remembers what this thread's walk gave, as it was without a fault.
void Remember(const Frame* frames, int32_t count) {
  Previous* p = this_previous;
  if (p == nullptr) {
    if (without_previous) return;
    const uint32_t i = state.threads.fetch_add(1, std::memory_order_relaxed);
    without_previous = i >= kMostThreads;
    if (without_previous) return;
    p = this_previous = &state.previous[i];
  }
  p->version.fetch_add(1, std::memory_order_acq_rel);
  p->trace.count = count;
  std::memcpy(p->trace.frames, frames, static_cast<size_t>(count) * sizeof(Frame));
  p->version.fetch_add(1, std::memory_order_release);
}

void Erase(Trace* t, int32_t at) {
  std::memmove(t->frames + at, t->frames + at + 1, static_cast<size_t>(t->num_frames - at - 1) * sizeof(Frame));
  t->num_frames--;
}

// Puts another walk's answer in place of this one. Returns false when there is none that is whole.
bool Substitute(Trace* t, int32_t depth, const Previous* p) {
  const uint64_t version = p->version.load(std::memory_order_acquire);
  const int32_t count = p->trace.count;
  if (version == 0 || version % 2 != 0 || count <= 0 || count > depth || count > kMostFrames) return false;
  std::memcpy(t->frames, p->trace.frames, static_cast<size_t>(count) * sizeof(Frame));
  t->num_frames = count;
  std::atomic_thread_fence(std::memory_order_acquire);
  return p->version.load(std::memory_order_relaxed) == version;
}

// Whether a method is the place, by its names. JVMTI's calls are allowed where a method's entry is walked: in a native
// method, on the stack of which the frame is.
bool HasPlacesName(void* env, uint64_t method) {
  jvmtiEnv* jvmti = state.jvmti.load(std::memory_order_acquire);
  if (jvmti == nullptr) {
    JavaVM* vm = nullptr;
    if (static_cast<JNIEnv*>(env)->GetJavaVM(&vm) != JNI_OK) return false;
    if (vm->GetEnv(reinterpret_cast<void**>(&jvmti), JVMTI_VERSION_1_2) != JNI_OK) return false;
    state.jvmti.store(jvmti, std::memory_order_release);  // a second one of another thread does no harm
  }
  const auto id = reinterpret_cast<jmethodID>(method);
  char* name = nullptr;
  char* signature = nullptr;
  jclass declaring = nullptr;
  bool same = false;
  if (jvmti->GetMethodName(id, &name, nullptr, nullptr) == JVMTI_ERROR_NONE &&
      jvmti->GetMethodDeclaringClass(id, &declaring) == JVMTI_ERROR_NONE &&
      jvmti->GetClassSignature(declaring, &signature, nullptr) == JVMTI_ERROR_NONE) {
    // Lpackage/Class; and method against package.Class.method.
    const char* p = state.place;
    const char* c = signature + 1;
    for (; *c != ';' && *c != 0 && (*c == '/' ? '.' : *c) == *p; c++) p++;
    same = *c == ';' && *p == '.' && std::strcmp(p + 1, name) == 0;
  }
  if (declaring != nullptr) static_cast<JNIEnv*>(env)->DeleteLocalRef(declaring);
  jvmti->Deallocate(reinterpret_cast<unsigned char*>(name));
  jvmti->Deallocate(reinterpret_cast<unsigned char*>(signature));
  return same;
}

// Whether a method is the place, by the table of those that were looked up. Looks it up where env is not null.
bool IsPlace(void* env, uint64_t method) {
  constexpr uint64_t kMostProbes = 16;
  for (uint64_t probe = 0; probe < kMostProbes; probe++) {
    Known* k = &state.methods[(Mix(method) + probe) % kMostMethods];
    uint64_t is = k->method.load(std::memory_order_acquire);
    if (is == 0) {
      if (env == nullptr || !k->method.compare_exchange_strong(is, kClaimed)) return false;  // some later walk knows it
      k->is_place = HasPlacesName(env, method);
      k->method.store(is = method, std::memory_order_release);
    }
    if (is == method) return k->is_place;
  }
  return false;
}

// The uppermost frame of the place, -1 when the walk has none. env is null in a signal handler, where only those
// methods are known that an entry's walk has met.
int32_t PlaceIn(const Trace& t, void* env) {
  for (int32_t i = 0; i < t.num_frames; i++) {
    const uint64_t method = t.frames[i].method;
    if (method == 0) continue;
    if (IsPlace(env, method)) return i;
  }
  return -1;
}

// Alters the answer, at the frame at the index place when that is not negative. Returns the index at which, -1 when
// this class cannot be applied here.
int32_t Alter(int32_t what, Trace* t, int32_t depth, int32_t place, Draws* draws) {
  const int32_t n = t->num_frames;
  const auto index = [&](int32_t many) { return place < 0 ? draws->Below(many) : place; };
  switch (what) {
    case kDropTop:
      if (n < 2) return -1;
      Erase(t, 0);
      return 0;
    case kDropMiddle: {
      if (n < 3) return -1;
      const int32_t at = place < 0 ? 1 + draws->Below(n - 2) : place;
      if (at < 1 || at > n - 2) return -1;
      Erase(t, at);
      return at;
    }
    case kDropBottom:
      if (n < 2) return -1;
      t->num_frames--;
      return n - 1;
    case kTruncate: {
      if (n < 3 || place == n - 1) return -1;
      t->num_frames = 1 + index(n - 2);
      return t->num_frames;
    }
    case kDuplicate: {
      if (n >= depth || n >= kMostFrames) return -1;
      const int32_t at = index(n);
      std::memmove(t->frames + at + 1, t->frames + at, static_cast<size_t>(n - at) * sizeof(Frame));
      t->num_frames++;
      return at;
    }
    case kSwap: {
      if (n < 2 || place == n - 1) return -1;
      const int32_t at = index(n - 1);
      const Frame upper = t->frames[at];
      t->frames[at] = t->frames[at + 1];
      t->frames[at + 1] = upper;
      return at;
    }
    case kReplace: {
      // By a frame of some walk before this one, of any thread: a method that exists.
      const uint32_t threads = state.threads.load(std::memory_order_relaxed);
      if (threads == 0) return -1;
      const Previous& p = state.previous[draws->Next() % (threads < kMostThreads ? threads : kMostThreads)];
      if (p.trace.count <= 0 || p.trace.count > kMostFrames) return -1;
      const int32_t at = index(n);
      const Frame by = p.trace.frames[draws->Below(p.trace.count)];
      if (by.method == 0) return -1;
      t->frames[at] = by;
      return at;
    }
    case kUnknownMethod: {
      const int32_t at = index(n);
      t->frames[at].method = Mix(t->frames[at].method) | 1;  // ids are addresses of words
      return at;
    }
    case kWrongBci: {
      const int32_t at = index(n);
      if (t->frames[at].bci < 0) return -1;
      t->frames[at].bci += 1 + draws->Below(8);
      return at;
    }
    case kStale:
      return this_previous != nullptr && Substitute(t, depth, this_previous) ? 0 : -1;
    case kForeign: {
      const uint32_t threads = state.threads.load(std::memory_order_relaxed);
      if (threads == 0) return -1;
      const Previous* p = &state.previous[draws->Next() % (threads < kMostThreads ? threads : kMostThreads)];
      return p != this_previous && Substitute(t, depth, p) ? 0 : -1;
    }
    case kWrongCode:
      t->num_frames = -draws->Below(11);
      return 0;
    case kInvalidCode:
      t->num_frames = -11 - draws->Below(5);
      return 0;
    default:
      return -1;
  }
}

void LogFault(int32_t what, uint64_t walk, bool at_entry, int32_t position, int32_t before, int32_t after) {
  state.log->made.fetch_add(1, std::memory_order_relaxed);
  Entry* e = NextEntry();
  if (e == nullptr) return;
  e->tid = static_cast<uint32_t>(syscall(SYS_gettid));
  e->walk = walk;
  e->nanos = Nanos();
  e->position = position;
  e->before = before;
  e->after = after;
  e->at_entry = at_entry ? 1 : 0;
  Put(e->name, kClasses[what]);
  e->kind.store(kFault, std::memory_order_release);
}

int* volatile nowhere = nullptr;

// Delays, hangs and crashes happen within the walk.
void Misbehave(int32_t what) {
  if (what == kDelay) {
    timespec ts = {static_cast<time_t>(state.delay_micros / 1'000'000),
                   static_cast<long>(state.delay_micros % 1'000'000 * 1000)};
    nanosleep(&ts, nullptr);
  }
  while (what == kHang) pause();
  if (what == kCrash) *nowhere = 1;
}

void Inject(Trace* trace, int32_t depth, int32_t place, uint64_t walk, bool at_entry, Draws* draws) {
  const int32_t what = state.classes[draws->Next() % state.class_count];
  state.log->drawn.fetch_add(1, std::memory_order_relaxed);
  Made* m = Slot(walk);
  // Taken by another fault, or by the same walk, which is done a second time.
  uint64_t free = 0;
  if (!m->walk.compare_exchange_strong(free, kClaimed)) return;
  Save(&m->before, *trace);
  int32_t at = 0;
  if (what < kDelay) {
    at = Alter(what, trace, depth, place, draws);
    if (at < 0 || Same(m->before, *trace)) {
      trace->num_frames = m->before.count;
      std::memcpy(trace->frames, m->before.frames, static_cast<size_t>(m->before.count) * sizeof(Frame));
      m->walk.store(0, std::memory_order_release);
      return;
    }
  }
  Save(&m->after, *trace);
  Remember(m->before.frames, m->before.count);
  m->walk.store(walk, std::memory_order_release);
  LogFault(what, walk, at_entry, at, m->before.count, trace->num_frames);
  Misbehave(what);
}

// How far down from the top, in instrumented frames, the alteration of a walk reaches; 0 when it leaves them as they
// are.
int32_t Reach(const Made& m, uint32_t (*key_of)(uint64_t, int32_t), uint32_t* flags) {
  bool methods = m.before.count != m.after.count;
  for (int32_t i = 0; i < m.before.count && i < m.after.count; i++) {
    methods = methods || m.before.frames[i].method != m.after.frames[i].method;
  }
  if (methods) *flags |= kMethodsChanged;
  // Keys, bottom first. Verdicts come from more than one thread, but their stacks are large.
  uint32_t keys[2][kMostFrames];
  int32_t sizes[2] = {};
  for (int side = 0; side < 2; side++) {
    const Copy& c = side == 0 ? m.before : m.after;
    for (int32_t i = c.count - 1; i >= 0; i--) {
      const uint32_t key = key_of(c.frames[i].method, c.frames[i].bci);
      if (key != 0) keys[side][sizes[side]++] = key;
    }
  }
  int32_t common = 0;
  while (common < sizes[0] && common < sizes[1] && keys[0][common] == keys[1][common]) common++;
  return (sizes[0] > sizes[1] ? sizes[0] : sizes[1]) - common;
}

// Whether two answers are equal below their top physical frames, which are of one method.
bool TopOnly(const Made& m, uint64_t pc, uint32_t (*top_of)(uint64_t, const Frame*, uint32_t)) {
  if (m.before.count <= 0 || m.after.count <= 0) return false;
  const auto below = [&](const Copy& c) {
    return c.count - static_cast<int32_t>(top_of(pc, c.frames, static_cast<uint32_t>(c.count)));
  };
  const int32_t n = below(m.before);
  if (n == m.before.count || n == m.after.count) return false;
  const auto compiled = [&](const Copy& c) { return c.frames[c.count - n - 1].method; };
  return n == below(m.after) && compiled(m.before) == compiled(m.after) &&
         std::equal(m.before.frames + m.before.count - n, m.before.frames + m.before.count,
                    m.after.frames + m.after.count - n);
}

void FindReal() {
  if (state.real.load(std::memory_order_relaxed) != nullptr) return;
  void* jvm = dlopen("libjvm.so", RTLD_NOW | RTLD_NOLOAD);
  if (jvm == nullptr) return;
  state.real.store(reinterpret_cast<Asgct>(dlsym(jvm, "AsyncGetCallTrace")), std::memory_order_release);
  dlclose(jvm);
}

[[noreturn]] void Refuse(const char* why, const char* what) {
  std::fprintf(stderr, "injector: %s: %s\n", why, what);
  std::_Exit(97);
}

void ReadClasses(const char* text) {
  while (*text != 0) {
    const size_t length = std::strcspn(text, ",");
    int32_t found = -1;
    for (int32_t i = 0; i < kClassCount; i++) {
      if (std::strlen(kClasses[i]) == length && std::strncmp(kClasses[i], text, length) == 0) found = i;
    }
    if (found < 0 || state.class_count == kClassCount) Refuse("no such class, or too many", text);
    state.classes[state.class_count++] = found;
    text += length;
    if (*text == ',') text++;
  }
}

// The arguments of this process, each ended by a zero, and an empty one at the end.
struct Arguments {
  char text[64 << 10];
  Arguments() : text{} {
    const int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    size_t size = 0;
    for (ssize_t n = 1; fd >= 0 && n > 0 && size + 2 < sizeof(text); size += static_cast<size_t>(n)) {
      n = read(fd, text + size, sizeof(text) - 2 - size);
      if (n < 0) Refuse("cannot read", "/proc/self/cmdline");
    }
    if (fd >= 0) close(fd);
  }
  bool Has(const char* word, size_t length) const {
    for (const char* a = text; *a != 0; a += std::strlen(a) + 1) {
      if (std::strlen(a) == length && std::strncmp(a, word, length) == 0) return true;
    }
    return false;
  }
  // The seed in the agent's options, 0 without an agent.
  uint64_t Seed() const {
    for (const char* a = text; *a != 0; a += std::strlen(a) + 1) {
      const char* seed = std::strncmp(a, "-agentpath:", 11) == 0 ? std::strstr(a, ",seed=") : nullptr;
      if (seed != nullptr) return std::strtoull(seed + 6, nullptr, 10);
    }
    return 0;
  }
};

// Whether this JVM injects, by the recipe that it runs; sets the seed where that is the recipe's.
bool Chosen(const char* trials, double share, const char* needs) {
  if (trials == nullptr && needs == nullptr) return true;
  static Arguments arguments;
  while (needs != nullptr && *needs != 0) {
    const size_t length = std::strcspn(needs, ",");
    if (!arguments.Has(needs, length)) return false;
    needs += length + (needs[length] == ',' ? 1 : 0);
  }
  if (trials == nullptr) return true;
  state.seed = arguments.Seed();
  return state.seed != 0 && static_cast<double>(Mix(~state.seed) >> 11) * 0x1p-53 < share;
}

__attribute__((constructor)) void Start() {
  const char* path = std::getenv("MISSTEP_INJECT_LOG");
  if (path == nullptr) return;
  const auto number = [](const char* name, double otherwise) {
    const char* text = std::getenv(name);
    if (text == nullptr) return otherwise;
    char* end = nullptr;
    const double value = std::strtod(text, &end);
    if (end == text || *end != 0 || !(value >= 0)) Refuse("no number in", name);
    return value;
  };
  state.rate = number("MISSTEP_INJECT_RATE", 0);
  state.seed = static_cast<uint64_t>(number("MISSTEP_INJECT_SEED", 1));
  state.delay_micros = static_cast<uint64_t>(number("MISSTEP_INJECT_MICROS", 20000));
  const char* where = std::getenv("MISSTEP_INJECT_WHERE");
  state.at_signal = where == nullptr || std::strcmp(where, "entry") != 0;
  state.at_entry = where == nullptr || std::strcmp(where, "signal") != 0;
  const char* classes = std::getenv("MISSTEP_INJECT_CLASSES");
  if (classes != nullptr) ReadClasses(classes);
  const char* trials = std::getenv("MISSTEP_INJECT_TRIALS");
  if (!Chosen(trials, number("MISSTEP_INJECT_TRIALS", 1), std::getenv("MISSTEP_INJECT_NEEDS"))) return;
  state.place = std::getenv("MISSTEP_INJECT_METHOD");
  state.no_thread = static_cast<uint32_t>(number("MISSTEP_INJECT_NO_THREAD", 0));
  state.methods = Reserve<Known>(kMostMethods);
  state.previous = Reserve<Previous>(kMostThreads);
  state.made = Reserve<Made>(kMostMade);
  // Only the first process of a tree makes the log: a launcher that starts itself again finds it made.
  const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0 || ftruncate(fd, sizeof(Log)) != 0) Refuse("cannot make the log", path);
  void* memory = mmap(nullptr, sizeof(Log), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (memory == MAP_FAILED || state.previous == nullptr || state.made == nullptr || state.methods == nullptr)
    Refuse("cannot map the log", path);
  auto* log = static_cast<Log*>(memory);
  log->magic = kMagic;
  state.log = log;
}

}  // namespace

extern "C" {

// libjvm is loaded when the launcher starts the main thread with this: the place to look for the real function, which
// must not be done in a signal handler.
__attribute__((visibility("default"))) int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                                          void* (*run)(void*), void* argument) {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  FindReal();
  Dl_info owner;
  if (state.no_thread != 0 && dladdr(reinterpret_cast<void*>(run), &owner) != 0 &&
      std::strstr(owner.dli_fname, "libmisstep.so") != nullptr && ++state.agent_threads == state.no_thread) {
    return EAGAIN;
  }
  return reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"))(thread, attributes, run, argument);
}

__attribute__((visibility("default"))) void misstep_seam_walk(uint64_t walk) { this_walk = walk; }

__attribute__((visibility("default"))) void misstep_seam_verdict(
    uint64_t walk, const char* check, uint32_t outcome, const char* detail,
    uint32_t (*key_of)(uint64_t method, int32_t bci), uint64_t pc,
    uint32_t (*top_of)(uint64_t pc, const Frame* frames, uint32_t count), bool (*java_at)(uint64_t pc)) {
  if (state.log == nullptr) return;
  const Made* m = Slot(walk);
  if (m->walk.load(std::memory_order_acquire) != walk) return;
  Entry* e = NextEntry();
  if (e == nullptr) return;
  e->walk = walk;
  e->nanos = Nanos();
  e->before = m->before.count;
  e->after = m->after.count;
  e->position = Reach(*m, key_of, &e->flags);
  if (pc != 0 && TopOnly(*m, pc, top_of)) e->flags |= kTopOnly;
  if (pc != 0 && java_at(pc)) e->flags |= kInJava;
  e->outcome = outcome;
  Put(e->name, check);
  Put(e->detail, detail);
  e->kind.store(kVerdict, std::memory_order_release);
}

__attribute__((visibility("default"))) void AsyncGetCallTrace(Trace* trace, int32_t depth, void* context) {
  const uint64_t walk = this_walk;
  this_walk = 0;
  const Asgct real = state.real.load(std::memory_order_acquire);
  if (real == nullptr) {
    trace->num_frames = -16;  // no code of HotSpot's: whoever counts it sees that nothing was walked
    return;
  }
  real(trace, depth, context);
  if (state.log == nullptr || walk == 0) return;
  const uint64_t n = state.log->walks.fetch_add(1, std::memory_order_relaxed);
  const bool at_entry = context == nullptr;
  const int32_t count = trace->num_frames;
  if (count <= 0 || count > kMostFrames) return;
  Draws draws = {Mix(state.seed) ^ Mix(n)};
  const bool here = at_entry ? state.at_entry : state.at_signal;
  const bool hit = static_cast<double>(draws.Next() >> 11) * 0x1.0p-53 < state.rate;
  int32_t place = -1;
  bool through = true;
  if (state.place != nullptr) {
    place = PlaceIn(*trace, at_entry ? trace->env : nullptr);
    through = place >= 0;
  }
  if (here && hit && through && state.class_count > 0) {
    Inject(trace, depth, place, walk, at_entry, &draws);
  } else {
    Remember(trace->frames, count);
  }
}

}  // extern "C"
