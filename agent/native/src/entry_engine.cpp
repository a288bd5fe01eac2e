#include "entry_engine.h"

#include <algorithm>
#include <string>
#include <utility>

#include "clock.h"
#include "compare.h"
#include "countdown.h"
#include "edge_check.h"
#include "evidence.h"
#include "log.h"
#include "phase.h"
#include "publisher.h"
#include "random.h"
#include "rules.h"
#include "state.h"
#include "trace_stack.h"
#include "verdict_count.h"
#include "walk.h"

namespace misstep {

namespace {

// The longest wait, and the sum of waits for one thing after which no other one begins: those under way end later. The
// thread that announces may be without a processor for a while.
constexpr uint64_t kAwaitNanos = 2'000'000'000;
constexpr uint64_t kMostAwaitedNanos = 10'000'000'000;
constexpr uint64_t kAwaitLookNanos = 5'000'000;

// Redefinitions between the two walks of one check, after which the check is done anew.
constexpr int kMostRenamed = 3;

std::vector<Frame> ToFrames(const AsgctFrame* frames, int32_t count) {
  std::vector<Frame> all(static_cast<size_t>(count > 0 ? count : 0));
  for (size_t i = 0; i < all.size(); i++) {
    all[i] = {reinterpret_cast<uint64_t>(frames[i].method), frames[i].bci, nullptr};
  }
  return all;
}

// The check itself is a native method, and no signal came.
Place PlaceOfEntry(const Slot& slot, uint64_t sequence) {
  return {.thread = slot.name, .tid = slot.tid, .sequence = sequence, .spot = {}, .top_state = "native"};
}

void ReportEntry(State& state, Check check, const Verdict& verdict, const Slot& slot, uint64_t sequence,
                 NamedTrace reference, NamedTrace suspect, const NmethodRef& deoptimised = nullptr) {
  Mismatch m;
  m.check = check;
  m.verdict = verdict;
  m.reference = std::move(reference);
  m.suspect = std::move(suspect);
  m.place = PlaceOfEntry(slot, sequence);
  m.deoptimised_caller = NamedRoot(state.methods, deoptimised);
  Report(state, m);
}

// Waits until the JVM has announced something.
template <typename Question>
void Await(std::atomic<uint64_t>* awaited_nanos, Question done) {
  if (awaited_nanos->load(std::memory_order_relaxed) >= kMostAwaitedNanos) return;
  const uint64_t begin_nanos = MonotonicNanos();
  uint64_t now_nanos = begin_nanos;
  while (!done() && now_nanos < begin_nanos + kAwaitNanos) {
    SleepUntil(now_nanos + kAwaitLookNanos);
    now_nanos = MonotonicNanos();
  }
  awaited_nanos->fetch_add(now_nanos - begin_nanos, std::memory_order_relaxed);
}

}  // namespace

int32_t EntryEngine::OwnWalk(Slot* slot, uint64_t sequence) const {
  AsgctTrace trace = {slot->env, 0, slot->asgct};
  const PhaseScope phase(slot->status, MISSTEP_PHASE_OWN_WALK);
  Assert(1, [&] { return slot->busy == 0; });
  slot->busy = 1;
  Walk(state_, &trace, nullptr, kEntryWalk | sequence);
  slot->busy = 0;
  return trace.num_frames;
}

// The thread's own stack. Returns false when the JVM refuses it.
bool EntryEngine::OwnStack(Slot* slot, std::vector<Frame>* gst) const {
  jint count = 0;
  MaySafepoint();
  if (state_.jvmti->GetStackTrace(nullptr, 0, static_cast<jint>(state_.options.depth), slot->gst, &count) !=
      JVMTI_ERROR_NONE) {
    return false;
  }
  gst->resize(static_cast<size_t>(count));
  for (size_t i = 0; i < gst->size(); i++) {
    (*gst)[i] = {reinterpret_cast<uint64_t>(slot->gst[i].method), static_cast<int32_t>(slot->gst[i].location), nullptr};
  }
  return true;
}

// Waits for the JVM to say that it dies. Returns whether it did.
bool EntryEngine::AwaitEnd() {
  const auto ended = [&] { return state_.Ended(); };
  Await(&awaited_ends_nanos_, ended);
  return ended();
}

// The caller whose deoptimisation cut a walk off. Code runs before the JVM announces it: when an entry on the stack is
// of no code that fits, it is waited for, as samples wait. Below an upcall a walk ends in any case.
NmethodRef EntryEngine::AwaitDeoptimisedCaller(std::span<const Frame> gst, std::span<const Frame> asgct,
                                               const Verdict& verdict, std::span<const StackWord> words) {
  NmethodRef found = DeoptimisedCaller(state_, gst, verdict, words);
  const auto is_entry = [&](const StackWord& word) { return state_.deopt_stubs.IsEntry(word.value); };
  if (found != nullptr || verdict.kind != Kind::kTruncated || asgct.empty() || asgct.back().info == nullptr ||
      asgct.back().info->upcall != Upcall::kNone || std::none_of(words.begin(), words.end(), is_entry)) {
    return found;
  }
  Await(&awaited_callers_nanos_, [&] {
    found = DeoptimisedCaller(state_, gst, verdict, words);
    return found != nullptr;
  });
  return found;
}

void EntryEngine::GstAsgct(JNIEnv* env, Slot* slot, std::span<Frame> gst, uint64_t sequence) {
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
    const bool deoptimises = code == kDeoptCode && state_.deopt_stubs.OnStack(sp, end);
    return CompareGstAsgct(gst, asgct, code, state_.options.depth, deoptimises);
  };
  // What else is wrong with a walk is not forgotten because it is worth a second one.
  const auto walk = [&] {
    take();
    if (!WorthRetrying(code, asgct)) return compare();
    ResolveOwnStack(state_, env, gst);
    state_.methods.Resolve(asgct);
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
    ResolveOwnStack(state_, env, gst);
    state_.methods.Resolve(asgct);
    verdict = compare();
    // What is equal to GetStackTrace's is judged with it.
    const Origin origin = {
        .source = "asgct", .num_frames = code, .walk = kEntryWalk | sequence, .place = PlaceOfEntry(*slot, sequence)};
    CheckEdgesOf(state_, asgct, origin, &slot->random);
  }
  if (code == kNoClassLoadCode) verdict = AtTheEnd(verdict, code, AwaitEnd());
  if (retried) verdict = AfterRetry(verdict);
  if (verdict.outcome == Outcome::kMismatch) {
    std::vector<StackWord> words(16 * CodeMap::kMostWords);
    words.resize(state_.code.WordsOnStack(sp, end, words));
    ReportEntry(state_, misstep::Check::kGstAsgct, verdict, *slot, sequence,
                Named("gst", gst, static_cast<int32_t>(gst.size())), Named("asgct", asgct, code),
                AwaitDeoptimisedCaller(gst, asgct, verdict, words));
  }
  CountWalk(state_, misstep::Check::kGstAsgct, verdict, kEntryWalk | sequence, 0);
}

void EntryEngine::ShadowGst(JNIEnv* env, Slot* slot, const std::vector<uint32_t>& ids, bool overflow,
                            std::span<Frame> gst, uint64_t sequence) {
  Verdict verdict;
  if (overflow) {
    verdict = Verdict::Void(Reason::kDepth);
  } else {
    ResolveOwnStack(state_, env, gst);
    std::vector<uint32_t> keys = ids;
    state_.methods.KeysOf(keys);
    verdict = CompareShadowGst(keys, gst, state_.options.depth);
    if (verdict.outcome == Outcome::kMismatch) {
      ReportEntry(state_, misstep::Check::kShadowGst, verdict, *slot, sequence, NamedShadow(state_.methods, keys),
                  Named("gst", gst, static_cast<int32_t>(gst.size())));
    }
  }
  Count(state_.status, misstep::Check::kShadowGst, verdict);
}

// The shadow buffer of the current thread, which may be a virtual one, null when it has none.
uint64_t* EntryEngine::CurrentShadow(JNIEnv* env, const Slot* slot) const {
  if (state_.virtual_thread_class == nullptr) return slot == nullptr ? nullptr : slot->shadow;
  jthread thread = nullptr;
  MaySafepoint();
  if (state_.jvmti->GetCurrentThread(&thread) != JVMTI_ERROR_NONE || thread == nullptr) return nullptr;
  const jlong buffer = env->GetLongField(thread, state_.shadow_field);
  env->DeleteLocalRef(thread);
  return buffer > 0 ? reinterpret_cast<uint64_t*>(buffer) : nullptr;
}

Slot* EntryEngine::SlotOfThisThread(JNIEnv* env, jobject thread) {
  if (Slot* slot = Threads::Current(); slot != nullptr || Threads::IsExcluded()) return slot;
  Slot* slot = state_.threads.Attach(env, state_.vm, state_.status, ThreadName(state_.jvmti, env, thread));
  if (slot == nullptr && !logged_no_slot_.exchange(true)) {
    Log("threads without checks: " + std::to_string(MISSTEP_THREAD_COUNT) +
        " at a time have a slot, as long as there is memory for them; further ones run unchecked");
  }
  return slot;
}

void EntryEngine::Check(JNIEnv* env, uint64_t pc, uint64_t sp) {
  Slot* slot = Threads::Current();
  if (slot == nullptr) {  // a virtual thread on a carrier that has none
    uint64_t* shadow = CurrentShadow(env, nullptr);
    if (shadow == nullptr) return;
    Slot* carrier = state_.current_carrier != nullptr ? SlotOfCarrier(env, nullptr) : nullptr;
    if (carrier != nullptr) SetMounted(carrier, shadow);
    Arm(shadow, kLater, kLater);
    return;
  }
  const PhaseScope phase(slot->status, MISSTEP_PHASE_CHECK);
  uint64_t* shadow = CurrentShadow(env, slot);
  if (shadow == nullptr) return;
  const Options& o = state_.options;
  const double share = EntryShare(o);
  const Stage stage = state_.stage.load(std::memory_order_acquire);
  const bool due = CheckIsDue(state_, slot, shadow, slot->entry_budget.Share(share), stage);
  if (!due || share <= 0.0 || stage != Stage::kReady) return;
  const uint64_t begin_nanos = o.budget > 0 ? OwnCpuNanos() : 0;
  if (slot->entry_budget.Admits(o.budget, begin_nanos)) CheckNow(env, slot, shadow, pc, sp);
  if (o.budget > 0) slot->entry_budget.Spend(o.budget, begin_nanos, OwnCpuNanos());
}

// Makes those of the checks that are drawn.
void EntryEngine::CheckNow(JNIEnv* env, Slot* slot, const uint64_t* shadow, uint64_t pc, uint64_t sp) {
  const Options& o = state_.options;
  const double share = EntryShare(o);
  const double draw = Uniform(&slot->random) * share;
  const bool want_gst_asgct = draw < o.gst_asgct;
  const bool want_shadow_gst = draw < o.shadow_gst;

  const uint64_t sequence = sequence_.fetch_add(1, std::memory_order_relaxed) + 1;
  slot->status->sequence.store(sequence, std::memory_order_relaxed);
  slot->status->pc.store(pc, std::memory_order_relaxed);
  slot->status->sp.store(sp, std::memory_order_relaxed);
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
    if (want_gst_asgct) Count(state_.status, misstep::Check::kGstAsgct, Verdict::Void(Reason::kGstError));
    if (want_shadow_gst) Count(state_.status, misstep::Check::kShadowGst, Verdict::Void(Reason::kGstError));
    return;
  }
  if (o.edges > 0) {
    ResolveOwnStack(state_, env, gst);
    const auto frames = static_cast<int32_t>(gst.size());
    const Origin origin = {.source = "gst", .num_frames = frames, .place = PlaceOfEntry(*slot, sequence)};
    CheckEdgesOf(state_, gst, origin, &slot->random);
  }
  if (shadow == slot->shadow && !gst.empty() && gst.size() < o.depth) slot->bottom = gst.back().method;
  if (draw < o.trace && shadow == slot->shadow) KeepTrace(state_, env, slot, gst);
  if (want_gst_asgct) GstAsgct(env, slot, gst, sequence);
  if (want_shadow_gst) ShadowGst(env, slot, ids, overflow, gst, sequence);
}

// The slot of the calling virtual thread's carrier, whose shadow says from then on what is mounted on it. Null as
// SlotOfThisThread.
Slot* EntryEngine::SlotOfCarrier(JNIEnv* env, jobject thread) {
  if (state_.current_carrier == nullptr) return SlotOfThisThread(env, thread);
  MaySafepoint();
  jobject carrier = env->CallStaticObjectMethod(state_.thread_class, state_.current_carrier);
  if (carrier == nullptr) {
    env->ExceptionClear();
    return nullptr;
  }
  if (env->GetLongField(carrier, state_.shadow_field) == 0) Attach(env, carrier);
  env->DeleteLocalRef(carrier);
  return Threads::Current();
}

// Notes on the carrier's shadow that the calling virtual thread is mounted on it, which VirtualThread.mount did not
// know or could not say; buffer is null if it gets none.
void EntryEngine::SetMounted(Slot* slot, const uint64_t* buffer) const {
  slot->carrier = true;
  if (state_.current_carrier == nullptr) return;
  slot->mounts = true;
  uint64_t* own = slot->shadow;
  if (own[MISSTEP_SHADOW_MOUNTED / 8] == MISSTEP_SHADOW_NONE)
    own[MISSTEP_SHADOW_MARK / 8] = own[MISSTEP_SHADOW_TOP / 8];
  std::atomic_signal_fence(std::memory_order_seq_cst);
  own[MISSTEP_SHADOW_MOUNTED / 8] =
      buffer != nullptr ? reinterpret_cast<uint64_t>(buffer) : static_cast<uint64_t>(MISSTEP_SHADOW_UNKNOWN);
}

jlong EntryEngine::Attach(JNIEnv* env, jobject thread) {
  uint64_t* buffer = nullptr;
  if (state_.stage.load(std::memory_order_acquire) != Stage::kEnded) {
    MaySafepoint();
    const bool is_virtual =
        state_.virtual_thread_class != nullptr && env->IsInstanceOf(thread, state_.virtual_thread_class) == JNI_TRUE;
    Slot* slot = is_virtual ? SlotOfCarrier(env, thread) : SlotOfThisThread(env, thread);
    if (slot != nullptr) buffer = is_virtual ? state_.virtual_shadows.Attach(env, thread) : slot->shadow;
    if (is_virtual && slot != nullptr && buffer == nullptr && !logged_no_shadow_.exchange(true)) {
      Log("virtual threads without checks: " + std::to_string(VirtualShadows::kMost) +
          " at a time have a shadow, further ones run unchecked");
    }
    if (is_virtual && slot != nullptr) SetMounted(slot, buffer);
    const Options& o = state_.options;
    if (buffer != nullptr) {
      const double share = EntryShare(o);
      // The first point is at the thread's start.
      int64_t point = INT64_MAX / 2;
      if (state_.perturber.on()) point = state_.perturber.Point(&slot->point, kEventStart);
      Arm(buffer, DrawCountdown(slot->entry_budget.Share(share), &slot->random) + 1, point);
    } else if (!Threads::IsExcluded()) {
      if (o.gst_asgct > 0) Count(state_.status, misstep::Check::kGstAsgct, Verdict::Void(Reason::kNoSlot));
      if (o.shadow_gst > 0) Count(state_.status, misstep::Check::kShadowGst, Verdict::Void(Reason::kNoSlot));
    }
  }
  const jlong address = buffer != nullptr ? static_cast<jlong>(reinterpret_cast<uint64_t>(buffer)) : -1;
  MaySafepoint();
  env->SetLongField(thread, state_.shadow_field, address);
  return address;
}

}  // namespace misstep
