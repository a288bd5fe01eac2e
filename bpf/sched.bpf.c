// clang-format off
//go:build ignore
// clang-format on

// A sched_ext scheduler that perturbs the threads of one process tree and nothing else.
//
// Only tasks with the policy SCHED_EXT come here (SCX_OPS_SWITCH_PARTIAL). Two queues hold all that wait: DELAYED by
// the time of release, READY by rank. A thread comes to a decision (policy.h) when it is created, woken, or at the end
// of its slice; a delay puts it into DELAYED, from which a timer moves it to READY at its time; a short slice is ended
// by a timer of its CPU, since the kernel's tick is too coarse. SCX_OPS_ENQ_LAST makes a thread that is alone on its
// CPU come to decisions, too: otherwise a spinner would never be delayed.
#include "kernel.h"
// policy.h needs the types of kernel.h
#include "../schedule/policy.h"

char LICENSE[] SEC("license") = "GPL";

#define DSQ_READY 0
#define DSQ_DELAYED 1
#define MAX_CPUS 1024
#define RELEASE_BATCH 64            // tasks moved at once; the timer comes again at once for the rest
#define RELEASE_RECHECK 2000000ULL  // while anything is delayed, look at least this often: bounds a lost re-arming
#define ROOT_PATH 0x6d69737374657000ULL
#define NEVER (~0ULL)

const volatile struct misstep_config config = {};

// Set by the first thread of the tree; 0 before.
__u64 started_at;
__u64 roots;
struct misstep_exit ended = {};

// Names the enumerations in the object's BTF, from which the Go constants are made; nothing reads it.
const struct {
  enum misstep_strategy strategy;
  enum misstep_role role;
  enum misstep_event event;
  enum misstep_order order;
  enum misstep_flag flag;
  enum misstep_mark mark;
  enum misstep_record_kind record_kind;
  enum misstep_ending ending;
  enum misstep_stat stat;
  enum misstep_histogram histogram;
  struct misstep_record record;
} *enumerations;

// The state of one thread of the tree, or of a stranger that uses SCHED_EXT, which is left alone.
struct task_state {
  struct misstep_thread thread;
  struct misstep_decision decision;
  struct misstep_decision stop;  // taken at a place
  __u64 place;                   // before the coming decision
  __u64 recorded;                // path of the thread whose decisions in the log it takes
  __u64 counter;
  __u64 key;       // in READY
  __u64 due;       // of release, when delayed
  __u64 ready_at;  // when it began to wait for a CPU
  __u64 waited;    // from ready to the present run
  __u64 ran_from;
  __u64 slept_from;
  __u64 period;   // see misstep_period
  __u64 family;   // the longest one of those that it descends from
  __u64 waker;    // path of the thread that woke it for the present run, 0 if none of the tree did
  __u64 name[2];  // as last classified
  __u32 children;
  __u32 stops;  // at places
  __u32 rest;   // own decision from which on it may be stopped at one again
  bool ours;
  bool chosen;     // `decision` is for the coming enqueue
  bool overtaken;  // it lost its CPU to one that ranks before: the coming enqueue is no decision
  bool stopped;    // at a place: `stop` is the coming decision
};

struct {
  __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, int);
  __type(value, struct task_state);
} tasks SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 16384);
  __type(key, __u64);
  __type(value, struct misstep_thread);
} threads SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 1);  // set by the loader
  __type(key, struct misstep_at);
  __type(value, struct misstep_decision);
} replay SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 1);  // set by the loader
  __type(key, struct misstep_at);
  __type(value, struct misstep_decision);
} stops SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 8 << 20);  // set by the loader
} records SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, MISSTEP_STATS);
  __type(key, __u32);
  __type(value, __u64);
} stats SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, MISSTEP_HISTOGRAMS *MISSTEP_BUCKETS);
  __type(key, __u32);
  __type(value, __u64);
} histograms SEC(".maps");

struct cpu_state {
  struct bpf_timer timer;
  __u64 turn;   // counts running and stopping: odd while one of ours runs
  __u64 armed;  // the turn that the timer ends
  __u64 key;    // of the running thread
  bool forced;
  bool overtaken;
};

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, MAX_CPUS);
  __type(key, __u32);
  __type(value, struct cpu_state);
} cpus SEC(".maps");

struct release_state {
  struct bpf_timer timer;
  __u64 armed;  // for this time, or NEVER
};

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct release_state);
} release SEC(".maps");

// The knobs of the chaos epoch that this CPU last looked at.
struct epoch_state {
  struct misstep_knobs knobs;
  __u64 epoch;  // plus one; 0 is none
};

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct epoch_state);
} epochs SEC(".maps");

// quiet tells whether nothing is ever held back, reordered or cut short. All threads then wait in the kernel's own
// global queue, first come, first served: READY and its order are not needed, nor what the running thread's CPU is
// doing. The verifier knows the configuration and drops the branches that are not taken.
static __always_inline bool quiet(void) {
  return config.strategy == MISSTEP_STRATEGY_NONE && !(config.flags & MISSTEP_FLAG_REPLAY);
}

static __always_inline void count(__u32 stat) {
  __u64 *n = bpf_map_lookup_elem(&stats, &stat);
  if (n) *n += 1;
}

static __always_inline void measure(__u32 histogram, __u64 duration) {
  __u32 i = histogram * MISSTEP_BUCKETS + misstep_bucket(duration);
  __u64 *n = bpf_map_lookup_elem(&histograms, &i);
  if (n) *n += 1;
}

static __always_inline struct task_state *state_of(struct task_struct *p) {
  return bpf_task_storage_get(&tasks, p, NULL, 0);
}

static __always_inline struct cpu_state *cpu_of(__u32 cpu) { return bpf_map_lookup_elem(&cpus, &cpu); }

static __always_inline __u64 elapsed_at(__u64 now) { return started_at && now > started_at ? now - started_at : 0; }

// wakeup_flags wakes the reader of the log only when much has come together: each wake-up of the loader disturbs the
// tree.
static __always_inline __u64 wakeup_flags(void) {
  return bpf_ringbuf_query(&records, BPF_RB_AVAIL_DATA) > (1 << 20) ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
}

// log_record writes a record that begins at a time; ending is that of a run, which ends now.
static __always_inline void log_record(struct task_state *t, __u64 at, __u16 kind, __u16 ending) {
  struct misstep_record *r = bpf_ringbuf_reserve(&records, sizeof(*r), 0);
  if (!r) {
    count(MISSTEP_STAT_LOST);
    return;
  }
  r->elapsed = elapsed_at(at);
  r->path = t->thread.path;
  r->tid = t->thread.tid;
  r->kind = kind;
  r->role = t->thread.role;
  if (kind == MISSTEP_RECORD_THREAD) {
    r->delay = t->thread.parent;
    r->slice = r->rank = 0;
    r->counter = t->thread.ordinal;
    r->place = 0;
    r->event = r->marks = 0;
  } else if (kind == MISSTEP_RECORD_RUN) {
    r->delay = bpf_ktime_get_ns() - at;
    r->slice = t->waited;
    r->rank = t->waker;
    r->counter = t->counter;
    r->place = 0;
    r->event = ending;
    r->marks = 0;
  } else {
    r->delay = t->decision.delay;
    r->slice = t->decision.slice;
    r->rank = t->decision.rank;
    r->counter = t->counter;
    r->place = t->place;
    r->event = t->decision.event;
    r->marks = t->decision.marks;
  }
  __builtin_memcpy(r->comm, t->thread.comm, MISSTEP_COMM);
  bpf_ringbuf_submit(r, wakeup_flags());
}

// classify follows a thread's name, which a JVM sets only after the thread's start.
static __always_inline void classify(struct task_struct *p, struct task_state *t) {
  const __u64 *name = (const __u64 *)p->comm;
  if (t->thread.role && name[0] == t->name[0] && name[1] == t->name[1]) return;
  t->name[0] = name[0];
  t->name[1] = name[1];
  __builtin_memcpy(t->thread.comm, t->name, MISSTEP_COMM);
  t->thread.comm[MISSTEP_COMM - 1] = 0;
  t->thread.role = misstep_role_of(t->name[0], t->name[1]);
}

// knobs_at returns the knobs in force and their epoch.
static __always_inline struct misstep_knobs *knobs_at(__u64 elapsed, __u64 *epoch) {
  __u32 zero = 0;
  struct epoch_state *e = bpf_map_lookup_elem(&epochs, &zero);
  if (!e) return NULL;
  *epoch = config.strategy == MISSTEP_STRATEGY_CHAOS && config.epoch ? elapsed / config.epoch : 0;
  if (e->epoch != *epoch + 1) {
    if (config.strategy == MISSTEP_STRATEGY_CHAOS)
      misstep_chaos(config.seed, *epoch, config.delay_cap, config.away_cap, &e->knobs);
    else
      bpf_probe_read_kernel(&e->knobs, sizeof(e->knobs),
                            (const void *)&config.knobs);  // memcpy would take the constant 0
    e->epoch = *epoch + 1;
  }
  return &e->knobs;
}

// choose comes to the thread's next decision: from the log that is replayed, else from the policy.
__noinline int choose(struct task_state *t MISSTEP_NONNULL, __u32 event) {
  __u64 now = bpf_ktime_get_ns(), epoch = 0;
  struct misstep_knobs *knobs;
  struct misstep_point point = {};
  __u32 departed = 0;
  bool placed;

  if (t->counter == 0) event = MISSTEP_EVENT_START;
  if (event != MISSTEP_EVENT_EXPIRY) t->place = 0;
  placed = t->stopped && event == MISSTEP_EVENT_EXPIRY;
  t->stopped = false;
  if (placed) {  // beside those that are counted
    t->decision = t->stop;
    count(MISSTEP_STAT_PLACED);
    goto decided;
  }
  if (quiet()) {  // what misstep_decide says when every mechanism is off
    t->decision = (struct misstep_decision){.slice = config.knobs.slice_long, .event = event};
    goto decided;
  }
  if (event == MISSTEP_EVENT_WAKEUP && t->slept_from) t->period = misstep_period(t->period, now - t->slept_from);
  point.path = t->thread.path;
  point.elapsed = elapsed_at(now);
  point.period = t->period;
  point.family = t->family;
  point.counter = t->counter;
  point.event = event;
  point.role = t->thread.role;
  point.waker = t->waker ? MISSTEP_WAKER_THREAD : MISSTEP_WAKER_OUTSIDE;
  if (config.flags & MISSTEP_FLAG_REPLAY) {
    struct misstep_at at = {.path = t->recorded, .counter = point.counter};
    struct misstep_decision *known = bpf_map_lookup_elem(&replay, &at);
    if (known && known->event == event) {
      t->decision = *known;
      t->decision.marks |= MISSTEP_MARK_REPLAYED;
      count(MISSTEP_STAT_REPLAYED);
      goto decided;
    }
    departed = MISSTEP_MARK_DEPARTED;  // and go on from the seed
    count(MISSTEP_STAT_DEPARTED);
  }
  knobs = knobs_at(point.elapsed, &epoch);
  if (!knobs) {
    IMPOSSIBLE("no knobs", epoch);
    return 0;
  }
  misstep_decide(config.seed, knobs, epoch, &point, &t->decision);
  misstep_confine(config.from, config.knobs.until, config.flags, &point, &t->decision);
  t->decision.marks |= departed;
decided:
  count(MISSTEP_STAT_DECISIONS);
  t->thread.decisions++;
  if (t->decision.delay) {
    count(MISSTEP_STAT_DELAYS);
    measure(MISSTEP_HISTOGRAM_CHOSEN, t->decision.delay);
    t->thread.delays++;
    t->thread.delay_total += t->decision.delay;
    if (t->decision.delay > t->thread.delay_longest) t->thread.delay_longest = t->decision.delay;
  }
  if (t->decision.marks & MISSTEP_MARK_STARVED) {
    count(MISSTEP_STAT_STARVED);
    t->thread.starved++;
  }
  if (t->decision.marks & MISSTEP_MARK_SHORT) {
    count(MISSTEP_STAT_SHORT);
    t->thread.shorts++;
  }
  if (t->decision.marks & MISSTEP_MARK_CHANGED) {
    count(MISSTEP_STAT_CHANGES);
    t->thread.changes++;
  }
  if ((config.flags & MISSTEP_FLAG_LOG) || departed) log_record(t, now, MISSTEP_RECORD_DECISION, 0);
  if (!placed) t->counter++;
  t->place = 0;
  t->due = t->decision.delay ? now + t->decision.delay : 0;
  t->key = now + t->decision.delay + t->decision.rank;
  t->ready_at = now + t->decision.delay;
  return 0;
}

static __always_inline void insert(struct task_struct *p, __u64 dsq, __u64 slice, __u64 key, __u64 enq_flags) {
  struct scx_bpf_dsq_insert_vtime_args args = {.dsq_id = dsq, .slice = slice, .vtime = key, .enq_flags = enq_flags};
  __scx_bpf_dsq_insert_vtime(p, &args);
}

static __always_inline void insert_local(struct task_struct *p, __u64 slice, __u64 enq_flags) {
  scx_bpf_dsq_insert___v2(p, KERNEL(enum scx_dsq_id_flags, SCX_DSQ_LOCAL), slice, enq_flags);
}

static __always_inline void insert_global(struct task_struct *p, __u64 slice, __u64 enq_flags) {
  scx_bpf_dsq_insert___v2(p, KERNEL(enum scx_dsq_id_flags, SCX_DSQ_GLOBAL), slice, enq_flags);
}

// place_of is the user instruction before which a thread was interrupted, or after the system call that it is in.
static __always_inline __u64 place_of(struct task_struct *p) {
  struct pt_regs *user = (struct pt_regs *)bpf_task_pt_regs(p);
  return user && PRESENT(user->ip) ? user->ip : 0;
}

// woken notes who wakes a thread: the running one, if it is in a system call. Otherwise an interrupt wakes it, a
// timer's for example.
static __always_inline void woken(struct task_state *t) {
  if (quiet() && !(config.flags & MISSTEP_FLAG_LOG)) return;
  struct task_struct *waker = bpf_get_current_task_btf();
  struct task_state *w;
  struct pt_regs *user = (struct pt_regs *)bpf_task_pt_regs(waker);
  t->waker = 0;
  if (!user || !PRESENT(user->orig_ax) || (long)user->orig_ax < 0) return;
  w = state_of(waker);
  if (w && w->ours) t->waker = w->thread.path;
}

// given is the slice that a thread gets of the one decided: a crowd shares.
static __always_inline __u64 given(const struct task_state *t) {
  __s32 ready = scx_bpf_dsq_nr_queued(DSQ_READY);
  return misstep_share(t->decision.slice, ready > 0 ? ready : 0);
}

// make_room finds a CPU for a thread that became ready: an idle one, else, where ranks count, the one whose thread
// ranks last, if that is after this one.
static __always_inline void make_room(struct task_struct *p, __u64 key, bool ranked) {
  __s32 cpu = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);
  if (cpu >= 0) {
    scx_bpf_kick_cpu(cpu, KERNEL(enum scx_kick_flags, SCX_KICK_IDLE));
    return;
  }
  if (!ranked) return;
  cpu = scx_bpf_task_cpu(p);
  struct cpu_state *c = cpu_of(cpu);
  if (c && (c->turn & 1) && c->key > key) {
    c->overtaken = true;
    scx_bpf_kick_cpu(cpu, KERNEL(enum scx_kick_flags, SCX_KICK_PREEMPT));
  }
}

// release_due moves what is due from DELAYED to READY and returns the time of the next release, or NEVER.
static __always_inline __u64 release_due(__u64 now) {
  struct bpf_iter_scx_dsq it;
  struct task_struct *p;
  __u64 next = NEVER;

  bpf_rcu_read_lock();
  bpf_iter_scx_dsq_new(&it, DSQ_DELAYED, 0);
  for (int i = 0; i < RELEASE_BATCH; i++) {
    p = bpf_iter_scx_dsq_next(&it);
    if (!p) break;
    if (i == RELEASE_BATCH - 1) {  // there may be more
      next = now;
      break;
    }
    __u64 due = p->scx.dsq_vtime;
    if (due > now) {
      next = due;
      break;
    }
    struct task_struct *q = bpf_task_from_pid(p->pid);
    if (!q) continue;  // it is exiting, and leaves the queue by itself
    struct task_state *t = state_of(q);
    if (t) {
      scx_bpf_dsq_move_set_vtime(&it, t->key);
      scx_bpf_dsq_move_set_slice(&it, given(t));
      if (scx_bpf_dsq_move_vtime(&it, q, DSQ_READY, 0)) {
        count(MISSTEP_STAT_RELEASED);
        measure(MISSTEP_HISTOGRAM_LATE, now - due);
        make_room(q, t->key, t->decision.rank != 0);
      }
    } else {
      IMPOSSIBLE("a delayed task without state", q->pid);
    }
    bpf_task_release(q);
  }
  bpf_iter_scx_dsq_destroy(&it);
  bpf_rcu_read_unlock();
  return next;
}

static __always_inline void arm_release(__u64 due) {
  __u32 zero = 0;
  struct release_state *r = bpf_map_lookup_elem(&release, &zero);
  if (!r || due >= r->armed) return;
  r->armed = due;
  bpf_timer_start(&r->timer, due, BPF_F_TIMER_ABS);
}

static int release_fired(void *map, __u32 *key, struct release_state *r) {
  __u64 now = bpf_ktime_get_ns(), next;

  r->armed = NEVER;  // before looking, so that one who comes meanwhile arms it himself
  next = release_due(now);
  if (next == NEVER) return 0;
  if (next > now + RELEASE_RECHECK) next = now + RELEASE_RECHECK;
  if (next < r->armed) {
    r->armed = next;
    bpf_timer_start(&r->timer, next, BPF_F_TIMER_ABS);
  }
  return 0;
}

// slice_fired ends the slice of the thread for which the timer was armed, if that still runs.
static int slice_fired(void *map, __u32 *key, struct cpu_state *c) {
  if (c->turn != c->armed || !(c->turn & 1)) return 0;
  c->forced = true;
  scx_bpf_kick_cpu(*key, KERNEL(enum scx_kick_flags, SCX_KICK_PREEMPT));
  return 0;
}

#define OP(type, name) SEC("struct_ops/" #name) type name
#define OP_SLEEPABLE(type, name) SEC("struct_ops.s/" #name) type name

OP(__s32, op_select_cpu)(__u64 *ctx) {
  struct task_struct *p = (struct task_struct *)ctx[0];
  __s32 prev_cpu = ctx[1];
  __u64 wake_flags = ctx[2];
  struct task_state *t = state_of(p);
  bool idle = false;
  __s32 cpu;

  if (!t) {
    IMPOSSIBLE("a woken task without state", p->pid);
    return prev_cpu;
  }
  if (t->ours && !t->chosen) {
    classify(p, t);
    woken(t);
    choose(t, MISSTEP_EVENT_WAKEUP);
    t->chosen = true;
  }
  if (t->ours && t->decision.delay) return prev_cpu;  // on to enqueue
  cpu = scx_bpf_select_cpu_dfl(p, prev_cpu, wake_flags, &idle);
  if (idle) {
    count(t->ours ? MISSTEP_STAT_DIRECT : MISSTEP_STAT_OUTSIDE);
    insert_local(p, t->ours ? t->decision.slice : MISSTEP_SLICE_DEFAULT, 0);
    t->chosen = false;
  } else if (quiet() && t->ours) {  // an enqueue would do no more
    insert_global(p, t->decision.slice, 0);
    t->chosen = false;
  }
  return cpu;
}

OP(int, op_enqueue)(__u64 *ctx) {
  struct task_struct *p = (struct task_struct *)ctx[0];
  __u64 enq_flags = ctx[1];
  bool last = enq_flags & KERNEL(enum scx_enq_flags, SCX_ENQ_LAST);
  struct task_state *t = state_of(p);

  if (!t) {
    IMPOSSIBLE("an enqueued task without state", p->pid);
    return 0;
  }
  if (!t->ours) {
    count(MISSTEP_STAT_OUTSIDE);
    if (last) {
      insert_local(p, MISSTEP_SLICE_DEFAULT, enq_flags);
    } else {
      if (quiet())
        insert_global(p, MISSTEP_SLICE_DEFAULT, enq_flags);
      else
        insert(p, DSQ_READY, MISSTEP_SLICE_DEFAULT, bpf_ktime_get_ns(), enq_flags);
      make_room(p, 0, false);
    }
    return 0;
  }
  if (t->overtaken || (enq_flags & KERNEL(enum scx_enq_flags, SCX_ENQ_REENQ))) {
    t->overtaken = false;  // no decision of its own: it waits as it would have
    t->ready_at = bpf_ktime_get_ns();
    insert(p, DSQ_READY, given(t), t->key, enq_flags);
    make_room(p, t->key, false);
    return 0;
  }
  if (!t->chosen) {
    classify(p, t);
    t->place = place_of(p);
    if (enq_flags & KERNEL(enum scx_enq_flags, SCX_ENQ_WAKEUP)) {
      woken(t);
      choose(t, MISSTEP_EVENT_WAKEUP);
    } else {
      choose(t, MISSTEP_EVENT_EXPIRY);
    }
  }
  t->chosen = false;
  if (t->decision.delay) {
    insert(p, DSQ_DELAYED, t->decision.slice, t->due, enq_flags);
    arm_release(t->due);
  } else if (last) {
    insert_local(p, t->decision.slice, enq_flags);
  } else if (quiet()) {
    insert_global(p, t->decision.slice, enq_flags);
    make_room(p, t->key, false);
  } else {
    insert(p, DSQ_READY, given(t), t->key, enq_flags);
    make_room(p, t->key, t->decision.rank != 0);
  }
  return 0;
}

OP(int, op_dispatch)(__u64 *ctx) {
  if (scx_bpf_dsq_nr_queued(DSQ_DELAYED) > 0) release_due(bpf_ktime_get_ns());
  scx_bpf_dsq_move_to_local___v2(DSQ_READY, 0);
  return 0;
}

OP(int, op_running)(__u64 *ctx) {
  struct task_struct *p = (struct task_struct *)ctx[0];
  struct task_state *t = state_of(p);
  __u64 now = bpf_ktime_get_ns();

  if (!t) {
    IMPOSSIBLE("a running task without state", p->pid);
    return 0;
  }
  if (!t->ours) return 0;
  t->ran_from = now;
  t->overtaken = false;  // of a run that another class's task ended, too: nobody enqueued it since
  t->waited = 0;
  if (t->ready_at) {
    t->waited = now > t->ready_at ? now - t->ready_at : 0;
    measure(MISSTEP_HISTOGRAM_WAIT, t->waited);
    if (t->waited > t->thread.wait_longest) t->thread.wait_longest = t->waited;
    t->ready_at = 0;
  }
  if (quiet()) return 0;
  struct cpu_state *c = cpu_of(scx_bpf_task_cpu(p));
  if (!c) {
    IMPOSSIBLE("no such CPU", scx_bpf_task_cpu(p));
    return 0;
  }
  c->turn = (c->turn | 1) + 2;  // odd: one of ours
  c->key = t->key;
  c->forced = c->overtaken = false;
  if (p->scx.slice < MISSTEP_SLICE_DEFAULT) {
    c->armed = c->turn;
    bpf_timer_start(&c->timer, p->scx.slice, BPF_F_TIMER_CPU_PIN);
  }
  return 0;
}

OP(int, op_stopping)(__u64 *ctx) {
  struct task_struct *p = (struct task_struct *)ctx[0];
  bool runnable = ctx[1];
  struct task_state *t = state_of(p);

  if (!t) {
    IMPOSSIBLE("a stopping task without state", p->pid);
    return 0;
  }
  if (!t->ours) return 0;
  __u64 now = bpf_ktime_get_ns();
  t->thread.ran += now - t->ran_from;
  if (!quiet()) {
    if (!runnable) t->slept_from = now;
    struct cpu_state *c = cpu_of(scx_bpf_task_cpu(p));
    if (!c) {
      IMPOSSIBLE("no such CPU", scx_bpf_task_cpu(p));
      return 0;
    }
    if (runnable && c->forced) {
      count(MISSTEP_STAT_FORCED);
      t->thread.forced++;
    } else if (runnable && c->overtaken && !t->stopped) {
      count(MISSTEP_STAT_OVERTAKEN);
      t->thread.overtaken++;
      t->overtaken = true;
    }
    c->turn = (c->turn | 1) + 1;  // even: none of ours
  }
  if (config.flags & MISSTEP_FLAG_LOG) {
    __u16 ending = MISSTEP_ENDING_BLOCKED;
    if (runnable)
      ending = t->overtaken ? MISSTEP_ENDING_OVERTAKEN : MISSTEP_ENDING_SLICE;
    else if (p->flags & PF_EXITING)
      ending = MISSTEP_ENDING_EXITED;
    log_record(t, t->ran_from, MISSTEP_RECORD_RUN, ending);
    t->waker = 0;
  }
  return 0;
}

// on_place comes when a thread is about to execute an instruction before which the loader has put a breakpoint. If that
// is for this thread it loses its CPU at once, without executing it. Each time it needs one more decision of its own
// until it is stopped again: the place may be in a loop, or on the way of all that the thread does.
SEC("fentry/perf_bp_event")
int on_place(__u64 *ctx) {
  struct perf_event *breakpoint = (struct perf_event *)ctx[0];
  struct task_state *t = state_of(bpf_get_current_task_btf());

  if (!t || !t->ours) return 0;
  struct misstep_at at = {.path = t->recorded, .counter = breakpoint->attr.bp_addr};
  struct misstep_decision *stop = bpf_map_lookup_elem(&stops, &at);
  if (!stop || t->stopped || t->counter < t->rest) {
    count(MISSTEP_STAT_PASSED);
    return 0;
  }
  t->rest = t->counter + ++t->stops;
  t->stop = *stop;
  t->stopped = true;
  scx_bpf_kick_cpu(bpf_get_smp_processor_id(), KERNEL(enum scx_kick_flags, SCX_KICK_PREEMPT));
  return 0;
}

// adopt makes the state of a task that is or may come under this scheduler. A thread of the tree is a child of one, or
// a child process of the loader.
static __always_inline int adopt(struct task_struct *p, struct task_struct *parent) {
  struct task_state *t = bpf_task_storage_get(&tasks, p, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE), *above;
  __u64 now = bpf_ktime_get_ns();

  if (!t) return -12;  // ENOMEM: the fork fails
  t->thread.tid = p->pid;
  t->thread.tgid = p->tgid;
  if (!parent) return 0;  // it was there before: a stranger
  if (parent->tgid == config.loader_tgid) {
    if (p->tgid == config.loader_tgid) return 0;
    t->thread.parent = 0;
    t->thread.ordinal = __sync_fetch_and_add(&roots, 1);
    t->thread.path = t->recorded = misstep_path(ROOT_PATH, t->thread.ordinal);
    if (!started_at) started_at = now;
  } else {
    above = state_of(parent);
    if (!above || !above->ours) return 0;
    t->thread.parent = above->thread.path;
    t->thread.ordinal = above->children++;
    t->thread.path = misstep_path(above->thread.path, t->thread.ordinal);
    t->family = above->period > above->family ? above->period : above->family;
    __u64 place = t->thread.ordinal;
    if (config.round_threads && above->recorded == config.round_parent)
      place = misstep_round(place, config.round_first, config.round_threads);
    t->recorded = misstep_path(above->recorded, place);
  }
  t->ours = true;
  classify(p, t);
  count(MISSTEP_STAT_THREADS);
  if (config.flags & MISSTEP_FLAG_LOG) log_record(t, now, MISSTEP_RECORD_THREAD, 0);
  return 0;
}

OP_SLEEPABLE(__s32, op_init_task)(__u64 *ctx) {
  struct task_struct *p = (struct task_struct *)ctx[0];
  struct scx_init_task_args *args = (struct scx_init_task_args *)ctx[1];

  if (p->policy != SCHED_EXT) return 0;
  return adopt(p, args->fork ? bpf_get_current_task_btf() : NULL);
}

// enable comes for every task that enters the policy; one that chose it by itself has no state yet and is a stranger.
OP(int, op_enable)(__u64 *ctx) {
  struct task_struct *p = (struct task_struct *)ctx[0];

  if (!state_of(p) && adopt(p, NULL)) IMPOSSIBLE("no memory for the state of a task", p->pid);
  return 0;
}

OP(int, op_exit_task)(__u64 *ctx) {
  struct task_struct *p = (struct task_struct *)ctx[0];
  struct task_state *t = state_of(p);

  if (!t || !t->ours) return 0;
  classify(p, t);
  if (bpf_map_update_elem(&threads, &t->thread.path, &t->thread, BPF_ANY)) count(MISSTEP_STAT_UNLISTED);
  return 0;
}

OP_SLEEPABLE(__s32, op_init)(__u64 *ctx) {
  __u32 zero = 0, n = scx_bpf_nr_cpu_ids();
  struct release_state *r = bpf_map_lookup_elem(&release, &zero);
  __s32 err;

  if (!r || n > MAX_CPUS) return -22;  // EINVAL
  err = scx_bpf_create_dsq(DSQ_READY, -1);
  if (err) return err;
  err = scx_bpf_create_dsq(DSQ_DELAYED, -1);
  if (err) return err;
  r->armed = NEVER;
  if (bpf_timer_init(&r->timer, &release, CLOCK_MONOTONIC)) return -22;
  bpf_timer_set_callback(&r->timer, release_fired);
  for (__u32 i = 0; i < MAX_CPUS; i++) {
    if (i >= n) break;
    struct cpu_state *c = cpu_of(i);
    if (!c || bpf_timer_init(&c->timer, &cpus, CLOCK_MONOTONIC)) return -22;
    bpf_timer_set_callback(&c->timer, slice_fired);
  }
  return 0;
}

OP(int, op_exit)(__u64 *ctx) {
  struct scx_exit_info *info = (struct scx_exit_info *)ctx[0];
  struct misstep_record *r;

  bpf_probe_read_kernel_str(ended.reason, sizeof(ended.reason), info->reason);
  bpf_probe_read_kernel_str(ended.message, sizeof(ended.message), info->msg);
  if (PRESENT(info->dump)) bpf_probe_read_kernel_str(ended.dump, sizeof(ended.dump), info->dump);
  ended.code = info->exit_code;
  ended.kind = info->kind;
  r = bpf_ringbuf_reserve(&records, sizeof(*r), 0);
  if (!r) return 0;  // the reader also looks by itself
  __builtin_memset(r, 0, sizeof(*r));
  r->kind = MISSTEP_RECORD_EXIT;
  r->elapsed = elapsed_at(bpf_ktime_get_ns());
  bpf_ringbuf_submit(r, BPF_RB_FORCE_WAKEUP);
  return 0;
}

SEC(".struct_ops.link")
struct sched_ext_ops misstep = {
    .select_cpu = (void *)op_select_cpu,
    .enqueue = (void *)op_enqueue,
    .dispatch = (void *)op_dispatch,
    .running = (void *)op_running,
    .stopping = (void *)op_stopping,
    .init_task = (void *)op_init_task,
    .exit_task = (void *)op_exit_task,
    .enable = (void *)op_enable,
    .init = (void *)op_init,
    .exit = (void *)op_exit,
    .flags = SCX_OPS_ENQ_LAST | SCX_OPS_SWITCH_PARTIAL,
    .timeout_ms = MISSTEP_WATCHDOG_MS,
    .name = "misstep",
};
