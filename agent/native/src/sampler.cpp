// The sampler thread, its signal handler, and the judge thread of asgct-shadow; liveness probes.
//
// Neither thread is attached to the JVM (rule 1): they run no Java code and call neither JNI nor JVMTI.

#include "sampler.h"

#include <dirent.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <optional>
#include <set>
#include <utility>

#include "agent.h"
#include "bracket.h"
#include "grace.h"
#include "hung.h"

namespace misstep {
namespace {

constexpr uint64_t kTurnNanos = 4'000'000;  // time whose ticks a turn has
constexpr size_t kMostBracketTurns = 4;     // threads among which the brackets of that time are
constexpr uint64_t kRanNanos = 20'000;      // CPU time since the last look that makes a thread a running one

pthread_t sampler_thread;
pthread_t judge_thread;
bool started = false;
std::atomic<bool> stop_sampler = false;
std::atomic<bool> stop_judge = false;
std::atomic<bool> stop_turns = false;
std::atomic<uint32_t> spare_ticks = 0;  // of turns that ended early
pid_t own_pid = 0;

#if defined(__x86_64__)
uint64_t Pc(const ucontext_t& c) { return static_cast<uint64_t>(c.uc_mcontext.gregs[REG_RIP]); }
uint64_t Sp(const ucontext_t& c) { return static_cast<uint64_t>(c.uc_mcontext.gregs[REG_RSP]); }
uint64_t Fp(const ucontext_t& c) { return static_cast<uint64_t>(c.uc_mcontext.gregs[REG_RBP]); }
void SetPlace(ucontext_t* c, uint64_t pc, uint64_t sp) {
  c->uc_mcontext.gregs[REG_RIP] = static_cast<greg_t>(pc);
  c->uc_mcontext.gregs[REG_RSP] = static_cast<greg_t>(sp);
}
#elif defined(__aarch64__)
uint64_t Pc(const ucontext_t& c) { return c.uc_mcontext.pc; }
uint64_t Sp(const ucontext_t& c) { return c.uc_mcontext.sp; }
uint64_t Fp(const ucontext_t& c) { return c.uc_mcontext.regs[29]; }
void SetPlace(ucontext_t* c, uint64_t pc, uint64_t sp) {
  c->uc_mcontext.pc = pc;
  c->uc_mcontext.sp = sp;
}
#else
#error "the register names of this architecture are not known here"
#endif

// Takes each of the first words of the stack that point at code for the return address of the frame that pc is in, and
// walks from there, as a profiler does that goes on where AsyncGetCallTrace knew no frame to start from or could not
// walk it (async-profiler). Nobody judges what comes out: most words are none. A crash or a hang shows.
[[gnu::no_sanitize_address]] void GuessCallers(Slot* slot, Ticket* t, const ucontext_t& context, uint64_t end) {
  ucontext_t guess = context;
  slot->status->phase.store(MISSTEP_PHASE_GUESS, std::memory_order_release);
  for (uint32_t i = 0; i < agent->options.guesses && t->spot.sp + 8 * (i + 1) <= end; i++) {
    const uint64_t word = *reinterpret_cast<const volatile uint64_t*>(t->spot.sp + 8 * i);
    if (!agent->code.MayHold(word)) continue;
    SetPlace(&guess, word, t->spot.sp + 8 * (i + 1));
    agent->status->guessed.fetch_add(1, std::memory_order_relaxed);
    AsgctTrace trace = {slot->env, 0, t->frames};
    agent->asgct(&trace, static_cast<jint>(agent->options.depth), &guess);
  }
}

// The signal handler: atomics, memcpy, raw system calls and ASGCT, nothing else.
void Fill(Slot* slot, Ticket* t, void* context) {
  ThreadStatus* status = slot->status;
  Assert(2, [&] { return HasThread(*slot); });
  // GetStackTrace of the thread comes between the walks of a bracket.
  Assert(1, [&] { return !slot->bracket.walking.load(std::memory_order_seq_cst); });
  const uint32_t phase_before = status->phase.load(std::memory_order_relaxed);
  const uint64_t enter_before = status->enter_nanos.load(std::memory_order_relaxed);
  const uint64_t sequence_before = status->sequence.load(std::memory_order_relaxed);
  const uint64_t pc_before = status->pc.load(std::memory_order_relaxed);
  const uint64_t sp_before = status->sp.load(std::memory_order_relaxed);
  const auto& registers = *static_cast<const ucontext_t*>(context);
  Spot& spot = t->spot;
  spot.pc = Pc(registers);
  spot.sp = Sp(registers);
  spot.fp = Fp(registers);
  const uint64_t began = MonotonicNanos();
  status->enter_nanos.store(began, std::memory_order_relaxed);
  status->sequence.store(t->sample, std::memory_order_relaxed);
  status->pc.store(spot.pc, std::memory_order_relaxed);
  status->sp.store(spot.sp, std::memory_order_relaxed);
  status->phase.store(MISSTEP_PHASE_HANDLER, std::memory_order_release);

  if (t->shadow != nullptr) {
    const uint64_t size = ShadowSize(slot->shadow);
    t->shadow_overflow = size > kShadowEntries || size > agent->options.depth;
    t->shadow_size = t->shadow_overflow ? 0 : static_cast<uint32_t>(size);
    std::memcpy(t->shadow, slot->shadow + MISSTEP_SHADOW_HEADER / 8, t->shadow_size * sizeof(uint64_t));
    const TraceStack::Entry* traced = slot->traces.Top(slot->shadow, t->shadow_size);
    t->trace_size = traced != nullptr ? traced->end : 0;
    std::memcpy(static_cast<void*>(t->trace), slot->traces.frames, t->trace_size * sizeof(AsgctFrame));
  }
  spot.code_size = ReadCode(spot.pc, spot.code, sizeof(spot.code));
  t->busy = slot->busy != 0;
  t->num_frames = 0;
  t->words_size = 0;
  spot.next_code = spot.returns = {};
  spot.return_size = 0;
  spot.original = 0;
  if (!t->busy) {
    slot->busy = 1;
    AsgctTrace trace = {slot->env, 0, t->frames};
    status->phase.store(MISSTEP_PHASE_WALK, std::memory_order_release);
    Walk(&trace, context, t->sample);
    t->num_frames = trace.num_frames;
    const uint64_t end = slot->stack.EndFrom(spot.sp);
    const bool generated = agent->code.MayHold(spot.pc);
    spot.next_code = agent->code.NextReturn(spot.sp, generated ? std::min(end, spot.sp + sizeof(uint64_t)) : end);
    if (!generated) {
      spot.returns = agent->code.Returns(spot.fp, spot.sp, end);
      if (spot.returns.at != 0) {
        spot.original = CodeMap::Original(spot.returns, end);
        spot.return_size = ReadCode(spot.returns.value, spot.return_code, sizeof(spot.return_code));
      }
    }
    t->deoptimises = trace.num_frames == kDeoptCode && agent->deopt_stubs.OnStack(spot.sp, end);
    if (trace.num_frames <= -3 && trace.num_frames >= -6) GuessCallers(slot, t, registers, end);
    status->phase.store(MISSTEP_PHASE_HANDLER, std::memory_order_release);
    // A walk that does not get to the thread's bottom may have lost its way. GetStackTrace knows it best: a sample that
    // is cut off above all that is on the shadow matches.
    const uint64_t bottom =
        trace.num_frames > 0 ? reinterpret_cast<uint64_t>(t->frames[trace.num_frames - 1].method) : 0;
    const uint64_t gst = slot->bottom.load(std::memory_order_relaxed);
    const bool lost = trace.num_frames > 0 && bottom != (gst != 0 ? gst : slot->root.load(std::memory_order_relaxed));
    t->words_size = lost ? agent->code.WordsOnStack(spot.sp, end, {t->words, CodeMap::kMostWords}) : 0;
    slot->busy = 0;
  }
  t->took = MonotonicNanos() - began;
  status->enter_nanos.store(enter_before, std::memory_order_relaxed);
  status->sequence.store(sequence_before, std::memory_order_relaxed);
  status->pc.store(pc_before, std::memory_order_relaxed);
  status->sp.store(sp_before, std::memory_order_relaxed);
  status->phase.store(phase_before, std::memory_order_release);
}

// Rule 1: whether the JVM does not know the calling thread.
bool Detached() {
  void* env = nullptr;
  return agent->vm == nullptr || agent->vm->GetEnv(&env, JNI_VERSION_1_6) == JNI_EDETACHED;
}

uint64_t OwnCpuNanos() {
  timespec ts = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
  return static_cast<uint64_t>(ts.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(ts.tv_nsec);
}

// Time from one tick to the next.
uint64_t DrawStep(uint64_t* random) {
  const double vary = 1.0 + agent->options.jitter * (2.0 * Uniform(random) - 1.0);
  return static_cast<uint64_t>(agent->options.interval_micros * 1000.0 * vary);
}

// Has the thread's timer bring its next tick.
void SetTimer(const Turn& turn, uint64_t at) {
  const itimerspec when = {
      .it_interval = {}, .it_value = {static_cast<time_t>(at / 1'000'000'000), static_cast<long>(at % 1'000'000'000)}};
  timer_settime(turn.timer, TIMER_ABSTIME, &when, nullptr);
}

// A ticket that nobody has, taken; null when the judge has not come by for too long.
Ticket* ClaimTicket(Slot* slot) {
  for (Ticket& t : slot->tickets) {
    TicketState idle = TicketState::kIdle;
    if (t.state.compare_exchange_strong(idle, TicketState::kFilling, std::memory_order_seq_cst)) return &t;
  }
  return nullptr;
}

// One tick of the thread's own turn. A tick while the thread is in the agent, or that is not of this check's share, is
// none that was sent; one without a free ticket is overrun.
void TakeTick(Slot* slot, void* context) {
  Turn& turn = slot->turn;
  const uint64_t began = MonotonicNanos();
  const uint64_t step = DrawStep(&turn.random);
  // A thread that only ran to take the last signal does not run: its stack is the one that was just walked.
  if (OwnCpuNanos() - turn.cpu < std::min(kRanNanos, step / 4)) {
    spare_ticks.fetch_add(turn.ticks.exchange(0), std::memory_order_relaxed);
    return;
  }
  const bool drawn = agent->options.asgct_shadow >= 1 || Uniform(&turn.random) < agent->options.asgct_shadow;
  if (drawn && slot->status->phase.load(std::memory_order_relaxed) == MISSTEP_PHASE_NONE) {
    Ticket* t = ClaimTicket(slot);
    if (stop_turns.load(std::memory_order_seq_cst)) {
      if (t != nullptr) t->state.store(TicketState::kIdle, std::memory_order_release);
      return;
    }
    const uint64_t sample = agent->status->sent.fetch_add(1, std::memory_order_relaxed) + 1;
    agent->status->delivered.fetch_add(1, std::memory_order_relaxed);
    if (t == nullptr) {
      Count(agent->status, Check::kAsgctShadow, Verdict::Void(Reason::kOverrun));
    } else {
      t->sample = sample;
      Fill(slot, t, context);
      t->state.store(TicketState::kReady, std::memory_order_release);
      slot->ready.fetch_add(1, std::memory_order_release);
    }
  }
  turn.cpu = OwnCpuNanos();
  if (turn.ticks.fetch_sub(1, std::memory_order_acq_rel) <= 1) return;
  // What was missed is left out, and no thread spends more than half of its time here.
  const uint64_t now = MonotonicNanos();
  turn.at = turn.at + step > now ? turn.at + step : now + step;
  SetTimer(turn, std::max(turn.at, now + (now - began)));
}

void Handle(int, siginfo_t* info, void* context) {
  const int saved_errno = errno;
  Agent* a = agent;
  if (a != nullptr && a->status != nullptr) {
    Slot* slot = Threads::Current();
    bool filled = false;
    if (slot != nullptr && info->si_code == SI_TIMER && info->si_value.sival_ptr == slot &&
        slot->turn.ticks.load(std::memory_order_acquire) > 0) {
      TakeTick(slot, context);
      filled = true;
    } else if (slot != nullptr && info->si_code == SI_QUEUE && info->si_pid == own_pid) {
      const auto value = reinterpret_cast<uint64_t>(info->si_value.sival_ptr);
      const uint64_t sequence = value >> kSignalForBits;
      const auto what = static_cast<SignalFor>(value & ((1 << kSignalForBits) - 1));
      Ticket* t = what == SignalFor::kBracketFirst    ? &slot->bracket.first
                  : what == SignalFor::kBracketSecond ? &slot->bracket.second
                                                      : &slot->tickets[sequence % kWarmTickets];
      TicketState pending = TicketState::kPending;
      // A late signal meets a ticket that was given up (idle) or is another's: it is stray, its sample was counted
      // lost.
      if (t->sequence == sequence && t->state.compare_exchange_strong(pending, TicketState::kFilling)) {
        a->status->delivered.fetch_add(1, std::memory_order_relaxed);
        Fill(slot, t, context);
        t->state.store(TicketState::kReady, std::memory_order_release);
        if (what == SignalFor::kSample) {
          slot->ready.fetch_add(1, std::memory_order_release);
        } else {
          WakeBracketer();
        }
        filled = true;
      }
    }
    if (!filled) a->status->stray.fetch_add(1, std::memory_order_relaxed);
  }
  errno = saved_errno;
}

// A sample that owns its data, while it waits to be judged again.
struct Owned {
  std::vector<Frame> frames;
  std::vector<uint32_t> keys;
  std::vector<Frame> trace;  // bottom first
  std::vector<StackWord> words;
  NmethodRef deoptimised;  // the caller at which the walk was cut off
  bool fits = false;       // what is below the cut says that it is that one
  bool by_trace = false;   // the shadow agreed, and the trace was asked too
  Sample sample;
  Spot spot;
  uint64_t sequence = 0;
  std::string thread;
  int64_t tid = 0;
  uint64_t since = 0;
};

uint64_t ThreadCpuNanos(int32_t tid) {
  // The kernel's clock id of a thread's CPU time (linux/posix-timers.h): ~tid << 3, per thread (4), scheduler time (2).
  const auto clock = static_cast<clockid_t>((~static_cast<uint32_t>(tid) << 3) | 6);
  timespec ts = {};
  if (clock_gettime(clock, &ts) != 0) return 0;
  return static_cast<uint64_t>(ts.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(ts.tv_nsec);
}

// Whether a thread sleeps or has ended. When that cannot be found out, it may have work.
bool Rests(int32_t tid) {
  char stat[128];  // the state stands behind the name, which has 15 characters at most
  const int fd = open(("/proc/self/task/" + std::to_string(tid) + "/stat").c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return errno == ENOENT;
  const ssize_t n = read(fd, stat, sizeof(stat));
  const bool ended = n < 0 && errno == ESRCH;
  close(fd);
  return ended || (n > 0 && Sleeps({stat, static_cast<size_t>(n)}));
}

// The threads of this process that are not the application's, but this one. One without a slot is taken for the VM's.
std::optional<std::vector<int32_t>> ThreadsOfVM() {
  DIR* dir = opendir("/proc/self/task");
  if (dir == nullptr) return std::nullopt;
  std::set<int32_t> application = {static_cast<int32_t>(syscall(SYS_gettid))};
  for (size_t i = 0; i < agent->threads.size(); i++) {
    const Slot& slot = *agent->threads.at(i);
    if (HasThread(slot)) application.insert(slot.tid.load());
  }
  std::vector<int32_t> all;
  while (const dirent* entry = readdir(dir)) {
    const auto tid = static_cast<int32_t>(strtol(entry->d_name, nullptr, 10));
    if (tid > 0 && !application.contains(tid)) all.push_back(tid);
  }
  closedir(dir);
  return all;
}

class Judge {
 public:
  // Judges all tickets that are ready, and what waited long enough. At the end everything.
  void Round(uint64_t now, bool end) {
    for (size_t i = 0; i < agent->threads.size(); i++) {
      Slot* slot = agent->threads.at(i);
      if (slot->ready.load(std::memory_order_acquire) == 0 && !end) continue;
      for (Ticket& t : slot->tickets) {
        if (t.state.load(std::memory_order_acquire) == TicketState::kReady) Take(*slot, &t, now);
      }
    }
    if (Waiting()) LookForEvents(now);
    while (!deferred_.empty() && (end || WaitedLong(deferred_.front()->since))) {
      const std::unique_ptr<Owned> o = std::move(deferred_.front());
      deferred_.pop_front();
      Finish(*o, AfterEvents(CompareAgain(o.get()), o->since));
    }
  }

  // How far the JVM has come with the events that samples and brackets wait for.
  Grace grace{{.threads = ThreadsOfVM, .rests = Rests, .cpu_nanos = ThreadCpuNanos, .sender = [] {
                 return agent->sender.load();
               }}};

  // Whether samples wait for events still to come.
  bool Waiting() const { return !deferred_.empty(); }

 private:
  void Take(Slot& slot, Ticket* t, uint64_t now) {
    slot.ready.fetch_sub(1, std::memory_order_relaxed);
    if (t->busy) {
      const uint64_t sample = t->sample;
      const uint64_t pc = t->spot.pc;
      t->state.store(TicketState::kIdle, std::memory_order_release);
      CountWalk(Check::kAsgctShadow, Verdict::Void(Reason::kWalkerBusy), sample, pc);
      return;
    }
    auto o = std::make_unique<Owned>();
    const auto* raw = t->frames;
    for (int32_t i = 0; i < t->num_frames; i++) {
      o->frames.push_back({reinterpret_cast<uint64_t>(raw[i].method), raw[i].bci, nullptr});
    }
    for (uint32_t i = 0; i < t->shadow_size; i++) o->keys.push_back(static_cast<uint32_t>(t->shadow[i]));
    agent->methods.KeysOf(o->keys);
    for (uint32_t i = 0; i < t->trace_size; i++) {
      o->trace.push_back({reinterpret_cast<uint64_t>(t->trace[i].method), t->trace[i].bci, nullptr});
    }
    o->sample.code = t->num_frames;
    o->sample.limit = agent->options.depth;
    o->sample.deoptimises = t->deoptimises;
    o->sample.deeper = t->shadow_overflow;
    o->sample.root = slot.root;
    o->sample.carrier = slot.carrier.load(std::memory_order_relaxed);
    o->words.assign(t->words, t->words + t->words_size);
    o->spot = t->spot;
    o->sequence = t->sample;
    o->thread = slot.name;
    o->tid = slot.tid;
    o->since = now;
    Verdict verdict = Compare(o.get());
    const bool mounted = SeamOf(o->frames).has_value();
    if (mounted) slot.carrier.store(true, std::memory_order_relaxed);
    // Nothing of the shadow may lie below where a walk was cut off, and then it matches. No thread begins with a call
    // of the VM's on behalf of Java code (JDK-8303444); what else is a bottom GetStackTrace says, or its name.
    // Of a carrier's walk that shows no virtual thread nobody knows whether it shows all.
    const bool whole = mounted ? verdict.rule == Rule::kVirtualThread
                               : verdict.outcome == Outcome::kMatch && !slot.carrier.load(std::memory_order_relaxed);
    const Frame* bottom = whole && !o->keys.empty() ? &o->frames.back() : nullptr;
    if (bottom != nullptr && bottom->info != nullptr && bottom->info->upcall == Upcall::kNone) {
      const uint64_t gst = slot.bottom.load(std::memory_order_relaxed);
      if (gst == 0 || gst == bottom->method || MayBeBottom(*bottom->info)) {
        slot.root = bottom->method;
        bottoms_.insert(slot.root);
      }
    }
    // Last: without a ticket under way the slot may become another thread's, whose root is another.
    t->state.store(TicketState::kIdle, std::memory_order_release);
    if (MayBeEarly(o->sample, verdict) || MayTell(o->frames)) {
      if (deferred_.size() < agent->most_deferred) {
        deferred_.push_back(std::move(o));
        return;
      }
      verdict = Verdict::Void(Reason::kOverrun);
    }
    Finish(*o, verdict);
  }

  Verdict CompareAgain(Owned* o) {
    o->sample.told = Told(o->frames, o->since);
    const Verdict verdict = Compare(o);
    return Settled(verdict, o->sample.code, o->sample.region, agent->stage.load() == Stage::kEnded);
  }

  Verdict Compare(Owned* o) {
    agent->methods.Resolve(o->frames);
    o->sample.known_bottom = o->frames.empty() || bottoms_.empty() || bottoms_.contains(o->frames.back().method);
    o->sample.asgct = o->frames;
    o->sample.shadow = o->keys;
    std::vector<NmethodRef> at_pc;
    const Region region = agent->code.Find(o->spot.pc, &at_pc);
    o->sample.region = region;
    // What was there at the first look counts too: code may have been unloaded since.
    for (NmethodRef& n : at_pc) {
      bool there = false;
      for (const NmethodRef& known : o->sample.at_pc) there = there || known == n;
      if (!there) o->sample.at_pc.push_back(std::move(n));
    }
    if (!o->sample.at_pc.empty()) o->sample.region = Region::kCompiled;
    const Verdict verdict = CompareAsgctShadow(o->sample, agent->code);
    FindDeoptimised(o, verdict);
    o->by_trace = !o->trace.empty() && (verdict.outcome == Outcome::kMatch || verdict.outcome == Outcome::kTolerated);
    if (!o->by_trace) return verdict;
    agent->methods.Resolve(o->trace);
    const Verdict traced = CompareTrace(o->trace, o->sample, agent->code);
    if (o->deoptimised == nullptr) {
      const std::vector<Frame> top_first(o->trace.rbegin(), o->trace.rend());
      o->deoptimised = DeoptimisedCaller(top_first, traced, o->words);
    }
    return traced.outcome == Outcome::kMatch ? verdict : traced;
  }

  // Looks for the caller at which the walk was cut off, if it was deoptimised. Code without entries on the shadow is
  // taken for it when it is the first that was, and no other fits, of which events may tell later: words above may be
  // of calls that are over.
  static void FindDeoptimised(Owned* o, const Verdict& verdict) {
    if (verdict.kind != Kind::kTruncated || o->fits) return;
    const auto lost = std::span(o->keys).first(std::min<size_t>(verdict.divergence, o->keys.size()));
    const auto find = [&](bool first) {
      return agent->code.Deoptimised(o->words, agent->deopt_stubs,
                                     [&](const Nmethod& n) { return n.Ends(lost, std::exchange(first, false)); });
    };
    const NmethodRef fitting = find(false);
    o->fits = fitting != nullptr;
    if (o->fits) o->deoptimised = fitting;
    if (o->deoptimised == nullptr) o->deoptimised = find(true);
  }

  void Finish(const Owned& o, const Verdict& verdict) {
    const Origin origin = {.source = "asgct",
                           .num_frames = o.sample.code,
                           .walk = o.sequence,
                           .place = {.thread = o.thread,
                                     .tid = o.tid,
                                     .sequence = o.sequence,
                                     .spot = o.spot,
                                     .top_state = kRegionNames[static_cast<int>(o.sample.region)]}};
    CheckEdgesOf(o.frames, origin, &random_);
    if (verdict.outcome == Outcome::kMismatch) {
      misstep::Mismatch m;
      m.check = Check::kAsgctShadow;
      m.verdict = verdict;
      m.reference = NamedShadow(agent->methods, o.keys);
      if (o.by_trace) {
        const std::vector<Frame> top_first(o.trace.rbegin(), o.trace.rend());
        m.reference = Named("gst", top_first, static_cast<int32_t>(top_first.size()));
      }
      m.suspect = Named("asgct", o.frames, o.sample.code);
      m.place = origin.place;
      if (verdict.kind == Kind::kTruncated) m.deoptimised_caller = NamedRoot(o.deoptimised);
      AddStack(&m, o.frames, o.words);
      Report(m);
    }
    if (o.by_trace) agent->status->traced.fetch_add(1, std::memory_order_relaxed);
    agent->status->answered.fetch_add(1, std::memory_order_relaxed);
    CountWalk(Check::kAsgctShadow, verdict, o.sequence, o.spot.pc);
  }

  std::deque<std::unique_ptr<Owned>> deferred_;
  std::set<uint64_t> bottoms_;  // bottom methods of walks that matched: the few that threads begin with
  uint64_t random_ = agent->options.seed ^ 0x6564676573;  // for the share of edges
};

// Gives up what was sent too long ago, and finds an idle ticket. Only one signal may be under way to a thread: a
// pending one of the same number would swallow the next.
Ticket* FreeTicket(Slot* slot, uint64_t now) {
  for (Ticket& t : slot->tickets) {
    TicketState pending = TicketState::kPending;
    if (t.state.load(std::memory_order_acquire) != TicketState::kPending) continue;
    if (t.sent_nanos + kLostNanos > now) return nullptr;
    if (t.state.compare_exchange_strong(pending, TicketState::kIdle)) {
      Count(agent->status, Check::kAsgctShadow, Verdict::Void(Reason::kLost));
    }
  }
  Ticket* t = &slot->tickets[slot->next_ticket % kWarmTickets];
  return t->state.load(std::memory_order_acquire) == TicketState::kIdle ? t : nullptr;
}

// Signals for one sample of asgct-shadow. Returns false when the thread has ended or has no free ticket.
bool Send(Slot* slot, uint64_t now) {
  Ticket* t = FreeTicket(slot, now);
  if (t == nullptr) return false;
  switch (SendTicket(slot, t, SignalFor::kSample, slot->next_ticket)) {
    case Sent::kThreadEnded:
      return false;
    case Sent::kRefused:
      Count(agent->status, Check::kAsgctShadow, Verdict::Void(Reason::kSendFailed));
      break;
    case Sent::kYes:
      break;
  }
  slot->next_ticket++;
  return true;
}

// What a tick of the sampler is for.
enum class TickFor : uint8_t { kSample, kTurn, kBracket };

// Whether a thread may take a tick now: not in a turn of brackets, unless that is to go on, and not in a check at a
// method entry, where the walker is busy and nothing of the program's is on top.
bool MayTake(const Slot& slot, TickFor what) {
  if (slot.state.load(std::memory_order_acquire) != SlotState::kActive) return false;
  if (slot.bracket.state.load(std::memory_order_acquire) != BracketState::kIdle) {
    return what == TickFor::kBracket && UsesBracketTurns(agent->options);
  }
  return slot.status->phase.load(std::memory_order_acquire) == MISSTEP_PHASE_NONE;
}

// Tells whether a signal to the thread is on its way.
bool UnderWay(const Slot& slot) {
  for (const Ticket& t : slot.tickets) {
    const TicketState s = t.state.load(std::memory_order_acquire);
    if (s == TicketState::kPending || s == TicketState::kFilling) return true;
  }
  return false;
}

// Signals one thread as often as a burst asks for, each time as soon as the last signal was handled.
bool SendBurst(Slot* slot, uint64_t now) {
  constexpr uint64_t kMostBetween = 20'000'000;  // some time slices: a thread that does not run ends its burst
  if (!Send(slot, now)) return false;
  for (uint32_t i = 1; i < agent->options.burst; i++) {
    const uint64_t limit = MonotonicNanos() + kMostBetween;
    while (UnderWay(*slot)) {
      if (MonotonicNanos() > limit) return true;
      SleepUntil(MonotonicNanos() + 5'000);
    }
    if (!MayTake(*slot, TickFor::kSample) || !Send(slot, MonotonicNanos())) return true;
  }
  return true;
}

// Gives the thread the ticks of the next milliseconds with those that other turns have left over, or more of them when
// it has not come to the end of its last ones.
bool GiveTurn(Slot* slot, uint64_t now) {
  const auto own = static_cast<uint32_t>(kTurnNanos / 1000 / agent->options.interval_micros);
  Turn& turn = slot->turn;
  for (uint32_t left = turn.ticks.load(std::memory_order_acquire); left > 0;) {
    if (left > own || turn.ticks.compare_exchange_weak(left, left + own)) return true;
  }
  if (UnderWay(*slot)) return false;
  // As in SendTicket: the thread does not end, and with it the timer, before this is done.
  slot->sending.store(true, std::memory_order_seq_cst);
  const bool active = slot->state.load(std::memory_order_seq_cst) == SlotState::kActive;
  if (active) {
    const uint32_t ticks = own + std::min(spare_ticks.exchange(0), kMostSpare * own);
    turn.ticks.store(ticks, std::memory_order_release);
    SetTimer(turn, now + 1);
    Assert(2, [&] { return HasThread(*slot); });
  }
  slot->sending.store(false, std::memory_order_seq_cst);
  return active;
}

// Does for one thread what this tick is for; in a turn of brackets that many more are to be taken. Returns false when
// the thread cannot take it now.
bool Signal(Slot* slot, TickFor what, uint64_t now, uint32_t brackets) {
  if (!MayTake(*slot, what)) return false;
  if (what == TickFor::kTurn && slot->turn.has_timer) return GiveTurn(slot, now);
  if (slot->turn.ticks.load(std::memory_order_acquire) > 0) return false;
  if (what != TickFor::kBracket) return SendBurst(slot, now);
  if (UnderWay(*slot)) return false;
  if (!UsesBracketTurns(agent->options)) return GiveBrackets(slot, 1, 0);
  return GiveBrackets(slot, brackets, now + kTurnNanos);
}

// CPU time that the thread used since it was last looked at, in nanoseconds; 0 when too little to call it running.
uint64_t Ran(Slot* slot) {
  const uint64_t cpu = ThreadCpuNanos(slot->tid);
  const uint64_t ran = cpu > slot->last_cpu ? cpu - slot->last_cpu : 0;
  slot->last_cpu = cpu;
  return ran > kRanNanos ? ran : 0;
}

// One tick: chooses a thread as the option threads says, from those that ran since they were last looked at. For
// brackets in turns it chooses several, among which the brackets of the time are, as they mostly wait; but one where
// samples have turns too, which see more and cannot be of the same threads.
void Tick(uint64_t* random, uint64_t now, TickFor what) {
  static size_t turn = 0;  // of round-robin: the sampler's alone
  const Options& o = agent->options;
  const size_t n = agent->threads.size();
  if (n == 0) return;
  size_t left = what == TickFor::kBracket && UsesBracketTurns(o) && !UsesTurns(o) ? kMostBracketTurns : 1;
  auto brackets = static_cast<uint32_t>(kTurnNanos / 1000 / o.interval_micros);
  const auto give = [&](Slot* slot) {
    if (!Signal(slot, what, now, brackets)) return false;
    brackets = 0;
    left--;
    return true;
  };
  if (o.threads == ThreadChoice::kCpu) {
    // Each with probability proportional to the CPU time that it used.
    std::vector<std::pair<Slot*, uint64_t>> running;
    uint64_t total = 0;
    for (size_t i = 0; i < n; i++) {
      Slot* slot = agent->threads.at(i);
      const uint64_t ran = MayTake(*slot, what) ? Ran(slot) : 0;
      if (ran > 0) running.emplace_back(slot, ran);
      total += ran;
    }
    while (left > 0 && total > 0) {
      auto chosen = running.begin();
      for (uint64_t at = NextRandom(random) % total; at >= chosen->second; ++chosen) at -= chosen->second;
      give(chosen->first);
      total -= chosen->second;
      running.erase(chosen);
    }
    return;
  }
  const size_t first = o.threads == ThreadChoice::kRoundRobin ? turn : NextRandom(random) % n;
  for (size_t i = 0; i < n && left > 0; i++) {
    const size_t at = (first + i) % n;
    Slot* slot = agent->threads.at(at);
    if (!MayTake(*slot, what)) continue;
    if (o.threads == ThreadChoice::kName && !slot->chosen.load(std::memory_order_relaxed)) continue;
    if (Ran(slot) > 0 && give(slot)) turn = at + 1;
  }
}

// One look at each thread. Where none is known yet it is a look all the same: the sampler itself lives.
void Probe(uint64_t now) {
  bool any = false;
  for (size_t i = 0; i < agent->threads.size(); i++) {
    const Slot* slot = agent->threads.at(i);
    const ThreadStatus* s = slot->status;
    const bool inside = s->phase.load(std::memory_order_acquire) != MISSTEP_PHASE_NONE;
    if (!inside && slot->state.load(std::memory_order_acquire) != SlotState::kActive) continue;
    const bool overdue = inside && s->tid.load() != 0 && Overdue(*s, now);
    // Whether it hangs or was only not scheduled cannot be told from within: the watcher outside decides.
    Count(agent->status, Check::kLiveness, overdue ? Verdict::Void(Reason::kOverdue) : Verdict::Match());
    any = true;
  }
  if (!any) Count(agent->status, Check::kLiveness, Verdict::Match());
}

void* RunSampler(void*) {
  prctl(PR_SET_NAME, "misstep-sampler");
  StayOutside();
  prctl(PR_SET_TIMERSLACK, 1000UL);
  const Options& o = agent->options;
  uint64_t random = o.seed ^ 0x6d697373746570;
  const bool sample_turns = UsesTurns(o);
  const bool bracket_turns = UsesBracketTurns(o);
  const bool turns = sample_turns || bracket_turns;
  const bool sampling = (o.asgct_shadow > 0 && !sample_turns) || (o.bracket > 0 && !bracket_turns);
  const uint64_t probe_every = uint64_t{o.liveness_millis} * 1'000'000;
  uint64_t now = MonotonicNanos();
  uint64_t next_tick = now;
  uint64_t next_turn = now;
  uint64_t next_probe = now;
  // Each check has its own share of the ticks; both may want the same one, for different threads. Neither always comes
  // first: the only thread that runs takes what one of them wants. The handler draws the share of a turn's ticks.
  const auto tick = [&](bool of_turns) {
    const bool brackets_first = NextRandom(&random) % 2 == 0;
    for (const bool brackets : {brackets_first, !brackets_first}) {
      if ((brackets ? bracket_turns : sample_turns) != of_turns || (brackets && !BracketerRuns())) continue;
      const bool drawn = brackets ? Uniform(&random) < o.bracket : of_turns || Uniform(&random) < o.asgct_shadow;
      if (drawn) Tick(&random, now, brackets ? TickFor::kBracket : of_turns ? TickFor::kTurn : TickFor::kSample);
    }
  };
  while (!stop_sampler.load(std::memory_order_acquire)) {
    Assert(1, Detached);
    now = MonotonicNanos();
    agent->status->heartbeat.store(now, std::memory_order_relaxed);
    if (sampling && now >= next_tick) {
      tick(false);
      // After a delay the missed ticks are left out: no burst.
      next_tick = std::max(next_tick + DrawStep(&random), now);
    }
    if (turns && now >= next_turn) {
      tick(true);
      next_turn = std::max(next_turn + kTurnNanos, now);
    }
    if (probe_every != 0 && now >= next_probe) {
      Probe(now);
      next_probe = now + probe_every;
    }
    uint64_t wake = now + 50'000'000;  // so that a stop is seen soon
    if (sampling) wake = std::min(wake, next_tick);
    if (turns) wake = std::min(wake, next_turn);
    if (probe_every != 0) wake = std::min(wake, next_probe);
    SleepUntil(wake);
  }
  return nullptr;
}

Judge* judge = nullptr;

constexpr uint64_t kTrimNanos = 60'000'000'000;
constexpr uint64_t kTrimPatienceNanos = 1'000'000;

// Gives back what the C library's arenas hold of freed memory: the agent's own, and the compilers', which compile more
// in an instrumented program. HotSpot does so itself on demand (-XX:TrimNativeHeapInterval). docs/design/0005.
void Trim() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

void* RunJudge(void*) {
  prctl(PR_SET_NAME, "misstep-judge");
  StayOutside();
  HungWalks hung(agent->options.out + "/shadows.txt");
  uint64_t next_trim = MonotonicNanos() + kTrimNanos;
  while (!stop_judge.load(std::memory_order_acquire)) {
    Assert(1, Detached);
    const uint64_t now = MonotonicNanos();
    judge->Round(now, false);
    JudgeBrackets(false);
    hung.Look(now);
    // Not while a handler is at work, which may hang with the C library's locks.
    if (now >= next_trim && FindInHandler(now, kTrimPatienceNanos) == nullptr) {
      Trim();
      next_trim = now + kTrimNanos;
    }
    SleepUntil(MonotonicNanos() + 1'000'000);
  }
  return nullptr;
}

}  // namespace

void LookForEvents(uint64_t now) { judge->grace.Look(now); }

bool WaitedLong(uint64_t since) {
  const uint64_t now = MonotonicNanos();
  if (judge->grace.Told() < since) return since + kMostEarlyNanos <= now;
  return since + kEarlyNanos <= now && (agent->publishing.load() == 0 || since + 2 * kEarlyNanos <= now);
}

Verdict AfterEvents(const Verdict& verdict, uint64_t since) {
  const bool late = verdict.outcome == Outcome::kMismatch && judge->grace.Told() < since;
  return late ? Verdict::Void(Reason::kEventsLate) : verdict;
}

bool MayTell(std::span<const Frame> frames) {
  return Unknown(frames) && agent->options.edges > 0 && !agent->redefines.load();
}

bool Told(std::span<const Frame> frames, uint64_t since) {
  return MayTell(frames) && since + kEarlyNanos <= MonotonicNanos() && agent->publishing.load() == 0 &&
         !agent->methods.WasGiven(frames);
}

bool StartThread(pthread_t* thread, void* (*run)(void*)) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int failed = pthread_create(thread, nullptr, run, nullptr);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return failed == 0;
}

void SleepUntil(uint64_t nanos) {
  const timespec ts = {static_cast<time_t>(nanos / 1'000'000'000), static_cast<long>(nanos % 1'000'000'000)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, nullptr) == EINTR) {
  }
}

Sent SendTicket(Slot* slot, Ticket* t, SignalFor what, uint64_t sequence) {
  slot->sending.store(true, std::memory_order_seq_cst);
  if (slot->state.load(std::memory_order_seq_cst) != SlotState::kActive) {
    slot->sending.store(false, std::memory_order_seq_cst);
    return Sent::kThreadEnded;
  }
  t->sequence = sequence;
  t->sent_nanos = MonotonicNanos();
  t->sample = agent->status->sent.fetch_add(1, std::memory_order_relaxed) + 1;
  t->state.store(TicketState::kPending, std::memory_order_release);
  siginfo_t info = {};
  info.si_signo = agent->options.signal;
  info.si_code = SI_QUEUE;
  info.si_pid = own_pid;
  info.si_uid = getuid();
  info.si_value.sival_ptr = reinterpret_cast<void*>(sequence << kSignalForBits | static_cast<uint64_t>(what));
  Sent sent = Sent::kYes;
  if (syscall(SYS_rt_tgsigqueueinfo, own_pid, slot->tid.load(), agent->options.signal, &info) != 0) {
    TicketState pending = TicketState::kPending;
    if (t->state.compare_exchange_strong(pending, TicketState::kIdle)) sent = Sent::kRefused;
  }
  Assert(2, [&] { return HasThread(*slot); });
  slot->sending.store(false, std::memory_order_seq_cst);
  return sent;
}

std::string InstallHandler(int signal) {
  own_pid = getpid();
  struct sigaction before = {};
  if (sigaction(signal, nullptr, &before) != 0)
    return std::string("cannot read the signal's handler: ") + strerror(errno);
  const bool taken = (before.sa_flags & SA_SIGINFO) != 0 ? before.sa_sigaction != nullptr
                                                         : before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN;
  if (taken) {
    return "signal " + std::to_string(signal) + " already has a handler: choose another with the option signal";
  }
  struct sigaction action = {};
  action.sa_sigaction = Handle;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigfillset(&action.sa_mask);
  // The walk may fault inside HotSpot's SafeFetch, which its own handlers resolve.
  for (const int s : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP}) sigdelset(&action.sa_mask, s);
  if (sigaction(signal, &action, nullptr) != 0)
    return std::string("cannot install the signal handler: ") + strerror(errno);
  return "";
}

void StartSampler() {
  const bool sampling = agent->options.asgct_shadow > 0 || agent->options.bracket > 0;
  stop_sampler = stop_judge = stop_turns = false;
  judge = new Judge();
  if (sampling && !StartThread(&judge_thread, RunJudge)) {
    Log("cannot start the judge thread: asgct-shadow, asgct-gst-bracket and liveness are off");
    delete std::exchange(judge, nullptr);
    return;
  }
  if (agent->options.bracket > 0 && !StartBracketer()) {
    Log("cannot start the bracket thread: asgct-gst-bracket does nothing");
  }
  started = StartThread(&sampler_thread, RunSampler);
  if (!started) Log("cannot start the sampler thread: asgct-shadow, asgct-gst-bracket and liveness are off");
}

void StopSampler() {
  if (started) {
    stop_sampler.store(true, std::memory_order_release);
    pthread_join(sampler_thread, nullptr);
  }
  if (judge == nullptr) return;
  stop_turns.store(true, std::memory_order_seq_cst);
  // Signals on their way: those not handled yet are given up, a handler at work is waited for, within reason.
  const uint64_t limit = MonotonicNanos() + 2'000'000'000;
  for (size_t i = 0; i < agent->threads.size(); i++) {
    for (Ticket& t : agent->threads.at(i)->tickets) {
      TicketState pending = TicketState::kPending;
      if (t.state.compare_exchange_strong(pending, TicketState::kIdle)) {
        Count(agent->status, Check::kAsgctShadow, Verdict::Void(Reason::kExit));
      }
      while (t.state.load(std::memory_order_seq_cst) == TicketState::kFilling && MonotonicNanos() < limit) {
        SleepUntil(MonotonicNanos() + 1'000'000);
      }
    }
  }
  if (agent->options.bracket > 0) StopBracketer();
  if (agent->options.asgct_shadow > 0 || agent->options.bracket > 0) {
    stop_judge.store(true, std::memory_order_release);
    pthread_join(judge_thread, nullptr);
  }
  // What waits for events waits here, too: the JVM sends them until it is dead.
  const uint64_t patience = MonotonicNanos() + kMostEarlyNanos;
  for (uint64_t now = 0; now < patience;) {
    now = MonotonicNanos();
    judge->Round(now, false);
    JudgeBrackets(false);
    if (!judge->Waiting() && !BracketsWait()) break;
    SleepUntil(now + 1'000'000);
  }
  judge->Round(MonotonicNanos(), true);
  JudgeBrackets(true);
}

}  // namespace misstep
