// The sampler's protocol and the tables that threads share, without a JVM: threads start and end under real signals,
// with the test's own walker in place of ASGCT. Meant for ThreadSanitizer, but valid under the others, too.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "agent.h"
#include "clock.h"
#include "handler.h"
#include "random.h"
#include "rules.h"

namespace misstep {
namespace {

constexpr uint32_t kMethods = 16;
constexpr uint64_t kFirstMethod = 0x1000;  // the jmethodID of key 1

// What a walker without faults would give: the thread's shadow.
void Walk(AsgctTrace* trace, jint depth, void*) {
  const uint64_t* shadow = Threads::Current()->shadow;
  const auto size = static_cast<jint>(std::min<uint64_t>(ShadowSize(shadow), static_cast<uint64_t>(depth)));
  for (jint i = 0; i < size; i++) {
    const uint64_t id = shadow[MISSTEP_SHADOW_HEADER / 8 + static_cast<uint64_t>(size - 1 - i)];
    trace->frames[i] = {1, reinterpret_cast<jmethodID>(kFirstMethod + id - 1)};
  }
  trace->num_frames = size;
}

void Push(Slot* slot, uint64_t id) {
  volatile uint64_t* top = slot->shadow + MISSTEP_SHADOW_TOP / 8;
  *reinterpret_cast<volatile uint64_t*>(*top) = id;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  *top = *top + MISSTEP_SHADOW_ENTRY;
}

void Pop(Slot* slot) {
  volatile uint64_t* top = slot->shadow + MISSTEP_SHADOW_TOP / 8;
  *top = *top - MISSTEP_SHADOW_ENTRY;
}

// The life of one thread: it calls and returns, long enough to be found running.
void Live(uint64_t seed) {
  Slot* slot = agent->threads.Attach(nullptr, agent->vm, agent->status, "t" + std::to_string(seed));
  ASSERT_NE(slot, nullptr);
  uint64_t random = seed;
  const uint64_t end = MonotonicNanos() + 2'000'000 + NextRandom(&random) % 4'000'000;
  Push(slot, 1);  // its root
  int depth = 1;
  while (MonotonicNanos() < end) {  // the clock is also where the sanitizers deliver signals
    if (depth > 1 && (depth > 30 || NextRandom(&random) % 2 == 0)) {
      Pop(slot);
      depth--;
    } else {
      Push(slot, 2 + NextRandom(&random) % (kMethods - 1));
      depth++;
    }
  }
  agent->threads.End();
}

Registration Class(const std::string& name, uint32_t first_id) {
  Registration r;
  r.class_name = name;
  r.first_id = first_id;
  for (uint32_t i = 0; i < kMethods; i++) r.methods.push_back({"m" + std::to_string(i) + "()V", 0, {}});
  return r;
}

void Publish(MethodTable* table, const std::string& name, uint64_t first_method) {
  std::vector<PreparedMethod> prepared;
  for (uint32_t i = 0; i < kMethods; i++) {
    prepared.push_back({first_method + i, "m" + std::to_string(i), "()V", false});
  }
  table->Publish(name, prepared, table->Registrations(name));
}

class Folder {
 public:
  Folder() { EXPECT_NE(mkdtemp(path_), nullptr); }
  ~Folder() {
    for (const char* file : {"/status.bin", "/mismatches.jsonl"}) unlink((std::string(path_) + file).c_str());
    rmdir(path_);
  }
  std::string path() const { return path_; }

 private:
  char path_[32] = "/tmp/misstep-protocol-XXXXXX";
};

// Starts the agent's sampler with a walker in ASGCT's place.
void StartAgent(const Folder& folder, const std::string& sampling, AsgctFunction walker, JavaVM* vm = nullptr) {
  auto a = std::make_unique<Agent>();
  a->vm = vm;
  const std::string options =
      "out=" + folder.path() + ",seed=7,gst-asgct=0,shadow-gst=0,jitter=0.5,liveness=5,depth=64," + sampling;
  ASSERT_EQ(ParseOptions(options, &a->options), "");
  std::string error;
  a->status = CreateStatus(folder.path() + "/status.bin", &error);
  ASSERT_NE(a->status, nullptr) << error;
  ASSERT_EQ(a->recorder.Open(folder.path() + "/mismatches.jsonl", 8), "");
  a->asgct = walker;
  ASSERT_EQ(a->methods.Reserve(kMethods), 1u);
  a->methods.Register(Class("T", 1));
  Publish(&a->methods, "T", kFirstMethod);
  agent = a.release();  // never freed: its handler stays installed
  ASSERT_EQ(InstallHandler(*agent), "");
  agent->StartChecks();
}

void VerdictsAddUp(const CheckStatus& c) {
  uint64_t sum = c.match + c.mismatch;
  for (const auto& n : c.tolerated) sum += n.count;
  for (const auto& n : c.unwalkable) sum += n;
  for (const auto& n : c.voided) sum += n.count;
  EXPECT_EQ(c.total, sum);
  EXPECT_EQ(c.total, agent->status->sent);
}

// Runs the sampler over threads that come and go, and asks for one verdict of each signal.
void EverySignalGetsOneVerdict(const std::string& sampling) {
  const Folder folder;
  StartAgent(folder, sampling, Walk);
  if (testing::Test::HasFatalFailure()) return;
  std::atomic<uint64_t> seeds = 0;
  std::vector<std::thread> starters;
  starters.reserve(6);
  for (int i = 0; i < 6; i++) {
    starters.emplace_back([&] {
      while (seeds.load() < 600) std::thread(Live, ++seeds).join();
    });
  }
  for (std::thread& s : starters) s.join();
  agent->StopChecks();

  const CheckStatus& c = agent->status->checks[static_cast<int>(Check::kAsgctShadow)];
  VerdictsAddUp(c);
  EXPECT_GT(c.match, 100u);
  std::ifstream records(folder.path() + "/mismatches.jsonl");
  EXPECT_EQ(c.mismatch, 0u) << std::string(std::istreambuf_iterator<char>(records), {});
  EXPECT_LE(agent->status->delivered, agent->status->sent);
  EXPECT_GT(agent->status->checks[static_cast<int>(Check::kLiveness)].total, 0u);
  EXPECT_LE(agent->threads.size(), 64u) << "slots are used again";
  for (size_t i = 0; i < agent->threads.size(); i++) {
    EXPECT_EQ(agent->threads.at(i)->status->tid, 0u) << "no thread is left";
  }
}

// By the threads' own timers.
TEST(Protocol, TurnsGiveEachSignalOneVerdict) { EverySignalGetsOneVerdict("interval=50,signal=SIGPROF"); }

// By the sampler's signals: bursts are never a thread's own.
TEST(Protocol, BurstsGiveEachSignalOneVerdict) { EverySignalGetsOneVerdict("interval=50,burst=2,signal=SIGURG"); }

// Runs until so many more signals were delivered, ten seconds at most.
void RunFor(uint64_t signals) {
  const uint64_t enough = agent->status->delivered + signals;
  for (const uint64_t end = MonotonicNanos() + 10'000'000'000; MonotonicNanos() < end;) {
    if (agent->status->delivered >= enough) return;
  }
}

// Ticks come faster than the judge takes samples: what finds no room is counted.
TEST(Protocol, TicksWithoutRoomAreOverrun) {
  const Folder folder;
  StartAgent(folder, "interval=10,signal=SIGRTMIN+1", Walk);
  if (HasFatalFailure()) return;
  const CheckStatus& c = agent->status->checks[static_cast<int>(Check::kAsgctShadow)];
  const auto& overrun = c.voided[static_cast<int>(Reason::kOverrun) - 1].count;
  std::thread([&] {
    Slot* slot = agent->threads.Attach(nullptr, agent->vm, agent->status, "t");
    ASSERT_NE(slot, nullptr);
    Push(slot, 1);
    for (const uint64_t end = MonotonicNanos() + 10'000'000'000; overrun == 0 && MonotonicNanos() < end;) {
    }
    agent->threads.End();
  }).join();
  agent->StopChecks();
  EXPECT_GT(overrun, 0u);
  EXPECT_GT(c.match, 0u);
  VerdictsAddUp(c);
}

std::atomic<bool> in_other_handler = false;

// As Walk, but in the handler of another signal, where the walker finds what has nothing to do with the thread.
void WalkWrongInOtherHandler(AsgctTrace* trace, jint depth, void* context) {
  Walk(trace, depth, context);
  if (in_other_handler && trace->num_frames > 0)
    trace->frames[0].method = reinterpret_cast<jmethodID>(kFirstMethod + 5);
}

const std::atomic<uint64_t>& OtherHandler() {
  const CheckStatus& c = agent->status->checks[static_cast<int>(Check::kAsgctShadow)];
  return c.voided[static_cast<int>(Reason::kOtherHandler) - 1].count;
}

// A signal that interrupts another one's handler says nothing about the program, and the next one does again.
TEST(Protocol, ASampleOfAnotherHandlerIsVoid) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer delivers the inner signal after the outer one's handler";
#endif
  const Folder folder;
  StartAgent(folder, "interval=50,signal=SIGURG", WalkWrongInOtherHandler);
  if (HasFatalFailure()) return;
  struct sigaction other = {};
  other.sa_handler = [](int) {
    in_other_handler = true;
    for (const uint64_t end = MonotonicNanos() + 10'000'000'000; OtherHandler() < 5 && MonotonicNanos() < end;) {
    }
    in_other_handler = false;
  };
  ASSERT_EQ(sigaction(SIGUSR2, &other, nullptr), 0);
  const CheckStatus& c = agent->status->checks[static_cast<int>(Check::kAsgctShadow)];
  std::thread([&] {
    Slot* slot = agent->threads.Attach(nullptr, agent->vm, agent->status, "t");
    ASSERT_NE(slot, nullptr);
    Push(slot, 1);
    raise(SIGUSR2);
    for (const uint64_t end = MonotonicNanos() + 10'000'000'000; c.match == 0 && MonotonicNanos() < end;) {
    }
    agent->threads.End();
  }).join();
  agent->StopChecks();
  EXPECT_GE(OtherHandler(), 5u);
  EXPECT_GT(c.match, 0u);
  EXPECT_EQ(c.mismatch, 0u);
  VerdictsAddUp(c);
}

// As Walk, below a method that no event describes.
void WalkBelowUnknown(AsgctTrace* trace, jint depth, void* context) {
  Walk(trace, depth - 1, context);
  if (trace->num_frames <= 0) return;
  std::move_backward(trace->frames, trace->frames + trace->num_frames, trace->frames + trace->num_frames + 1);
  trace->frames[0] = {1, reinterpret_cast<jmethodID>(kFirstMethod + kMethods)};
  trace->num_frames++;
}

// The rest of such a walk agrees with the shadow, so that it would match: whether it waits for its time, or finds no
// room to wait, it does not.
TEST(Protocol, AnUnknownMethodNeverMatches) {
  const Folder folder;
  StartAgent(folder, "interval=1000,edges=1,signal=SIGRTMIN+2", WalkBelowUnknown);
  if (HasFatalFailure()) return;
  agent->most_deferred = 16;
  std::thread([&] {
    Slot* slot = agent->threads.Attach(nullptr, agent->vm, agent->status, "t");
    ASSERT_NE(slot, nullptr);
    Push(slot, 1);
    RunFor(300);
    agent->threads.End();
  }).join();
  agent->StopChecks();
  const CheckStatus& c = agent->status->checks[static_cast<int>(Check::kAsgctShadow)];
  EXPECT_GT(c.voided[static_cast<int>(Reason::kOverrun) - 1].count, 0u);
  EXPECT_GT(c.mismatch, 0u) << "those that waited";
  EXPECT_EQ(c.match, 0u);
  VerdictsAddUp(c);
}

std::atomic<uint64_t> walks_of[2];

// Counts for which thread it was asked.
void CountingWalk(AsgctTrace* trace, jint depth, void* context) {
  Walk(trace, depth, context);
  walks_of[Threads::Current()->name == "idle"]++;
}

// Samples of a thread that always runs, and of one that seldom does. The option says which is chosen.
std::pair<uint64_t, uint64_t> SamplesOf(const std::string& choice, const std::string& signal, bool both_run) {
  const Folder folder;
  walks_of[0] = walks_of[1] = 0;
  StartAgent(folder, "interval=1000,threads=" + choice + ",signal=" + signal, CountingWalk);
  if (testing::Test::HasFatalFailure()) return {};
  std::atomic<bool> end = false;
  const auto live = [&](bool idle) {
    Slot* slot = agent->threads.Attach(nullptr, agent->vm, agent->status, idle ? "idle" : "busy");
    ASSERT_NE(slot, nullptr);
    Push(slot, 1);
    while (!end) {
      const uint64_t until = MonotonicNanos() + 2'000'000;
      while (MonotonicNanos() < until) {
      }
      if (idle && !both_run) std::this_thread::sleep_for(std::chrono::milliseconds(48));
    }
    agent->threads.End();
  };
  std::thread busy(live, false);
  std::thread idle(live, true);
  constexpr uint64_t kEnough = 1600;  // a busy machine may keep a thread off its processors for a tenth of a second
  for (const uint64_t limit = MonotonicNanos() + 20'000'000'000; MonotonicNanos() < limit;) {
    if (walks_of[0] + walks_of[1] >= kEnough) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  end = true;
  busy.join();
  idle.join();
  agent->StopChecks();
  return {walks_of[0], walks_of[1]};
}

TEST(Protocol, ThreadsAreChosenInTurn) {
  const auto [one, other] = SamplesOf("round-robin", "SIGRTMIN+2", true);
  EXPECT_GT(3 * one, other);
  EXPECT_GT(3 * other, one);
  EXPECT_GT(one + other, 1200u);
}

TEST(Protocol, ThreadsAreChosenByTheirCpuTime) {
  const auto [busy, idle] = SamplesOf("cpu", "SIGRTMIN+3", false);
  EXPECT_GT(busy, 3 * idle);
  EXPECT_GT(idle, 0u);
}

TEST(Protocol, ThreadsAreChosenByName) {
  const auto [busy, idle] = SamplesOf("name:idl*", "SIGRTMIN+4", true);
  EXPECT_EQ(busy, 0u);
  EXPECT_GT(idle, 300u);
}

// What a walker gives that has lost the two frames on top, of one compiled method.
void WalkBelow(AsgctTrace* trace, jint depth, void* context) {
  Walk(trace, depth, context);
  if (trace->num_frames < 3) return;
  trace->num_frames -= 2;
  std::copy_n(trace->frames + 2, trace->num_frames, trace->frames);
}

// The JVM ends before the event comes that explains the last samples: they wait for it.
TEST(Protocol, TheLastSamplesAreNotJudgedEarly) {
  const Folder folder;
  StartAgent(folder, "interval=500,burst=2,signal=SIGVTALRM", WalkBelow);
  if (HasFatalFailure()) return;
  agent->code.AddStub("everywhere", 1, UINT64_MAX - 1);
  uint64_t began = 0;
  std::thread([&] {
    Slot* slot = agent->threads.Attach(nullptr, agent->vm, agent->status, "t");
    ASSERT_NE(slot, nullptr);
    for (uint64_t id = 1; id <= 3; id++) Push(slot, id);
    began = MonotonicNanos();
    RunFor(1);
    agent->threads.End();
  }).join();
  uint64_t loaded = 0;
  std::thread event([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const MethodInfo* outer = agent->methods.Find(kFirstMethod + 1);
    const MethodInfo* inlined = agent->methods.Find(kFirstMethod + 2);
    NmethodBuilder compiled(1 << 20, 100, kFirstMethod + 1);
    compiled.Add(std::vector<Frame>{{kFirstMethod + 2, 1, inlined}, {kFirstMethod + 1, 1, outer}});
    agent->code.Load(compiled.Take(), outer->key, MonotonicNanos());
    loaded = MonotonicNanos();
  });
  agent->StopChecks();
  event.join();
  if (loaded - began > 200'000'000) GTEST_SKIP() << "the machine is too busy: the event came after the wait for it";
  const CheckStatus& c = agent->status->checks[static_cast<int>(Check::kAsgctShadow)];
  EXPECT_EQ(c.mismatch, 0u);
  EXPECT_GT(c.tolerated[static_cast<int>(Rule::kTopFrameMissing) - 1].count, 0u);
}

// Samples of a walk that has lost its top, which code could explain of which nobody tells; sender sends the events.
void RunWithSender(const char* signal, int32_t sender) {
  const Folder folder;
  StartAgent(folder, std::string("interval=500,burst=2,signal=") + signal, WalkBelow);
  if (testing::Test::HasFatalFailure()) return;
  agent->sender = sender;
  agent->code.AddStub("everywhere", 1, UINT64_MAX - 1);
  std::thread([&] {
    Slot* slot = agent->threads.Attach(nullptr, agent->vm, agent->status, "t");
    ASSERT_NE(slot, nullptr);
    for (uint64_t id = 1; id <= 3; id++) Push(slot, id);
    RunFor(1);
    agent->threads.End();
  }).join();
  agent->StopChecks();
}

TEST(Protocol, ADifferenceIsNoneWhileEventsAreLate) {
  std::atomic<int32_t> sender = 0;
  std::atomic<bool> end = false;
  std::thread busy([&] {
    sender = static_cast<int32_t>(gettid());
    while (!end) {
    }
  });
  while (sender == 0) std::this_thread::yield();
  RunWithSender("SIGRTMIN+5", sender);
  end = true;
  busy.join();
  const CheckStatus& c = agent->status->checks[static_cast<int>(Check::kAsgctShadow)];
  EXPECT_EQ(c.mismatch, 0u);
  EXPECT_GT(c.voided[static_cast<int>(Reason::kEventsLate) - 1].count, 0u);
  VerdictsAddUp(c);
}

TEST(Protocol, ADifferenceIsOneWhenEventsHaveCome) {
  RunWithSender("SIGRTMIN+6", 0);
  const CheckStatus& c = agent->status->checks[static_cast<int>(Check::kAsgctShadow)];
  EXPECT_GT(c.mismatch, 0u);
  EXPECT_EQ(c.voided[static_cast<int>(Reason::kEventsLate) - 1].count, 0u);
  VerdictsAddUp(c);
}

constexpr uint64_t kLoadClass = 0x9000;

// What a walker gives that loses all below an upcall of the VM: method 3 is the thread's bottom, method 2 is called by
// the upcall, and method 1 lies below it.
void WalkToTheUpcall(AsgctTrace* trace, jint depth, void* context) {
  Walk(trace, depth, context);
  const auto id = [&](jint i) { return reinterpret_cast<uint64_t>(trace->frames[i].method) - kFirstMethod + 1; };
  if (trace->num_frames > 0 && id(trace->num_frames - 1) == 3) return;
  if (trace->num_frames > 0 && id(0) != 2) trace->num_frames = 0;
  trace->frames[trace->num_frames++] = {1, reinterpret_cast<jmethodID>(kLoadClass)};
}

// A walk that ends at an upcall agrees with a shadow on which nothing lay below it. That makes no known bottom of it,
// at which a walk that misses all of its shadow could be one that misses its top.
TEST(Protocol, AnUpcallIsNoKnownBottom) {
  const Folder folder;
  StartAgent(folder, "interval=500,burst=2,signal=SIGIO", WalkToTheUpcall);
  if (HasFatalFailure()) return;
  agent->code.AddStub("everywhere", 1, UINT64_MAX - 1);
  constexpr const char* kDescriptor = "(Ljava/lang/String;)Ljava/lang/Class;";
  const std::vector<PreparedMethod> upcall = {{kLoadClass, "loadClass", kDescriptor, false}};
  agent->methods.Publish("Loader", upcall, {});
  const CheckStatus& c = agent->status->checks[static_cast<int>(Check::kAsgctShadow)];
  std::thread([&] {
    Slot* slot = agent->threads.Attach(nullptr, agent->vm, agent->status, "t");
    ASSERT_NE(slot, nullptr);
    for (const std::vector<uint64_t>& stack : {std::vector<uint64_t>{3, 1}, {2}, {1}}) {
      for (const uint64_t id : stack) Push(slot, id);
      RunFor(3);
      for (size_t i = 0; i < stack.size(); i++) Pop(slot);
    }
    agent->threads.End();
  }).join();
  agent->StopChecks();
  EXPECT_GT(c.match, 0u);
  EXPECT_GT(c.mismatch, 0u);
  EXPECT_EQ(c.tolerated[static_cast<int>(Rule::kTopFrameMissing) - 1].count, 0u);
}

TEST(Shared, TablesTakeManyThreads) {
  MethodTable table;
  CodeMap code;
  std::atomic<bool> done = false;
  std::thread reader([&] {
    std::vector<NmethodRef> at;
    while (!done) {
      std::vector<Frame> frames(4);
      for (uint64_t i = 0; i < 4; i++) frames[i].method = 100 * i;
      table.Resolve(frames);
      for (const Frame& f : frames) {
        if (f.info != nullptr) {
          EXPECT_EQ(f.info->class_name.substr(0, 1), "C");
        }
      }
      std::vector<uint32_t> ids = {1, 50, 5000};
      table.KeysOf(ids);
      table.NameOfKey(ids[0]);
      code.Find(1050, &at);
      code.OfKey(1);
    }
  });
  std::vector<std::thread> writers;
  for (int w = 0; w < 3; w++) {
    writers.emplace_back([&, w] {
      for (uint64_t i = 0; i < 100; i++) {
        const uint64_t n = i * 3 + static_cast<uint64_t>(w);
        const std::string name = "C" + std::to_string(n);
        table.Register(Class(name, table.Reserve(kMethods)));
        Publish(&table, name, 100 * n);
        code.Load({.start = 1000 * n, .size = 100, .method = 100 * n, .nodes = {}, .methods = {}}, 1, n);
        if (n % 2 == 0) code.Unload(1000 * n, n);
      }
    });
  }
  for (std::thread& w : writers) w.join();
  done = true;
  reader.join();
  EXPECT_EQ(table.instrumented(), 300u * kMethods);
}

TEST(Shared, RecordsAreWholeLines) {
  const Folder folder;
  const std::string path = folder.path() + "/mismatches.jsonl";
  Recorder recorder;
  ASSERT_EQ(recorder.Open(path, 1000), "");
  std::vector<std::thread> reporters;
  for (int w = 0; w < 4; w++) {
    reporters.emplace_back([&, w] {
      for (int i = 0; i < 50; i++) {
        Mismatch m;
        m.check = Check::kGstAsgct;
        m.verdict = Verdict::Mismatch(Kind::kTruncated, 0);
        const std::string method = "m" + std::to_string(i % 10 * 4 + w);
        m.reference = {.source = "gst", .frames = {{{"C", method, "()V"}, 0}}, .num_frames = 1};
        m.suspect = {.source = "asgct", .frames = {}, .num_frames = 0};
        recorder.Report(m);
      }
    });
  }
  for (std::thread& r : reporters) r.join();
  std::ifstream in(path);
  int lines = 0;
  for (std::string line; std::getline(in, line); lines++) {
    EXPECT_EQ(line.front(), '{');
    EXPECT_NE(line.find("\"count\":\"5\""), std::string::npos) << line;
  }
  EXPECT_EQ(lines, 40);
}

#ifdef MISSTEP_ASSERT

// A JVM that knows every thread knows the sampler.
TEST(RulesDeathTest, TheSamplerIsNoThreadOfTheJvm) {
  const Folder folder;
  JNIInvokeInterface_ functions = {};
  functions.GetEnv = [](JavaVM*, void**, jint) -> jint { return JNI_OK; };
  JavaVM vm = {&functions};
  const auto run = [&] {
    StartAgent(folder, "interval=500,signal=SIGPROF", Walk, &vm);
    std::this_thread::sleep_for(std::chrono::seconds(60));
  };
  EXPECT_DEATH(run(), "rule 1 is broken at (sampler|judge).cpp:.*Run");
}

TEST(RulesDeathTest, ThreadsThatStayOutsideCallNothing) {
  StayOutside();
  EXPECT_DEATH(MaySafepoint(), "rule 1 is broken at protocol_test.cpp:.*ThreadsThatStayOutsideCallNothing");
}

TEST(RulesDeathTest, NoThreadIsLetGoWithAHandlerAtWork) {
  const Folder folder;
  StartAgent(folder, "interval=500,signal=SIGPROF", Walk);
  if (HasFatalFailure()) return;
  agent->StopChecks();
  Slot* slot = agent->threads.Attach(nullptr, agent->vm, agent->status, "t");
  ASSERT_NE(slot, nullptr);
  slot->tickets[0].state = TicketState::kFilling;
  EXPECT_DEATH(agent->threads.End(), "rule 2 is broken at threads.cpp:.*End");
}

TEST(RulesDeathTest, NoLockIsHeldAcrossASafepoint) {
  Mutex mutex;
  {
    const ReadLock lock(mutex);
  }
  MaySafepoint();
  const ReadLock lock(mutex);
  EXPECT_DEATH(MaySafepoint(), "rule 3 is broken at protocol_test.cpp:.*NoLockIsHeldAcrossASafepoint");
}

#endif

}  // namespace
}  // namespace misstep
