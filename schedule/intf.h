// What the scheduler in the kernel, the policy's tests in user space and the Go loader share: knobs, decisions,
// records, counters. bpf2go makes the Go types of it from the object's BTF, so this is the only definition;
// layout_test.go fails when a field was added in a way that would leave a hole or make the two sides differ.
//
// Times are in nanoseconds, probabilities and shares in units of 2^-32 (MISSTEP_ONE is certain).
#ifndef MISSTEP_INTF_H
#define MISSTEP_INTF_H

#ifndef __bpf__
#include <linux/types.h>
#endif

#define MISSTEP_ONE (1ULL << 32)
#define MISSTEP_COMM 16
#define MISSTEP_BUCKETS \
  40  // of a histogram by powers of two: bucket i counts [2^i, 2^(i+1)) ns; the last one all above

// Bounds that hold for every strategy and every parameter, so that the kernel's watchdog (7.5 s at most on Linux 7.2)
// can only fire when something is broken: chosen delay + rank + the slices of all that are ready before it stay below
// MISSTEP_WATCHDOG_MS. A crowd shares MISSTEP_CROWD_LIMIT, however long the slices that were decided: where n are ready
// a slice is at most an n-th of it. As a crowd gathers its slices are longer, so all of them come to at most 2 s, for
// a thousand threads on one CPU to 3 s.
#define MISSTEP_DELAY_LIMIT 4000000000ULL
#define MISSTEP_RANK_LIMIT 1000000000ULL
#define MISSTEP_SLICE_LIMIT 100000000ULL
#define MISSTEP_CROWD_LIMIT 400000000ULL
#define MISSTEP_SLICE_LEAST 10000ULL  // a shorter one would only measure the timer's own cost
#define MISSTEP_SLICE_DEFAULT 20000000ULL
#define MISSTEP_WATCHDOG_MS 7000

enum misstep_strategy {
  MISSTEP_STRATEGY_UNSPECIFIED = 0,
  MISSTEP_STRATEGY_NONE = 1,
  MISSTEP_STRATEGY_DELAY = 2,
  MISSTEP_STRATEGY_PCT = 3,
  MISSTEP_STRATEGY_STARVE = 4,
  MISSTEP_STRATEGY_POS = 5,
  MISSTEP_STRATEGY_SLICE = 6,
  MISSTEP_STRATEGY_ROLES = 7,
  MISSTEP_STRATEGY_CHAOS = 8,
};

// What a thread is to a JVM, told from its name. Threads of other programs are mutators.
enum misstep_role {
  MISSTEP_ROLE_UNSPECIFIED = 0,
  MISSTEP_ROLE_SAMPLER = 1,
  MISSTEP_ROLE_VM = 2,
  MISSTEP_ROLE_GC = 3,
  MISSTEP_ROLE_COMPILER = 4,
  MISSTEP_ROLE_MUTATOR = 5,
  MISSTEP_ROLES = 6,
};

// When a thread comes to a decision.
enum misstep_event {
  MISSTEP_EVENT_UNSPECIFIED = 0,
  MISSTEP_EVENT_START = 1,   // it was created
  MISSTEP_EVENT_WAKEUP = 2,  // it had blocked
  MISSTEP_EVENT_EXPIRY = 3,  // its slice ended, by itself, by force or by sched_yield
};

// Who woke a thread.
enum misstep_waker {
  MISSTEP_WAKER_UNSPECIFIED = 0,
  MISSTEP_WAKER_THREAD = 1,   // one of the tree
  MISSTEP_WAKER_OUTSIDE = 2,  // a timer, a device, another program
};

// How waiting threads are ordered.
enum misstep_order {
  MISSTEP_ORDER_UNSPECIFIED = 0,
  MISSTEP_ORDER_FIFO = 1,
  MISSTEP_ORDER_PCT = 2,    // random priorities with change points
  MISSTEP_ORDER_POS = 3,    // a new random priority at each decision
  MISSTEP_ORDER_ROLES = 4,  // by the role's bias
};

// The mechanisms. A strategy is a setting of these; a mechanism whose probability or share is 0 is off.
struct misstep_knobs {
  __u64 delay_wakeup;  // probability of a delay when created or woken
  __u64 delay_expiry;  // probability of a delay at the end of a slice
  __u64 delay_min;
  __u64 delay_max;
  __u64 slice_short;  // probability of a short slice with forced preemption at its end
  __u64 slice_min;
  __u64 slice_max;
  __u64 slice_long;    // the slice otherwise
  __u64 wait_max;      // a waiting thread is passed by later ones for at most this long
  __u64 window_share;  // share of time in starvation windows
  __u64 window_min;
  __u64 window_max;
  __u64 window_low;   // share of threads that a window holds
  __u64 target;       // share of threads that delays and short slices touch
  __u64 away;         // probability, when created or woken, of an absence of 1 to 32 times the thread's own period
  __u64 away_min;     // period of a thread whose own one is shorter or unknown
  __u64 away_sleep;   // probability of an absence of a thread that had slept until it was woken from outside
  __u64 away_family;  // probability that this one is of half to twice the longest period of thread and creators
  __u64 away_max;     // longest absence
  __u32 order;        // enum misstep_order
  __u32 change_points;
  __u32 change_span;          // decisions of one thread over which its change points are spread
  __s32 bias[MISSTEP_ROLES];  // percent, -100 held back to 100 favoured
  __u32 until;                // from this own decision on a thread is left alone; 0 is never
};

enum misstep_flag {
  MISSTEP_FLAG_NONE = 0,
  MISSTEP_FLAG_LOG = 1,      // write a record for each decision
  MISSTEP_FLAG_REPLAY = 2,   // take decisions from the map `replay` first
  MISSTEP_FLAG_SPARE = 256,  // shifted left by a role: its threads are left alone
};

// Set once before loading; read-only for the verifier.
struct misstep_config {
  __u64 seed;
  __u64 epoch;        // chaos draws new knobs after this time
  __u64 delay_cap;    // chaos chooses no longer delay
  __u64 away_cap;     // nor a longer absence
  __u32 strategy;     // enum misstep_strategy
  __u32 flags;        // enum misstep_flag, or-ed
  __s32 loader_tgid;  // children of this process that enter SCHED_EXT are roots of the tree
  __u32 from;         // own decisions of a thread before this one cut its run into slices and do no more
  // Rounds of a replay: the threads that the thread of this path created, round_threads in each, all take the decisions
  // of the round that begins with its child round_first. 0 threads: there are none.
  __u64 round_parent;
  __u32 round_first;
  __u32 round_threads;
  struct misstep_knobs knobs;
};

// One point of decision of one thread: all that a decision may depend on besides the configuration.
struct misstep_point {
  __u64 path;     // of creation, see misstep_path
  __u64 elapsed;  // since the tree's first thread
  __u64 period;   // for how long the thread usually sleeps, see misstep_period
  __u64 family;   // the longest period of those that it descends from, at its creation; 0 if none of them slept
  __u32 counter;  // the thread's own, from 0
  __u32 event;    // enum misstep_event
  __u32 role;     // enum misstep_role
  __u32 waker;    // enum misstep_waker
};

enum misstep_mark {
  MISSTEP_MARK_NONE = 0,
  MISSTEP_MARK_DELAYED = 1,    // by the delay mechanism
  MISSTEP_MARK_STARVED = 2,    // held to the end of a window
  MISSTEP_MARK_SHORT = 4,      // the slice is a short one
  MISSTEP_MARK_CHANGED = 8,    // the priority was changed or redrawn
  MISSTEP_MARK_REPLAYED = 16,  // taken from a log
  MISSTEP_MARK_DEPARTED = 32,  // a log has something else here
  MISSTEP_MARK_PLACED = 64,    // a breakpoint stopped it at a place of the log that is replayed
  MISSTEP_MARK_AWAY = 128,     // kept away for longer than its own period
};

struct misstep_decision {
  __u64 delay;  // before it may run at all
  __u64 slice;
  __u64 rank;   // it may be passed by threads that become ready up to this much later
  __u32 marks;  // enum misstep_mark, or-ed
  __u32 event;  // at which it was taken
};

enum misstep_record_kind {
  MISSTEP_RECORD_UNSPECIFIED = 0,
  MISSTEP_RECORD_THREAD = 1,    // path, parent in delay, ordinal in counter, comm
  MISSTEP_RECORD_DECISION = 2,  // path, counter, event, marks, delay, slice, rank
  MISSTEP_RECORD_EXIT = 3,      // the scheduler was detached or ejected; see misstep_exit
  MISSTEP_RECORD_RUN = 4,       // path, time run in delay, time waited before in slice, waker in rank, ending in event
};

// How a run of a thread ended.
enum misstep_ending {
  MISSTEP_ENDING_UNSPECIFIED = 0,
  MISSTEP_ENDING_BLOCKED = 1,    // until it is woken
  MISSTEP_ENDING_SLICE = 2,      // its slice ended
  MISSTEP_ENDING_OVERTAKEN = 3,  // it lost its CPU to a thread that ranks before it
  MISSTEP_ENDING_EXITED = 4,
};

// One entry of the log. The file holds the same bytes, little-endian.
struct misstep_record {
  __u64 elapsed;
  __u64 path;
  __u64 delay;
  __u64 slice;
  __u64 rank;
  __u64 place;  // end of a slice: user instruction before which the thread lost its CPU
  __u32 counter;
  __u32 tid;
  __u16 kind;  // enum misstep_record_kind
  __u16 event;
  __u16 role;
  __u16 marks;
  char comm[MISSTEP_COMM];
};

// Key of the map `replay`, and with a place instead of a counter of the map `stops`.
struct misstep_at {
  __u64 path;
  __u64 counter;
};

enum misstep_stat {
  MISSTEP_STAT_DECISIONS = 0,
  MISSTEP_STAT_DELAYS = 1,     // decisions that delayed
  MISSTEP_STAT_RELEASED = 2,   // delayed threads that were made ready at their time
  MISSTEP_STAT_STARVED = 3,    // decisions that held a thread to the end of a window
  MISSTEP_STAT_SHORT = 4,      // decisions for a short slice
  MISSTEP_STAT_FORCED = 5,     // preemptions by the timer at the end of a slice
  MISSTEP_STAT_CHANGES = 6,    // priority changes
  MISSTEP_STAT_OVERTAKEN = 7,  // preemptions in favour of a thread that ranks before
  MISSTEP_STAT_DIRECT = 8,     // started on an idle CPU without waiting
  MISSTEP_STAT_OUTSIDE = 9,    // enqueues of threads outside of the tree, left alone
  MISSTEP_STAT_THREADS = 10,   // threads of the tree
  MISSTEP_STAT_LOST = 11,      // records that found no room in the log's buffer
  MISSTEP_STAT_REPLAYED = 12,
  MISSTEP_STAT_DEPARTED = 13,
  MISSTEP_STAT_UNLISTED = 14,  // threads whose counters found no room in the map `threads`
  MISSTEP_STAT_PLACED = 15,    // threads stopped at a place of the log
  MISSTEP_STAT_PASSED = 16,    // passes of such a place that did not stop the thread
  MISSTEP_STATS = 17,
};

enum misstep_histogram {
  MISSTEP_HISTOGRAM_CHOSEN = 0,  // delays as decided
  MISSTEP_HISTOGRAM_LATE = 1,    // how much later than decided a delayed thread was made ready
  MISSTEP_HISTOGRAM_WAIT = 2,    // from ready to running
  MISSTEP_HISTOGRAMS = 3,
};

// What a thread of the tree did, kept after its end; value of the map `threads`, by path.
struct misstep_thread {
  __u64 path;
  __u64 parent;
  __u64 delay_total;
  __u64 delay_longest;
  __u64 wait_longest;
  __u64 ran;
  __u32 ordinal;
  __u32 tid;
  __u32 tgid;
  __u32 role;
  __u32 decisions;
  __u32 delays;
  __u32 starved;
  __u32 shorts;
  __u32 forced;
  __u32 changes;
  __u32 overtaken;
  __u32 reserved;
  char comm[MISSTEP_COMM];
};

// Why the scheduler ended; kind is the kernel's enum scx_exit_kind, 0 while it runs.
struct misstep_exit {
  __s64 code;
  __u32 kind;
  __u32 reserved;
  char reason[64];
  char message[256];
  char dump[32768];  // SCX_EXIT_DUMP_DFL_LEN of the kernel's kernel/sched/ext_internal.h, at most
};

#endif  // MISSTEP_INTF_H
