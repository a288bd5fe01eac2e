// Taps of handlers with real signals and threads, without a JVM. Meant for both sanitizers.
#include "tap.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "clock.h"
#include "state.h"
#include "threads.h"

namespace misstep {
namespace {

std::atomic<uint64_t> calls_of_a = 0;
std::atomic<uint64_t> calls_of_b = 0;
std::atomic<uint64_t> calls_of_plain = 0;
std::atomic<int> raised_in_a = 0;
std::atomic<int> errno_in_a = 0;
struct sigaction before_b = {};

void HandlerA(int, siginfo_t* info, void* context) {
  const int interrupted_errno = errno;
  errno_in_a = interrupted_errno;
  if (info != nullptr && context != nullptr) calls_of_a++;
  if (const int signal = raised_in_a.exchange(0); signal != 0) raise(signal);
  errno = interrupted_errno;
}

// One that hands on what stood there before.
void HandlerB(int signal, siginfo_t* info, void* context) {
  calls_of_b++;
  before_b.sa_sigaction(signal, info, context);
}

void PlainHandler(int) { calls_of_plain++; }

struct sigaction Install(int signal, void (*handler)(int, siginfo_t*, void*), int flags = 0) {
  struct sigaction action = {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_RESTART | flags;
  sigaddset(&action.sa_mask, SIGWINCH);
  struct sigaction before = {};
  EXPECT_EQ(sigaction(signal, &action, &before), 0);
  return before;
}

// The agent's state: never destroyed, as the handlers stay installed.
State& KnownState() {
  static State& state = *new State();
  return state;
}

struct Call {
  uint32_t tid, signal, flags, generation, nested, depth;
  uint64_t begin_nanos, end_nanos;
  std::vector<uint32_t> entries;
  uint64_t pc, sp;
  std::vector<uint8_t> code;
  int32_t result;
  std::vector<uint64_t> methods;  // of the walk's frames
};

// Raises a signal on a thread that has a slot, on its own stack, after before was called with that.
void RaiseOnThread(int signal, const std::function<void(Slot*)>& before = [](Slot*) {}) {
  std::thread([&] {
    static StatusFile status = {};
    Slot* slot = KnownState().threads.Attach(nullptr, nullptr, &status, "t");
    ASSERT_NE(slot, nullptr);
    before(slot);
    raise(signal);
    slot->status->phase = MISSTEP_PHASE_NONE;
    KnownState().threads.End();
  }).join();
}

// A walker that returns three frames, and notes what the flight record says of it.
std::atomic<uint32_t> phase_of_walk = 0;
std::atomic<int> raised_in_walk = 0;
void WalkThree(AsgctTrace* trace, jint depth, void* context) {
  phase_of_walk = Threads::Current()->status->phase.load();
  if (const int signal = raised_in_walk.exchange(0); signal != 0) raise(signal);
  if (context == nullptr || depth < 3) return;
  for (int i = 0; i < 3; i++) trace->frames[i] = {i, reinterpret_cast<jmethodID>(uintptr_t{8} * (i + 1u))};
  trace->num_frames = 3;
}

class Tap : public testing::Test {
 protected:
  void SetUp() override {
    // Never freed: the handlers stay installed.
    static std::vector<std::unique_ptr<TapBuffers>> all;
    all.push_back(std::make_unique<TapBuffers>());
    buffers_ = all.back().get();
    ASSERT_TRUE(buffers_->Allocate());
    void* memory = mmap(nullptr, sizeof(TapHeader), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    header_ = static_cast<TapHeader*>(memory);
    KnownState().options = Options();
    KnownState().options.depth = 64;
    KnownState().options.tap_asgct = 0;
    Taps::Start(&KnownState(), buffers_, header_);
    calls_of_a = calls_of_b = calls_of_plain = 0;
  }
  // A signal of each test's own, as taps stay for good.
  static int FreshSignal() {
    static int next = SIGRTMIN + 8;
    return next++;
  }
  bool Look(int signal) {
    return Taps::Look(0, signal,
                      [&](int, uint32_t generation, const struct sigaction&) { found_.push_back(generation); });
  }
  std::vector<Call> Drain(bool last = false) {
    std::vector<Call> all;
    buffers_->Drain(last, [&](std::span<const uint8_t> bytes) {
      auto* c = reinterpret_cast<TapCall*>(const_cast<uint8_t*>(bytes.data()));
      Call call = {c->tid,       c->signal, c->flags, c->generation, c->nested, c->depth,  c->begin_nanos,
                   c->end_nanos, {},        c->pc,    c->sp,         {},        c->result, {}};
      call.entries.assign(c->Entries(), c->Entries() + c->entries);
      call.code.assign(c->code, c->code + c->code_size);
      for (uint32_t i = 0; i < c->frames; i++) call.methods.push_back(c->Frames()[i].method);
      all.push_back(std::move(call));
    });
    std::ranges::stable_sort(all, {}, &Call::begin_nanos);
    return all;
  }

  TapBuffers* buffers_ = nullptr;
  TapHeader* header_ = nullptr;
  std::vector<uint32_t> found_;
};

TEST_F(Tap, ASignalWithoutHandlerIsLeftAlone) {
  const int signal = FreshSignal();
  EXPECT_FALSE(Look(signal));
  struct sigaction now = {};
  ASSERT_EQ(sigaction(signal, nullptr, &now), 0);
  EXPECT_EQ(now.sa_handler, SIG_DFL);
  EXPECT_TRUE(found_.empty());
}

TEST_F(Tap, TheOriginalIsCalledAndNoted) {
  const int signal = FreshSignal();
  Install(signal, HandlerA, SA_ONSTACK);
  ASSERT_TRUE(Look(signal));
  ASSERT_TRUE(Look(signal)) << "once is enough";
  ASSERT_EQ(found_.size(), 1u);
  struct sigaction now = {};
  ASSERT_EQ(sigaction(signal, nullptr, &now), 0);
  EXPECT_NE(now.sa_sigaction, HandlerA);
  EXPECT_EQ(now.sa_flags & (SA_SIGINFO | SA_RESTART | SA_ONSTACK), SA_SIGINFO | SA_RESTART | SA_ONSTACK);
  EXPECT_EQ(sigismember(&now.sa_mask, SIGWINCH), 1);
  EXPECT_EQ(sigismember(&now.sa_mask, SIGUSR1), 0);
  errno = EBADF;
  raise(signal);
  EXPECT_EQ(errno, EBADF);
#if !defined(__SANITIZE_THREAD__)  // which has an errno of its own in handlers
  EXPECT_EQ(errno_in_a, EBADF);
#endif
  EXPECT_EQ(calls_of_a, 1u);
  const std::vector<Call> calls = Drain();
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].tid, static_cast<uint32_t>(gettid()));
  EXPECT_EQ(calls[0].signal, static_cast<uint32_t>(signal));
  EXPECT_EQ(calls[0].flags, 0u) << "a thread without a shadow";
  EXPECT_EQ(calls[0].generation, found_[0]);
  EXPECT_LE(calls[0].begin_nanos, calls[0].end_nanos);
  ASSERT_EQ(calls[0].code.size(), 16u);
  EXPECT_EQ(std::memcmp(calls[0].code.data(), reinterpret_cast<const void*>(calls[0].pc), 16), 0);
  EXPECT_EQ(header_->calls[0], 1u);
}

TEST_F(Tap, AHandlerWithoutSiginfoIsCalledAsSuch) {
  const int signal = FreshSignal();
  std::signal(signal, PlainHandler);
  ASSERT_TRUE(Look(signal));
  raise(signal);
  EXPECT_EQ(calls_of_plain, 1u);
  EXPECT_EQ(Drain().size(), 1u);
}

// A sampler that keeps what it found, and calls it, gets that and not itself.
TEST_F(Tap, AHandlerThatHandsOnReachesTheOneBefore) {
  const int signal = FreshSignal();
  Install(signal, HandlerA);
  ASSERT_TRUE(Look(signal));
  before_b = Install(signal, HandlerB);
  ASSERT_TRUE(Look(signal));
  ASSERT_EQ(found_.size(), 2u);
  raise(signal);
  EXPECT_EQ(calls_of_a, 1u);
  EXPECT_EQ(calls_of_b, 1u);
  const std::vector<Call> calls = Drain();
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].generation, found_[1]);
  EXPECT_EQ(calls[0].nested, 0u);
  EXPECT_EQ(calls[1].generation, found_[0]);
  EXPECT_EQ(calls[1].nested, 1u);
  // It takes itself away again.
  ASSERT_EQ(sigaction(signal, &before_b, nullptr), 0);
  ASSERT_TRUE(Look(signal));
  raise(signal);
  EXPECT_EQ(calls_of_a, 2u);
  EXPECT_EQ(calls_of_b, 1u);
}

TEST_F(Tap, AHandlerThatIsRemovedAndComesBackIsTappedAgain) {
  const int signal = FreshSignal();
  for (int i = 0; i < 3; i++) {
    Install(signal, HandlerA);
    ASSERT_TRUE(Look(signal));
    raise(signal);
    std::signal(signal, SIG_IGN);
    ASSERT_FALSE(Look(signal));
    raise(signal);
  }
  EXPECT_EQ(found_.size(), 1u) << "the same handler keeps its generation";
  EXPECT_EQ(calls_of_a, 3u);
  EXPECT_EQ(Drain().size(), 3u);
}

TEST_F(Tap, AHandlerThatGotItsPlaceBackIsTappedAgain) {
  const int signal = FreshSignal();
  Install(signal, HandlerA, SA_ONSTACK);
  ASSERT_TRUE(Look(signal));
  Taps::Withdraw(signal);
  Taps::Withdraw(signal);
  struct sigaction now = {};
  ASSERT_EQ(sigaction(signal, nullptr, &now), 0);
  EXPECT_EQ(now.sa_sigaction, HandlerA);
  EXPECT_EQ(now.sa_flags & SA_ONSTACK, SA_ONSTACK);
  raise(signal);
  EXPECT_TRUE(Drain().empty());
  ASSERT_TRUE(Look(signal));
  raise(signal);
  EXPECT_EQ(Drain().size(), 1u);
  EXPECT_EQ(found_.size(), 1u);
}

TEST_F(Tap, ASignalDuringAHandlerIsNested) {
  const int outer = FreshSignal();
  const int inner = FreshSignal();
  Install(outer, HandlerA);
  Install(inner, HandlerA);
  ASSERT_TRUE(Look(outer));
  ASSERT_TRUE(Look(inner));
  raised_in_a = inner;
  raise(outer);
  const std::vector<Call> calls = Drain();
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].signal, static_cast<uint32_t>(outer));
  EXPECT_EQ(calls[0].nested, 0u);
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer delivers the inner signal after the outer one's handler";
#endif
  EXPECT_EQ(calls[1].signal, static_cast<uint32_t>(inner));
  EXPECT_EQ(calls[1].nested, 1u);
  EXPECT_GE(calls[0].end_nanos, calls[1].end_nanos);
}

TEST_F(Tap, TheShadowIsCopiedOnAnAlternateStackToo) {
  const int signal = FreshSignal();
  Install(signal, HandlerA, SA_ONSTACK);
  ASSERT_TRUE(Look(signal));
  Options options;
  options.depth = 64;
  Perturber perturber;
  static Threads threads(options, perturber);
  std::thread([&] {
    std::vector<uint8_t> memory(1 << 16);
    const stack_t alternate = {.ss_sp = memory.data(), .ss_flags = 0, .ss_size = memory.size()};
    ASSERT_EQ(sigaltstack(&alternate, nullptr), 0);
    static StatusFile status = {};
    Slot* slot = threads.Attach(nullptr, nullptr, &status, "t");
    ASSERT_NE(slot, nullptr);
    for (uint64_t id : {11u, 12u, 13u}) {
      slot->shadow[MISSTEP_SHADOW_HEADER / 8 + ShadowSize(slot->shadow)] = id | uint64_t{5} << 32;
      slot->shadow[MISSTEP_SHADOW_TOP / 8] += MISSTEP_SHADOW_ENTRY;
    }
    raise(signal);
    slot->shadow[MISSTEP_SHADOW_TOP / 8] += MISSTEP_SHADOW_ENTRY * uint64_t{kShadowEntries};
    raise(signal);
    threads.End();
    raise(signal);
    const stack_t none = {.ss_sp = nullptr, .ss_flags = SS_DISABLE, .ss_size = 0};
    sigaltstack(&none, nullptr);
  }).join();
  const std::vector<Call> calls = Drain();
  ASSERT_EQ(calls.size(), 3u);
  EXPECT_EQ(calls[0].entries, (std::vector<uint32_t>{11, 12, 13}));
  EXPECT_EQ(calls[0].flags, uint32_t{MISSTEP_TAP_CALL_SHADOW});
  EXPECT_EQ(calls[1].flags, uint32_t{MISSTEP_TAP_CALL_SHADOW | MISSTEP_TAP_CALL_OVERFLOW});
  EXPECT_TRUE(calls[1].entries.empty());
  EXPECT_EQ(calls[2].flags, 0u);
}

TEST_F(Tap, TheWalkOfTheSameInstantIsNoted) {
  const int signal = FreshSignal();
  Install(signal, HandlerA);
  ASSERT_TRUE(Look(signal));
  KnownState().asgct = WalkThree;
  RaiseOnThread(signal);
  KnownState().options.tap_asgct = 1;
  RaiseOnThread(signal);
  raise(signal);  // a thread without a slot
  const std::vector<Call> calls = Drain();
  ASSERT_EQ(calls.size(), 3u);
  EXPECT_EQ(calls[0].flags, uint32_t{MISSTEP_TAP_CALL_SHADOW});
  EXPECT_TRUE(calls[0].methods.empty());
  EXPECT_EQ(calls[1].flags, uint32_t{MISSTEP_TAP_CALL_SHADOW | MISSTEP_TAP_CALL_WALKED});
  EXPECT_EQ(calls[1].result, 3);
  EXPECT_EQ(calls[1].methods, (std::vector<uint64_t>{8, 16, 24}));
  EXPECT_EQ(phase_of_walk, uint32_t{MISSTEP_PHASE_WALK});
  EXPECT_EQ(calls[2].flags, 0u);
}

TEST_F(Tap, AWalkThatReachesItsLimitMayBeCut) {
  const int signal = FreshSignal();
  Install(signal, HandlerA);
  ASSERT_TRUE(Look(signal));
  KnownState().options.tap_asgct = 1;
  KnownState().asgct = [](AsgctTrace* trace, jint depth, void*) {
    std::memset(static_cast<void*>(trace->frames), 0, sizeof(AsgctFrame) * static_cast<size_t>(depth));
    trace->num_frames = depth;
  };
  RaiseOnThread(signal);
  KnownState().asgct = [](AsgctTrace* trace, jint depth, void*) { trace->num_frames = depth + 1; };
  RaiseOnThread(signal);
  KnownState().asgct = [](AsgctTrace* trace, jint, void*) { trace->num_frames = -5; };
  RaiseOnThread(signal);
  const std::vector<Call> calls = Drain();
  ASSERT_EQ(calls.size(), 3u);
  EXPECT_EQ(calls[0].flags, uint32_t{MISSTEP_TAP_CALL_SHADOW | MISSTEP_TAP_CALL_WALKED | MISSTEP_TAP_CALL_CUT});
  EXPECT_EQ(calls[0].methods.size(), 64u);
  EXPECT_EQ(calls[1].result, -65) << "more frames than there is room for";
  EXPECT_EQ(calls[2].result, -5);
  EXPECT_TRUE(calls[1].methods.empty() && calls[2].methods.empty());
}

// One walker at a time, and none in the agent's own checks.
TEST_F(Tap, AThreadThatIsBusyIsNotWalked) {
  const int signal = FreshSignal();
  const int inner = FreshSignal();
  Install(signal, HandlerA);
  Install(inner, HandlerA);
  ASSERT_TRUE(Look(signal));
  ASSERT_TRUE(Look(inner));
  KnownState().options.tap_asgct = 1;
  KnownState().asgct = WalkThree;
  RaiseOnThread(signal, [](Slot* slot) { slot->busy = 1; });
  RaiseOnThread(signal, [](Slot* slot) { slot->status->phase = MISSTEP_PHASE_CHECK; });
  RaiseOnThread(signal, [](Slot* slot) { slot->stack = {}; });
  std::vector<Call> calls = Drain();
  ASSERT_EQ(calls.size(), 3u);
  for (const Call& c : calls) {
    EXPECT_EQ(c.flags & (MISSTEP_TAP_CALL_WALKED | MISSTEP_TAP_CALL_BUSY), uint32_t{MISSTEP_TAP_CALL_BUSY});
    EXPECT_EQ(c.result, 0);
  }
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer delivers the inner signal after the outer one's handler";
#endif
  raised_in_walk = inner;
  RaiseOnThread(signal);
  calls = Drain();
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].signal, static_cast<uint32_t>(inner));
  EXPECT_EQ(calls[0].flags & (MISSTEP_TAP_CALL_WALKED | MISSTEP_TAP_CALL_BUSY), uint32_t{MISSTEP_TAP_CALL_BUSY});
  EXPECT_EQ(calls[1].methods, (std::vector<uint64_t>{8, 16, 24}));
}

TEST_F(Tap, AfterTheEndCallsAreHandedOnAndCountedAsLost) {
  const int signal = FreshSignal();
  Install(signal, HandlerA);
  ASSERT_TRUE(Look(signal));
  Taps::Stop();
  raise(signal);
  EXPECT_EQ(calls_of_a, 1u);
  EXPECT_TRUE(Drain(true).empty());
  EXPECT_EQ(header_->lost[MISSTEP_TAP_LOST_LATE], 1u);
}

// Threads come and go under signals of two kinds that interrupt each other: each call has a record or is lost.
TEST_F(Tap, EachCallHasARecordOrIsLost) {
  const int one = FreshSignal();
  const int other = FreshSignal();
  Install(one, HandlerA);
  Install(other, HandlerA);
  std::atomic<bool> done = false;
  std::atomic<uint64_t> raised = 0;
  std::vector<std::thread> starters;
  ASSERT_TRUE(Look(one));
  ASSERT_TRUE(Look(other));
  for (int s = 0; s < 4; s++) {
    starters.emplace_back([&, s] {
      for (int i = 0; i < 30; i++) {
        std::thread([&] {
          for (int n = 0; n < 50; n++) {
            raised_in_a = s % 2 == 0 ? one : other;
            raise(s % 2 == 0 ? other : one);
            raised++;
          }
        }).join();
      }
    });
  }
  uint64_t records = 0;
  std::thread drains([&] {
    while (!done) {
      records += Drain().size();
      buffers_->Free([](int32_t tid) { return tgkill(getpid(), tid, 0) == 0; });
      Look(one);
    }
  });
  for (std::thread& t : starters) t.join();
  done = true;
  drains.join();
  records += Drain(true).size();
  EXPECT_EQ(header_->calls[0], calls_of_a);
  EXPECT_GE(calls_of_a, raised);
  uint64_t lost = 0;
  for (const auto& n : header_->lost) lost += n;
  EXPECT_EQ(header_->calls[0], records + lost);
  EXPECT_EQ(found_.size(), 2u);
}

}  // namespace
}  // namespace misstep
