// The checks at method entries, on the thread's own stack: gst-asgct and shadow-gst.

#include <algorithm>
#include <atomic>
#include <cmath>

#include "agent.h"
#include "sampler.h"

namespace misstep {
namespace {

// Sets the flight record's phase for a scope and restores what a signal handler may have interrupted.
class PhaseScope {
 public:
  PhaseScope(ThreadStatus* status, uint32_t phase)
      : status_(status), before_(status->phase.load()), enter_before_(status->enter_nanos.load()) {
    status_->enter_nanos.store(MonotonicNanos(), std::memory_order_relaxed);
    status_->phase.store(phase, std::memory_order_release);
  }
  ~PhaseScope() {
    status_->enter_nanos.store(enter_before_, std::memory_order_relaxed);
    status_->phase.store(before_, std::memory_order_release);
  }

 private:
  ThreadStatus* status_;
  uint32_t before_;
  uint64_t enter_before_;
};

// Entries to skip until the next check, so that each entry is checked with probability share.
int64_t DrawCountdown(double share, uint64_t* random) {
  if (share >= 1.0) return 0;
  if (share <= 0.0) return INT64_MAX / 2;
  const double skip = std::floor(std::log1p(-Uniform(random)) / std::log1p(-share));
  return skip < 1e15 ? static_cast<int64_t>(skip) : INT64_C(1000000000000000);
}

std::vector<Frame> ToFrames(const AsgctFrame* frames, int32_t count) {
  std::vector<Frame> all(static_cast<size_t>(count > 0 ? count : 0));
  for (size_t i = 0; i < all.size(); i++) {
    all[i] = {reinterpret_cast<uint64_t>(frames[i].method), frames[i].bci, nullptr};
  }
  return all;
}

int32_t OwnWalk(Slot* slot, uint64_t sequence) {
  AsgctTrace trace = {slot->env, 0, slot->asgct};
  const PhaseScope phase(slot->status, MISSTEP_PHASE_OWN_WALK);
  Assert(1, [&] { return slot->busy == 0; });
  slot->busy = 1;
  Walk(&trace, nullptr, kEntryWalk | sequence);
  slot->busy = 0;
  return trace.num_frames;
}

// The check itself is a native method, and no signal came.
Place PlaceOfEntry(const Slot& slot, uint64_t sequence) {
  return {.thread = slot.name, .tid = slot.tid, .sequence = sequence, .spot = {}, .top_state = "native"};
}

void ReportEntry(Check check, const Verdict& verdict, const Slot& slot, uint64_t sequence, NamedTrace reference,
                 NamedTrace suspect, const NmethodRef& deoptimised = nullptr) {
  Mismatch m;
  m.check = check;
  m.verdict = verdict;
  m.reference = std::move(reference);
  m.suspect = std::move(suspect);
  m.place = PlaceOfEntry(slot, sequence);
  m.deoptimised_caller = NamedRoot(deoptimised);
  Report(m);
}

// Waits until the JVM has told of something, a quarter of a second at most and no more than forty times in a run.
template <typename Question>
void Await(std::atomic<int>* awaited, Question told) {
  constexpr int kMostAwaited = 40;
  if (awaited->fetch_add(1, std::memory_order_relaxed) >= kMostAwaited) return;
  const uint64_t end = MonotonicNanos() + kEarlyNanos;
  while (!told() && MonotonicNanos() < end) SleepUntil(MonotonicNanos() + 5'000'000);
}

// Waits for the JVM to say that it dies. Returns whether it did.
bool AwaitEnd() {
  static std::atomic<int> awaited = 0;
  const auto ended = [] { return agent->stage.load() == Stage::kEnded; };
  Await(&awaited, ended);
  return ended();
}

// The caller whose deoptimisation cut a walk off. Code runs before the JVM tells of it: when an entry on the stack is
// of no code that fits, it is waited for, as samples wait. Below an upcall a walk ends in any case.
NmethodRef AwaitDeoptimisedCaller(std::span<const Frame> gst, std::span<const Frame> asgct, const Verdict& verdict,
                                  std::span<const StackWord> words) {
  static std::atomic<int> awaited = 0;
  NmethodRef found = DeoptimisedCaller(gst, verdict, words);
  const auto is_entry = [](const StackWord& word) { return agent->deopt_stubs.IsEntry(word.value); };
  if (found != nullptr || verdict.kind != Kind::kTruncated || asgct.empty() || asgct.back().info == nullptr ||
      asgct.back().info->upcall != Upcall::kNone || std::none_of(words.begin(), words.end(), is_entry)) {
    return found;
  }
  Await(&awaited, [&] {
    found = DeoptimisedCaller(gst, verdict, words);
    return found != nullptr;
  });
  return found;
}

// The thread's own stack. Returns false when the JVM refuses it.
bool OwnStack(Slot* slot, std::vector<Frame>* gst) {
  jint count = 0;
  MaySafepoint();
  if (agent->jvmti->GetStackTrace(nullptr, 0, static_cast<jint>(agent->options.depth), slot->gst, &count) !=
      JVMTI_ERROR_NONE) {
    return false;
  }
  gst->resize(static_cast<size_t>(count));
  for (size_t i = 0; i < gst->size(); i++) {
    (*gst)[i] = {reinterpret_cast<uint64_t>(slot->gst[i].method), static_cast<int32_t>(slot->gst[i].location), nullptr};
  }
  return true;
}

// Redefinitions between the two walks of one check that are put up with.
constexpr int kMostRenamed = 3;

void GstAsgct(JNIEnv* env, Slot* slot, std::span<Frame> gst, uint64_t sequence) {
  const auto sp = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  const uint64_t end = slot->stack.EndFrom(sp);
  int32_t code = 0;
  std::vector<Frame> asgct;
  bool retried = false;
  const auto take = [&] {
    code = OwnWalk(slot, sequence);
    asgct = ToFrames(slot->asgct, code);
  };
  const auto compare = [&] {
    const bool deoptimises = code == kDeoptCode && agent->deopt_stubs.OnStack(sp, end);
    return CompareGstAsgct(gst, asgct, code, agent->options.depth, deoptimises);
  };
  // What else is wrong with a walk is not forgotten because it is worth a second one.
  const auto walk = [&] {
    take();
    if (!WorthRetrying(code, asgct)) return compare();
    ResolveOwnStack(env, gst);
    agent->methods.Resolve(asgct);
    const Verdict first = compare();
    if (first.outcome == Outcome::kMismatch) return first;
    retried = true;
    take();
    return compare();
  };
  Verdict verdict = walk();
  // A class may be redefined between the walks, at a safepoint that native code does not wait for: the same frames have
  // other ids then, and GetStackTrace gives those, too, when asked again. A check that has lost its reference so is
  // done anew. Nothing is asked of the JVM about ids that may be gone.
  bool renamed = false;
  std::vector<Frame> now;
  for (int i = 0; i < kMostRenamed && verdict.outcome == Outcome::kMismatch && OwnStack(slot, &now); i++) {
    const auto same_id = [](const Frame& a, const Frame& b) { return a.method == b.method; };
    if (!SamePlaces(gst, now) || std::equal(gst.begin(), gst.end(), now.begin(), same_id)) break;
    renamed = true;
    std::copy(now.begin(), now.end(), gst.begin());
    verdict = walk();
  }
  if (renamed && verdict.outcome == Outcome::kMatch) verdict = Verdict::Tolerated(Rule::kRetransformed);
  if (verdict.outcome != Outcome::kMatch && verdict.rule != Rule::kRetransformed) {
    ResolveOwnStack(env, gst);
    agent->methods.Resolve(asgct);
    verdict = compare();
    // What is equal to GetStackTrace's is judged with it.
    const Origin origin = {
        .source = "asgct", .num_frames = code, .walk = kEntryWalk | sequence, .place = PlaceOfEntry(*slot, sequence)};
    CheckEdgesOf(asgct, origin, &slot->random);
  }
  if (code == kNoClassLoadCode) verdict = AtTheEnd(verdict, code, AwaitEnd());
  if (retried) verdict = AfterRetry(verdict);
  if (verdict.outcome == Outcome::kMismatch) {
    std::vector<StackWord> words(16 * CodeMap::kMostWords);
    words.resize(agent->code.WordsOnStack(sp, end, words));
    ReportEntry(Check::kGstAsgct, verdict, *slot, sequence, Named("gst", gst, static_cast<int32_t>(gst.size())),
                Named("asgct", asgct, code), AwaitDeoptimisedCaller(gst, asgct, verdict, words));
  }
  CountWalk(Check::kGstAsgct, verdict, kEntryWalk | sequence, 0);
}

void ShadowGst(JNIEnv* env, Slot* slot, const std::vector<uint32_t>& ids, bool overflow, std::span<Frame> gst,
               uint64_t sequence) {
  Verdict verdict;
  if (overflow) {
    verdict = Verdict::Void(Reason::kDepth);
  } else {
    ResolveOwnStack(env, gst);
    std::vector<uint32_t> keys = ids;
    agent->methods.KeysOf(keys);
    verdict = CompareShadowGst(keys, gst, agent->options.depth);
    if (verdict.outcome == Outcome::kMismatch) {
      ReportEntry(Check::kShadowGst, verdict, *slot, sequence, NamedShadow(agent->methods, keys),
                  Named("gst", gst, static_cast<int32_t>(gst.size())));
    }
  }
  Count(agent->status, Check::kShadowGst, verdict);
}

// The share of entries at which something is to be done: the checks take nested shares of them.
double EntryShare(const Options& o) { return std::fmax(o.trace, std::fmax(o.gst_asgct, o.shadow_gst)); }

// Puts the stack at the entry of the method that was just pushed onto the trace stack. The signal handler may look at
// any moment: an entry is there when its tag is on the shadow.
void KeepTrace(JNIEnv* env, Slot* slot, std::span<Frame> gst) {
  TraceStack& traces = slot->traces;
  uint64_t* entries = slot->shadow + MISSTEP_SHADOW_HEADER / 8;
  const uint64_t size = ShadowSize(slot->shadow);
  if (size == 0 || size > ShadowCapacity(slot->shadow)) return;
  const uint64_t at = size - 1;
  ResolveOwnStack(env, gst);
  // The push and the check itself are on top.
  size_t top = 0;
  while (top < gst.size() && gst[top].info != nullptr && gst[top].info->role != Role::kPlain) top++;
  uint32_t key = static_cast<uint32_t>(entries[at]);
  agent->methods.KeysOf(std::span(&key, 1));
  if (top == gst.size() || gst[top].info == nullptr || key == 0 || gst[top].info->key != key) return;
  const std::span<const Frame> frames = gst.subspan(top);
  if (gst.size() >= agent->options.depth) return;
  // What is not on the shadow any more is gone, and this entry's own was another's.
  uint32_t count = traces.size;
  while (count > 0) {
    const TraceStack::Entry& e = traces.entries[count - 1];
    if (e.at < at && entries[e.at] >> 32 == e.tag) break;
    count--;
  }
  if (count == TraceStack::kMost) return;
  const uint32_t caller = count > 0 ? traces.entries[count - 1].end : 0;
  if (caller >= frames.size() && count > 0) return;
  traces.size = count;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  // The caller's trace is there already, but for where the caller stands now.
  for (size_t i = caller > 0 ? caller - 1 : 0; i < frames.size(); i++) {
    const Frame& f = frames[frames.size() - 1 - i];
    traces.frames[i] = {f.bci, reinterpret_cast<jmethodID>(f.method)};
  }
  if (++traces.last_tag == 0) traces.last_tag = 1;
  traces.entries[count] = {.at = at, .tag = traces.last_tag, .end = static_cast<uint32_t>(frames.size())};
  std::atomic_signal_fence(std::memory_order_seq_cst);
  entries[at] = (entries[at] & 0xffffffff) | uint64_t{traces.last_tag} << 32;
  traces.size = count + 1;
}

// Arms the countdown of a shadow buffer for the next entry check and the next point of the perturbation, whichever
// comes first, both in method entries from here. It runs out before the buffer is full, too: MisstepShadow.enter asks
// for room only then.
void Arm(uint64_t* shadow, int64_t check, int64_t point) {
  const auto size = static_cast<int64_t>(ShadowSize(shadow));
  const auto capacity = static_cast<int64_t>(ShadowCapacity(shadow));
  const int64_t countdown = std::min({check, point, std::max(capacity - size, int64_t{0}) + 1});
  shadow[MISSTEP_SHADOW_CHECK / 8] = static_cast<uint64_t>(check);
  shadow[MISSTEP_SHADOW_POINT / 8] = static_cast<uint64_t>(point);
  shadow[MISSTEP_SHADOW_SET / 8] = static_cast<uint64_t>(countdown);
  reinterpret_cast<volatile int64_t&>(shadow[MISSTEP_SHADOW_COUNTDOWN / 8]) = countdown - 1;
}

// Method entries until what cannot be done now is tried again.
constexpr int64_t kLater = 256;

// What a countdown that ran out stands for: comes to a point of the perturbation when one is due, and says whether an
// entry check is.
bool CheckIsDue(Slot* slot, uint64_t* shadow, double share, Stage stage) {
  const auto passed = static_cast<int64_t>(shadow[MISSTEP_SHADOW_SET / 8]);
  int64_t check = static_cast<int64_t>(shadow[MISSTEP_SHADOW_CHECK / 8]) - passed;
  int64_t point = static_cast<int64_t>(shadow[MISSTEP_SHADOW_POINT / 8]) - passed;
  const bool due = check <= 0;
  if (due) check = (stage == Stage::kEnded ? INT64_MAX / 2 : DrawCountdown(share, &slot->random)) + 1;
  if (!agent->perturber.on() || stage == Stage::kEnded) {
    point = check;
  } else if (stage != Stage::kReady) {
    point = kLater;
  } else if (point <= 0) {
    {
      const PhaseScope wait(slot->status, MISSTEP_PHASE_NONE);  // a wait is no work of the agent
      point = agent->perturber.Point(&slot->point, kEventExpiry);
    }
    slot->status->enter_nanos.store(MonotonicNanos(), std::memory_order_relaxed);  // which begins after it
  }
  Arm(shadow, check, point);
  return due;
}

// The shadow buffer of the current thread, which may be a virtual one, null when it has none.
uint64_t* CurrentShadow(JNIEnv* env, const Slot* slot) {
  if (agent->virtual_thread_class == nullptr) return slot == nullptr ? nullptr : slot->shadow;
  jthread thread = nullptr;
  MaySafepoint();
  if (agent->jvmti->GetCurrentThread(&thread) != JVMTI_ERROR_NONE || thread == nullptr) return nullptr;
  const jlong buffer = env->GetLongField(thread, agent->shadow_field);
  env->DeleteLocalRef(thread);
  return buffer > 0 ? reinterpret_cast<uint64_t*>(buffer) : nullptr;
}

}  // namespace

Slot* SlotOfThisThread(JNIEnv* env, jobject thread) {
  if (Slot* slot = Threads::Current(); slot != nullptr || Threads::IsExcluded()) return slot;
  std::string name;
  jvmtiThreadInfo info = {};
  MaySafepoint();
  if (agent->jvmti->GetThreadInfo(thread, &info) == JVMTI_ERROR_NONE) {
    name = info.name != nullptr ? info.name : "";
    agent->jvmti->Deallocate(reinterpret_cast<unsigned char*>(info.name));
    if (info.thread_group != nullptr) env->DeleteLocalRef(info.thread_group);
    if (info.context_class_loader != nullptr) env->DeleteLocalRef(info.context_class_loader);
  }
  Slot* slot = agent->threads.Attach(env, agent->options.depth, agent->options.seed, agent->status, std::move(name));
  static std::atomic<bool> told = false;
  if (slot == nullptr && !told.exchange(true)) {
    Log("threads without checks: " + std::to_string(MISSTEP_THREAD_COUNT) +
        " at a time have a slot, as long as there is memory for them; further ones run unchecked");
  }
  return slot;
}

}  // namespace misstep

using namespace misstep;  // NOLINT: the two natives of java.lang.MisstepShadow stand outside

extern "C" {

JNIEXPORT void JNICALL Java_java_lang_MisstepShadow_check(JNIEnv* env, jclass, jint) {
  Slot* slot = Threads::Current();
  if (slot == nullptr) {  // a virtual thread on a carrier that has none
    if (uint64_t* shadow = CurrentShadow(env, nullptr); shadow != nullptr) Arm(shadow, kLater, kLater);
    return;
  }
  const PhaseScope phase(slot->status, MISSTEP_PHASE_CHECK);
  uint64_t* shadow = CurrentShadow(env, slot);
  if (shadow == nullptr) return;
  const Options& o = agent->options;
  const double share = EntryShare(o);
  const Stage stage = agent->stage.load(std::memory_order_acquire);
  if (!CheckIsDue(slot, shadow, share, stage) || share <= 0.0 || stage != Stage::kReady) return;
  const double draw = Uniform(&slot->random) * share;
  const bool want_gst_asgct = draw < o.gst_asgct;
  const bool want_shadow_gst = draw < o.shadow_gst;

  const uint64_t sequence = agent->sequence.fetch_add(1, std::memory_order_relaxed) + 1;
  slot->status->sequence.store(sequence, std::memory_order_relaxed);
  // Where the JVM called this native method, as the walks begin at the frame of its caller.
  slot->status->pc.store(reinterpret_cast<uint64_t>(__builtin_return_address(0)), std::memory_order_relaxed);
  slot->status->sp.store(reinterpret_cast<uint64_t>(__builtin_frame_address(0)), std::memory_order_relaxed);
  std::vector<uint32_t> ids;
  bool overflow = false;
  if (want_shadow_gst) {
    const uint64_t size = ShadowSize(shadow);
    overflow = size > ShadowCapacity(shadow);
    const uint64_t* entries = shadow + MISSTEP_SHADOW_HEADER / 8;
    for (uint64_t i = 0; i < size && !overflow; i++) ids.push_back(static_cast<uint32_t>(entries[i]));
  }
  std::vector<Frame> gst;
  if (!OwnStack(slot, &gst)) {
    if (want_gst_asgct) Count(agent->status, Check::kGstAsgct, Verdict::Void(Reason::kGstError));
    if (want_shadow_gst) Count(agent->status, Check::kShadowGst, Verdict::Void(Reason::kGstError));
    return;
  }
  if (o.edges > 0) {
    ResolveOwnStack(env, gst);
    const auto frames = static_cast<int32_t>(gst.size());
    const Origin origin = {.source = "gst", .num_frames = frames, .place = PlaceOfEntry(*slot, sequence)};
    CheckEdgesOf(gst, origin, &slot->random);
  }
  if (shadow == slot->shadow && !gst.empty() && gst.size() < o.depth) slot->bottom = gst.back().method;
  if (draw < o.trace && shadow == slot->shadow) KeepTrace(env, slot, gst);
  if (want_gst_asgct) GstAsgct(env, slot, gst, sequence);
  if (want_shadow_gst) ShadowGst(env, slot, ids, overflow, gst, sequence);
}

JNIEXPORT jlong JNICALL Java_java_lang_MisstepShadow_attach(JNIEnv* env, jclass, jobject thread) {
  uint64_t* buffer = nullptr;
  if (agent->stage.load(std::memory_order_acquire) != Stage::kEnded) {
    MaySafepoint();
    Slot* slot = SlotOfThisThread(env, thread);
    const bool is_virtual =
        agent->virtual_thread_class != nullptr && env->IsInstanceOf(thread, agent->virtual_thread_class) == JNI_TRUE;
    if (slot != nullptr && is_virtual) slot->carrier = true;
    if (slot != nullptr) buffer = is_virtual ? agent->virtual_shadows.Attach(env, thread) : slot->shadow;
    static std::atomic<bool> told = false;
    if (is_virtual && slot != nullptr && buffer == nullptr && !told.exchange(true)) {
      Log("virtual threads without checks: " + std::to_string(VirtualShadows::kMost) +
          " at a time have a shadow, further ones run unchecked");
    }
    const Options& o = agent->options;
    if (buffer != nullptr) {
      const double share = EntryShare(o);
      // The first point is at the thread's start.
      int64_t point = INT64_MAX / 2;
      if (agent->perturber.on()) point = agent->perturber.Point(&slot->point, kEventStart);
      Arm(buffer, DrawCountdown(share, &slot->random) + 1, point);
    } else if (!Threads::IsExcluded()) {
      if (o.gst_asgct > 0) Count(agent->status, Check::kGstAsgct, Verdict::Void(Reason::kNoSlot));
      if (o.shadow_gst > 0) Count(agent->status, Check::kShadowGst, Verdict::Void(Reason::kNoSlot));
    }
  }
  const jlong address = buffer != nullptr ? static_cast<jlong>(reinterpret_cast<uint64_t>(buffer)) : -1;
  MaySafepoint();
  env->SetLongField(thread, agent->shadow_field, address);
  return address;
}

}  // extern "C"
