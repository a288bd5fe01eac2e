// The decisions, as plain functions: no kernel types, no state, no loops without a bound. The same text is compiled for
// the kernel (sched.bpf.c) and for user space (test/policy.c), where determinism, distributions and bounds are tested.
//
// A decision is a function of the configuration (with its seed) and of one point: the thread's path of creation, its
// own decision counter, the event, its role, its and its creators' periods, whether a thread of the tree woke it, and
// the time since the tree began. Time enters only as the index of a chaos epoch and of a starvation window, and as the
// periods' powers of two. Nothing else depends on what other threads did, so the same thread gets the same decisions in
// another interleaving.
//
// Sources: PCT, Burckhardt et al., ASPLOS 2010; POS, Yuan et al., CAV 2018; starvation windows, rr's chaos mode
// (O'Callahan, "Introducing rr Chaos Mode", 2016); the mixing function is that of splitmix64 (Steele et al., OOPSLA
// 2014).
#ifndef MISSTEP_POLICY_H
#define MISSTEP_POLICY_H

#include "intf.h"

#define MISSTEP_INLINE static inline __attribute__((always_inline, unused))
// Larger functions are global for the kernel: its verifier then checks each once, by itself and for all arguments, and
// not again on every path to every call (inlined, it gave up after a million instructions).
#ifdef __bpf__
#define MISSTEP_FUNCTION __attribute__((noinline))
#define MISSTEP_NONNULL __attribute__((btf_decl_tag("arg:nonnull")))
#else
#define MISSTEP_FUNCTION static __attribute__((unused))
#define MISSTEP_NONNULL
#endif

// Purposes of draws, so that no two uses share a number.
enum misstep_lane {
  MISSTEP_LANE_DELAY = 1,
  MISSTEP_LANE_LENGTH = 2,
  MISSTEP_LANE_SHORT = 3,
  MISSTEP_LANE_SLICE = 4,
  MISSTEP_LANE_RANK = 5,
  MISSTEP_LANE_TARGET = 6,
  MISSTEP_LANE_LOW = 7,
  MISSTEP_LANE_WINDOW = 8,
  MISSTEP_LANE_OFFSET = 9,
  MISSTEP_LANE_PRIORITY = 10,
  MISSTEP_LANE_AWAY = 11,
  MISSTEP_LANE_ABSENCE = 12,
  MISSTEP_LANE_FAMILY = 13,
  MISSTEP_LANE_CHANGE = 16,  // and the following, one for each change point
  MISSTEP_LANE_CHAOS = 64,   // and the following, one for each knob
};

#define MISSTEP_CHANGE_POINTS 16       // at most; bounds the loop over them
#define MISSTEP_SLEEP_LEAST 200000ULL  // shorter periods are those of polling, and of waiting for a lock

MISSTEP_INLINE __u64 misstep_mix(__u64 x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// A 64-bit number for (seed, a, b, lane): the whole of our randomness.
MISSTEP_INLINE __u64 misstep_draw(__u64 seed, __u64 a, __u64 b, __u64 lane) {
  return misstep_mix(misstep_mix(misstep_mix(seed ^ (lane << 56)) ^ a) ^ b);
}

// The path of a thread: its parent's path and its place among the threads and processes that the parent created.
MISSTEP_INLINE __u64 misstep_path(__u64 parent, __u64 ordinal) { return misstep_mix(misstep_mix(parent) + ordinal); }

// The place in a log of a thread whose place now is ordinal, where each `threads` make a round that repeats the one
// that begins at `first`.
MISSTEP_INLINE __u64 misstep_round(__u64 ordinal, __u32 first, __u32 threads) {
  return first + (ordinal + threads - first % threads) % threads;
}

MISSTEP_INLINE int misstep_hit(__u64 draw, __u64 probability) { return (draw >> 32) < probability; }

// draw scaled to [0, bound] for bound < 2^32.
MISSTEP_INLINE __u64 misstep_scale(__u64 draw, __u64 bound) { return ((draw >> 32) * (bound + 1)) >> 32; }

// The binary logarithm of x >= 1 in units of 2^-16, linear within an octave; misstep_exp2 is its inverse.
// No branches, which the verifier would have to follow.
MISSTEP_INLINE __u64 misstep_log2(__u64 x) {
  __u64 below = x | x >> 1, e;  // all bits below the highest one set, then counted
  below |= below >> 2;
  below |= below >> 4;
  below |= below >> 8;
  below |= below >> 16;
  below |= below >> 32;
  below >>= 1;
  e = below - (below >> 1 & 0x5555555555555555ULL);
  e = (e & 0x3333333333333333ULL) + (e >> 2 & 0x3333333333333333ULL);
  e = ((e + (e >> 4)) & 0x0f0f0f0f0f0f0f0fULL) * 0x0101010101010101ULL >> 56;
  // the rest shifted so that the highest bit would be bit 63
  return (e << 16) + (x << (63 - (e & 63)) << 1 >> 48);
}

MISSTEP_INLINE __u64 misstep_exp2(__u64 l) {
  __u64 e = (l >> 16) & 63, mantissa = 1ULL << 63 | (l & 0xffff) << 47;
  return mantissa >> (63 - e);
}

// A number in [min, max], each octave between them equally likely, and uniform within an octave: short times stay
// frequent where long ones are possible.
MISSTEP_FUNCTION __u64 misstep_octaves(__u64 draw, __u64 min, __u64 max) {
  if (min < 1) min = 1;
  if (max <= min) return min;
  __u64 low = misstep_log2(min), high = misstep_log2(max);
  __u64 x = misstep_exp2(low + misstep_scale(draw, high - low));
  return x < min ? min : x > max ? max : x;
}

// A thread's period after one more sleep: it follows the longer ones of the thread's sleeps, up by a half and down by
// an eighth, so that one sleep that a perturbation made long hardly moves it.
MISSTEP_INLINE __u64 misstep_period(__u64 period, __u64 slept) {
  __u64 up = period + period / 2, down = period - period / 8;
  if (!period) return slept;
  return slept > up ? up : slept < down ? down : slept;
}

// The length of an absence: 1 to 32 times the thread's own period, or half to twice the longest one of the family. Of a
// period only the power of two counts: the noise of a clock does not change it.
MISSTEP_INLINE __u64 misstep_absence(__u64 draw, const struct misstep_knobs *k, const struct misstep_point *p,
                                     int family) {
  __u64 period = family && p->family > p->period ? p->family : p->period;
  __u64 least = misstep_exp2(misstep_log2(period | 1) & ~0xffffULL), most;
  if (family) least /= 2;
  if (least < k->away_min) least = k->away_min;
  if (least > k->away_max) least = k->away_max;
  most = least * (family ? 4 : 32);
  return misstep_octaves(draw, least, most < k->away_max ? most : k->away_max);
}

// Whether a thread had slept by its own choice: nobody of the tree woke it, and it usually sleeps for a while.
MISSTEP_INLINE int misstep_slept(const struct misstep_point *p) {
  return p->event == MISSTEP_EVENT_WAKEUP && p->waker == MISSTEP_WAKER_OUTSIDE && p->period >= MISSTEP_SLEEP_LEAST;
}

// Where the starvation windows of the time around `elapsed` lie.
struct misstep_window {
  __u64 start;
  __u64 end;
  __u64 next;  // the window after this one starts no earlier
  __u64 id;
};

// Time is cut into stretches of window_max / window_share. In each stretch one window length is drawn, the stretch is
// cut into periods in which such a window takes its share, and in each period the window lies at a drawn place. So
// windows of all lengths occur, no more than the share of time is in windows, and any moment's window is known without
// a history.
MISSTEP_FUNCTION int misstep_window_at(__u64 seed, const struct misstep_knobs *k MISSTEP_NONNULL, __u64 elapsed,
                                       struct misstep_window *w MISSTEP_NONNULL) {
  __u64 share = k->window_share > MISSTEP_ONE ? MISSTEP_ONE : k->window_share;
  __u64 percent = (share * 1000) >> 32;  // in thousandths: 2 s in nanoseconds times 1000 is well below 2^64
  if (percent < 1) percent = 1;
  __u64 stretch = k->window_max * 1000 / percent;
  if (stretch < 1000) stretch = 1000;
  __u64 i = elapsed / stretch;
  __u64 length = misstep_octaves(misstep_draw(seed, i, 0, MISSTEP_LANE_WINDOW), k->window_min, k->window_max);
  __u64 period = length * 1000 / percent;
  if (period < 1000) period = 1000;
  __u64 periods = stretch / period;
  if (periods < 1) periods = 1;
  period = stretch / periods;  // so that they fill the stretch
  if (length > period) length = period;
  __u64 j = (elapsed - i * stretch) / period;
  if (j >= periods) j = periods - 1;
  __u64 at = i * stretch + j * period;
  __u64 room = period - length + 1;
  w->start = at + misstep_draw(seed, i, j, MISSTEP_LANE_OFFSET) % room;
  w->end = w->start + length;
  w->next = j == periods - 1 ? (i + 1) * stretch : at + period;
  w->id = misstep_mix(i) ^ j;
  return 0;
}

// The priority of a thread under PCT as a rank: a random one per round of change_span own decisions, and from each
// change point that it passes one below all of these.
MISSTEP_FUNCTION __u64 misstep_pct_rank(__u64 seed, const struct misstep_knobs *k MISSTEP_NONNULL,
                                        const struct misstep_point *p MISSTEP_NONNULL, __u32 *marks MISSTEP_NONNULL) {
  __u32 span = k->change_span ? k->change_span : 1;
  __u64 round = p->counter / span, place = p->counter % span;
  __u64 upper = k->wait_max - k->wait_max / 4, step = k->wait_max / 4 / (MISSTEP_CHANGE_POINTS + 1);
  __u64 rank = misstep_scale(misstep_draw(seed, p->path, round, MISSTEP_LANE_PRIORITY), upper);
  __u64 latest = 0;
  int changed = 0;
  if (place == 0 && round > 0) *marks |= MISSTEP_MARK_CHANGED;
  for (__u32 i = 0; i < MISSTEP_CHANGE_POINTS; i++) {
    if (i >= k->change_points) break;
    __u64 point = misstep_draw(seed, p->path, round, MISSTEP_LANE_CHANGE + i) % span;
    if (point > place) continue;
    if (point == place) *marks |= MISSTEP_MARK_CHANGED;
    if (!changed || point >= latest) {
      changed = 1;
      latest = point;
      rank = upper + step * (i + 1);
    }
  }
  return rank;
}

// What happens to a thread at a point.
MISSTEP_FUNCTION int misstep_decide(__u64 seed, const struct misstep_knobs *k MISSTEP_NONNULL, __u64 epoch,
                                    const struct misstep_point *p MISSTEP_NONNULL,
                                    struct misstep_decision *d MISSTEP_NONNULL) {
  __u64 probability = p->event == MISSTEP_EVENT_EXPIRY ? k->delay_expiry : k->delay_wakeup;
  int targeted = misstep_hit(misstep_draw(seed, p->path, epoch, MISSTEP_LANE_TARGET), k->target);
  __s32 bias = k->order == MISSTEP_ORDER_ROLES && p->role < MISSTEP_ROLES ? k->bias[p->role] : 0;

  d->delay = 0;
  d->rank = 0;
  d->marks = 0;
  d->event = p->event;
  d->slice = k->slice_long ? k->slice_long : MISSTEP_SLICE_DEFAULT;

  if (k->order == MISSTEP_ORDER_ROLES) {
    if (bias > 100) bias = 100;
    if (bias < -100) bias = -100;
    probability = bias < 0 ? (__u64)-bias * (MISSTEP_ONE / 100) : 0;
    targeted = 1;
  }
  if (targeted && misstep_hit(misstep_draw(seed, p->path, p->counter, MISSTEP_LANE_DELAY), probability)) {
    d->delay =
        misstep_octaves(misstep_draw(seed, p->path, p->counter, MISSTEP_LANE_LENGTH), k->delay_min, k->delay_max);
    d->marks |= MISSTEP_MARK_DELAYED;
  }
  probability = p->event == MISSTEP_EVENT_EXPIRY ? 0 : misstep_slept(p) ? k->away_sleep : k->away;
  if (misstep_hit(misstep_draw(seed, p->path, p->counter, MISSTEP_LANE_AWAY), probability)) {
    int family = misstep_slept(p) && p->family &&
                 misstep_hit(misstep_draw(seed, p->path, p->counter, MISSTEP_LANE_FAMILY), k->away_family);
    d->delay = misstep_absence(misstep_draw(seed, p->path, p->counter, MISSTEP_LANE_ABSENCE), k, p, family);
    d->marks |= MISSTEP_MARK_AWAY;
  }
  if (targeted && misstep_hit(misstep_draw(seed, p->path, p->counter, MISSTEP_LANE_SHORT), k->slice_short)) {
    d->slice = misstep_octaves(misstep_draw(seed, p->path, p->counter, MISSTEP_LANE_SLICE), k->slice_min, k->slice_max);
    d->marks |= MISSTEP_MARK_SHORT;
  }
  switch (k->order) {
    case MISSTEP_ORDER_PCT:
      d->rank = misstep_pct_rank(seed, k, p, &d->marks);
      break;
    case MISSTEP_ORDER_POS:
      d->rank = misstep_scale(misstep_draw(seed, p->path, p->counter, MISSTEP_LANE_RANK), k->wait_max);
      d->marks |= MISSTEP_MARK_CHANGED;
      break;
    case MISSTEP_ORDER_ROLES:
      d->rank = k->wait_max * (__u64)(100 - bias) / 200;
      break;
  }
  if (d->delay > MISSTEP_DELAY_LIMIT / 2) d->delay = MISSTEP_DELAY_LIMIT / 2;
  if (k->window_share) {
    struct misstep_window w;
    __u64 begin = p->elapsed + d->delay;
    misstep_window_at(seed, k, begin, &w);
    int low = misstep_hit(misstep_draw(seed, p->path, w.id, MISSTEP_LANE_LOW), k->window_low);
    if (low && begin >= w.start && begin < w.end) {
      d->delay = w.end - p->elapsed;
      d->marks |= MISSTEP_MARK_STARVED;
    } else {
      // A thread that a window may hold must come to a decision when it opens: this window, or the next one.
      __u64 opens = low && begin < w.start ? w.start : w.next;
      if (d->slice > opens - begin) d->slice = opens - begin;
    }
  }
  if (d->delay > MISSTEP_DELAY_LIMIT) d->delay = MISSTEP_DELAY_LIMIT;
  if (d->rank > MISSTEP_RANK_LIMIT) d->rank = MISSTEP_RANK_LIMIT;
  if (d->slice > MISSTEP_SLICE_LIMIT) d->slice = MISSTEP_SLICE_LIMIT;
  if (d->slice < MISSTEP_SLICE_LEAST) d->slice = MISSTEP_SLICE_LEAST;
  return 0;
}

// Takes out of a decision what the configuration leaves alone: threads of spared roles, and own decisions that are not
// in [from, until). Slices are cut before `from`, too, so that a thread's counter means the same whatever its bounds
// are.
MISSTEP_INLINE void misstep_confine(__u32 from, __u32 until, __u32 flags, const struct misstep_point *p,
                                    struct misstep_decision *d) {
  int spared = p->role < MISSTEP_ROLES && (flags & (__u32)MISSTEP_FLAG_SPARE << p->role);
  int over = until && p->counter >= until;
  if (!spared && !over && p->counter >= from) return;
  d->delay = 0;
  d->rank = 0;
  d->marks = 0;
  if (spared || over) d->slice = MISSTEP_SLICE_DEFAULT;
}

// The slice that is given of the one decided when so many threads wait for a CPU.
MISSTEP_INLINE __u64 misstep_share(__u64 slice, __u32 ready) {
  __u64 most = MISSTEP_CROWD_LIMIT / (ready ? ready : 1);
  if (most < MISSTEP_SLICE_LEAST) most = MISSTEP_SLICE_LEAST;
  return slice < most ? slice : most;
}

MISSTEP_INLINE __u64 misstep_chaos_draw(__u64 seed, __u64 epoch, __u64 knob) {
  return misstep_draw(seed, epoch, knob, MISSTEP_LANE_CHAOS);
}

// The knobs of one chaos epoch. What reaches a narrow window is to lose the CPU in it *and* to be held back while
// others run: so most epochs cut every run into slices of some microseconds, and a thread whose slice ended is held for
// a time drawn by octaves, from shorter than a context switch to much longer than a step of most programs. One epoch in
// four is coarser, and each mechanism is off in some, so that one that hides a bug does not always do so.
// A standstill needs a thread to be away while others that sleep, too, come round: so in some epochs threads that wake
// up are kept away for a multiple of their own period, or of one drawn from microseconds to away_cap. Those that had
// slept until a time are so in most epochs: they set the pace, and none that works, or waits for another one, is held
// up by it. How long the others take is known from who created them: a thread that waits for its threads sleeps for as
// long as they take.
MISSTEP_FUNCTION int misstep_chaos(__u64 seed, __u64 epoch, __u64 delay_cap, __u64 away_cap,
                                   struct misstep_knobs *k MISSTEP_NONNULL) {
  __u64 mix = misstep_chaos_draw(seed, epoch, 0);
  int coarse = ((mix >> 16) & 3) == 0;
  __u64 low, high;

  k->delay_wakeup = k->delay_expiry = 0;
  if ((mix & 7) != 0) {  // seven epochs in eight
    k->delay_wakeup = misstep_octaves(misstep_chaos_draw(seed, epoch, 1), MISSTEP_ONE / 64, MISSTEP_ONE / 2);
    k->delay_expiry = misstep_octaves(misstep_chaos_draw(seed, epoch, 2), MISSTEP_ONE / 16, MISSTEP_ONE);
  }
  low = misstep_octaves(misstep_chaos_draw(seed, epoch, 4), 10000, 200000);
  high = misstep_octaves(misstep_chaos_draw(seed, epoch, 3), low < 100000 ? 100000 : low, delay_cap);
  k->delay_min = low < delay_cap ? low : delay_cap;
  k->delay_max = high < delay_cap ? high : delay_cap;

  k->slice_short = 0;
  k->slice_long = 5000000;
  if (((mix >> 12) & 7) != 0) {
    k->slice_short = misstep_octaves(misstep_chaos_draw(seed, epoch, 5), MISSTEP_ONE / 2, MISSTEP_ONE);
    k->slice_long = misstep_octaves(misstep_chaos_draw(seed, epoch, 11), 15000, coarse ? 1000000 : 20000);
  }
  k->slice_min = misstep_octaves(misstep_chaos_draw(seed, epoch, 6), MISSTEP_SLICE_LEAST, coarse ? 200000 : 12000);
  k->slice_max = k->slice_min << (1 + (misstep_chaos_draw(seed, epoch, 7) & 1));

  k->order = MISSTEP_ORDER_FIFO + ((mix >> 4) & 3);
  k->wait_max = misstep_octaves(misstep_chaos_draw(seed, epoch, 8), 1000000, 50000000);
  k->change_points = 1 + ((mix >> 6) & 3);
  k->change_span = misstep_octaves(misstep_chaos_draw(seed, epoch, 9), 16, 1024);

  k->window_share = ((mix >> 8) & 7) == 0 ? MISSTEP_ONE / 5 : 0;
  k->window_min = 1000000;
  k->window_max = misstep_octaves(misstep_chaos_draw(seed, epoch, 10), 4000000, 50000000);
  k->window_low = MISSTEP_ONE / 2;
  k->target = MISSTEP_ONE;

  k->away = away_cap && ((mix >> 20) & 3) == 0
                ? misstep_octaves(misstep_chaos_draw(seed, epoch, 12), MISSTEP_ONE / 64, MISSTEP_ONE / 2)
                : 0;
  k->away_sleep = away_cap && ((mix >> 28) & 3) != 0
                      ? misstep_octaves(misstep_chaos_draw(seed, epoch, 14), MISSTEP_ONE / 8, MISSTEP_ONE / 2)
                      : k->away;
  k->away_family = MISSTEP_ONE / 4 * 3;
  k->away_min = 10000;
  if (((mix >> 23) & 31) == 0) k->away_min = misstep_octaves(misstep_chaos_draw(seed, epoch, 13), 10000, away_cap);
  k->away_max = away_cap;
  for (__u32 i = 0; i < MISSTEP_ROLES; i++)  // one of -50, 0, 50
    k->bias[i] = ((__s32)(misstep_chaos_draw(seed, epoch, 16 + i) % 3) - 1) * 50;
  return 0;
}

// Whether a name of at most 15 characters, as two little-endian words, begins with a literal. The compiler folds the
// loop.
MISSTEP_INLINE int misstep_prefix(__u64 low, __u64 high, const char *prefix) {
  __u64 want[2] = {0, 0}, mask[2] = {0, 0};
#pragma GCC unroll 15
  for (int i = 0; i < MISSTEP_COMM - 1; i++) {
    if (!prefix[i]) break;
    want[i / 8] |= (__u64)(__u8)prefix[i] << (i % 8 * 8);
    mask[i / 8] |= 0xffULL << (i % 8 * 8);
  }
  return !(((low ^ want[0]) & mask[0]) | ((high ^ want[1]) & mask[1]));
}

// The role of a thread by its name in the kernel, which has at most 15 characters. HotSpot's names as of JDK 8 to 28
// (os::set_native_thread_name, osThread names in compileBroker.cpp, gcId and workerThread, vmThread.cpp, java.lang
// threads with JavaThread::set_native_thread_name); the samplers are this project's, async-profiler's and JFR's.
MISSTEP_FUNCTION __u32 misstep_role_of(__u64 low, __u64 high) {
#define IS(text) misstep_prefix(low, high, text)
  if (IS("misstep-sampler") || IS("async-profiler") || IS("JFR Sampl") || IS("JFR Thread Samp"))
    return MISSTEP_ROLE_SAMPLER;
  if (IS("GC ") || IS("G1 ") || IS("ParGC") || IS("PS ") || IS("CMS ") || IS("Shenandoah") || IS("ZDriver") ||
      IS("ZDirector") || IS("ZWorker") || IS("ZUncommit") || IS("ZUnmap") || IS("ZStat") || IS("ZIndex"))
    return MISSTEP_ROLE_GC;
  if (IS("C1 Comp") || IS("C2 Comp") || IS("JVMCI")) return MISSTEP_ROLE_COMPILER;
  if (IS("VM ") || IS("JFR ") || IS("Sweeper thread") || IS("Signal Dispatch") || IS("Service Thread") ||
      IS("Monitor Deflati") || IS("Notification T") || IS("Attach Listener"))
    return MISSTEP_ROLE_VM;
#undef IS
  return MISSTEP_ROLE_MUTATOR;
}

// The bucket of a duration in a histogram.
MISSTEP_INLINE __u32 misstep_bucket(__u64 duration) {
  if (duration < 1) return 0;
  __u64 e = misstep_log2(duration) >> 16;
  return e < MISSTEP_BUCKETS ? e : MISSTEP_BUCKETS - 1;
}

#endif  // MISSTEP_POLICY_H
