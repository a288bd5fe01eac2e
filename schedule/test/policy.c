// The policy in user space: a program that prints decisions for policy_test.go to judge. Compiled with the sanitizers.
//
//   policy decide SEED PATH EVENT ROLE COUNT ELAPSED STEP KNOB=VALUE…   one line a decision: delay slice rank marks
//   policy chaos SEED CAP AWAY COUNT                                   one line an epoch: all knobs in their order
//   policy windows SEED COUNT STEP KNOB=VALUE…                         one line a step: elapsed start end next id
//   policy absences SEED EVENT WAKER FAMILY COUNT KNOB=VALUE… SLEEP…   period after the sleeps; delay of each decision
//   policy roles NAME…                                                 one line a name: role
//   policy octaves MIN MAX COUNT                                       one line a draw
//   policy simulate SEED THREADS MILLISECONDS KNOB=VALUE…              one CPU, see simulate: longest waits; chaos=CAP
//                                                                      instead of knobs draws them in epochs of 5 ms
#include "../policy.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KNOB(name) {#name, offsetof(struct misstep_knobs, name), sizeof(((struct misstep_knobs *)0)->name)}
static const struct {
  const char *name;
  size_t offset, size;
} fields[] = {
    KNOB(delay_wakeup), KNOB(delay_expiry), KNOB(delay_min), KNOB(delay_max),     KNOB(slice_short), KNOB(slice_min),
    KNOB(slice_max),    KNOB(slice_long),   KNOB(wait_max),  KNOB(window_share),  KNOB(window_min),  KNOB(window_max),
    KNOB(window_low),   KNOB(target),       KNOB(order),     KNOB(change_points), KNOB(change_span), KNOB(until),
    KNOB(away),         KNOB(away_min),     KNOB(away_max),  KNOB(away_sleep),    KNOB(away_family),
};

static int fail(const char *what) {
  fprintf(stderr, "policy: %s\n", what);
  return 2;
}

static int set(struct misstep_knobs *k, const char *text) {
  const char *equals = strchr(text, '=');
  if (!equals) return 0;
  if (!strncmp(text, "bias", 4)) {
    int role = atoi(text + 4);
    if (role < 0 || role >= MISSTEP_ROLES) return 0;
    k->bias[role] = atoi(equals + 1);
    return 1;
  }
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
    if (strlen(fields[i].name) != (size_t)(equals - text) || strncmp(fields[i].name, text, equals - text)) continue;
    __u64 value = strtoull(equals + 1, NULL, 10);
    __u32 narrow = value;
    memcpy((char *)k + fields[i].offset, fields[i].size == 8 ? (void *)&value : (void *)&narrow, fields[i].size);
    return 1;
  }
  return 0;
}

static int decide(int n, char **a) {
  if (n < 7) return fail("decide: arguments");
  struct misstep_knobs k = {.order = MISSTEP_ORDER_FIFO, .target = MISSTEP_ONE};
  __u32 from = 0, flags = 0;
  for (int i = 7; i < n; i++)
    if (!strncmp(a[i], "from=", 5))
      from = strtoul(a[i] + 5, NULL, 10);
    else if (!strncmp(a[i], "flags=", 6))
      flags = strtoul(a[i] + 6, NULL, 10);
    else if (!set(&k, a[i]))
      return fail(a[i]);
  __u64 seed = strtoull(a[0], NULL, 10), step = strtoull(a[6], NULL, 10);
  struct misstep_point p = {.path = strtoull(a[1], NULL, 10), .event = atoi(a[2]), .role = atoi(a[3])};
  p.elapsed = strtoull(a[5], NULL, 10);
  for (int i = 0, count = atoi(a[4]); i < count; i++, p.counter++, p.elapsed += step) {
    struct misstep_decision d;
    misstep_decide(seed, &k, 0, &p, &d);
    misstep_confine(from, k.until, flags, &p, &d);
    printf("%llu %llu %llu %u\n", d.delay, d.slice, d.rank, d.marks);
  }
  return 0;
}

static int chaos(int n, char **a) {
  if (n != 4) return fail("chaos: arguments");
  for (__u64 epoch = 0; epoch < strtoull(a[3], NULL, 10); epoch++) {
    struct misstep_knobs k = {0};
    misstep_chaos(strtoull(a[0], NULL, 10), epoch, strtoull(a[1], NULL, 10), strtoull(a[2], NULL, 10), &k);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
      __u64 value = 0;
      memcpy(&value, (char *)&k + fields[i].offset, fields[i].size);
      printf("%s=%llu ", fields[i].name, value);
    }
    for (int i = 0; i < MISSTEP_ROLES; i++) printf("bias%d=%d ", i, k.bias[i]);
    putchar('\n');
  }
  return 0;
}

static int windows(int n, char **a) {
  if (n < 3) return fail("windows: arguments");
  struct misstep_knobs k = {0};
  for (int i = 3; i < n; i++)
    if (!set(&k, a[i])) return fail(a[i]);
  for (__u64 i = 0, t = 0; i < strtoull(a[1], NULL, 10); i++, t += strtoull(a[2], NULL, 10)) {
    struct misstep_window w;
    misstep_window_at(strtoull(a[0], NULL, 10), &k, t, &w);
    printf("%llu %llu %llu %llu %llu\n", t, w.start, w.end, w.next, w.id);
  }
  return 0;
}

static int absences(int n, char **a) {
  if (n < 5) return fail("absences: arguments");
  struct misstep_knobs k = {.order = MISSTEP_ORDER_FIFO, .target = MISSTEP_ONE};
  struct misstep_point p = {.path = 7, .event = atoi(a[1]), .waker = atoi(a[2]), .family = strtoull(a[3], NULL, 10)};
  for (int i = 5; i < n; i++)
    if (!set(&k, a[i])) p.period = misstep_period(p.period, strtoull(a[i], NULL, 10));
  printf("%llu\n", p.period);
  for (int count = atoi(a[4]); count > 0; count--, p.counter++) {
    struct misstep_decision d;
    misstep_decide(strtoull(a[0], NULL, 10), &k, 0, &p, &d);
    if (!d.delay != !(d.marks & MISSTEP_MARK_AWAY)) return fail("absences: mark");
    printf("%llu\n", d.delay);
  }
  return 0;
}

static int roles(int n, char **a) {
  for (int i = 0; i < n; i++) {
    char comm[MISSTEP_COMM] = "";
    snprintf(comm, sizeof comm, "%s", a[i]);  // cut as the kernel does
    __u64 words[2];
    memcpy(words, comm, sizeof words);
    printf("%u\n", misstep_role_of(words[0], words[1]));
  }
  return 0;
}

static int octaves(int n, char **a) {
  if (n != 3) return fail("octaves: arguments");
  for (__u64 i = 0; i < strtoull(a[2], NULL, 10); i++)
    printf("%llu\n", misstep_octaves(misstep_draw(1, 2, i, 3), strtoull(a[0], NULL, 10), strtoull(a[1], NULL, 10)));
  return 0;
}

// simulated takes a decision, under chaos with the knobs of the current epoch.
static void simulated(__u64 seed, struct misstep_knobs *k, __u64 cap, const struct misstep_point *p,
                      struct misstep_decision *d) {
  __u64 epoch = cap ? p->elapsed / 5000000 : 0;
  if (cap) misstep_chaos(seed, epoch, cap, 100 * cap < 2000000000 ? 100 * cap : 2000000000, k);
  misstep_decide(seed, k, epoch, p, d);
}

// simulate runs spinners and sleepers on one CPU under the rules of sched.bpf.c (a queue by release time, a queue by
// rank, decisions also for a thread alone on its CPU, slices shared in a crowd) and prints the longest time for which
// any thread was runnable without running, and the longest such time beyond the thread's own delay.
static int simulate(int n, char **a) {
  enum { kMost = 256 };
  if (n < 3) return fail("simulate: arguments");
  struct misstep_knobs k = {.order = MISSTEP_ORDER_FIFO, .target = MISSTEP_ONE};
  __u64 cap = 0;
  for (int i = 3; i < n; i++)
    if (!strncmp(a[i], "chaos=", 6))
      cap = strtoull(a[i] + 6, NULL, 10);
    else if (!set(&k, a[i]))
      return fail(a[i]);
  __u64 seed = strtoull(a[0], NULL, 10), end = strtoull(a[2], NULL, 10) * 1000000, now = 0;
  int count = atoi(a[1]);
  if (count < 1 || count > kMost) return fail("simulate: threads");
  struct {
    struct misstep_point p;
    struct misstep_decision d;
    __u64 since, due, key, wakes;
  } t[kMost] = {0};
  __u64 longest = 0, beyond = 0;
  for (int i = 0; i < count; i++) {
    t[i].p = (struct misstep_point){.path = misstep_path(7, i), .event = MISSTEP_EVENT_START, .role = 1 + i % 5};
    t[i].p.waker = MISSTEP_WAKER_OUTSIDE;
    t[i].p.period = i % 2 ? 3000000 : 0;
    t[i].p.family = 100000000;
    simulated(seed, &k, cap, &t[i].p, &t[i].d);
    t[i].due = t[i].d.delay;
    t[i].key = t[i].due + t[i].d.rank;
  }
  while (now < end) {
    int best = -1;
    __u32 ready = 0;
    __u64 next = end;
    for (int i = 0; i < count; i++) {
      __u64 from = t[i].wakes > t[i].due ? t[i].wakes : t[i].due;
      if (from <= now) {
        ready++;
        if (best < 0 || t[i].key < t[best].key) best = i;
      } else if (from < next) {
        next = from;
      }
    }
    if (best < 0) {
      now = next;
      continue;
    }
    __u64 waited = now - t[best].since, delay = t[best].d.delay;
    if (waited > longest) longest = waited;
    if (waited > delay && waited - delay > beyond) beyond = waited - delay;
    // Even threads spin to the end of their slice; odd ones run for up to 50 us, then sleep for 3 ms.
    int spins = best % 2 == 0;
    // The scheduler shares slices when a thread becomes ready, this simulation when it runs: the slices of 1, 1/2, 1/3,
    // … are equally many.
    __u64 slice = misstep_share(t[best].d.slice, ready - 1);
    __u64 ran = spins || slice < 50000 ? slice : 50000;
    now += ran;
    t[best].p.counter++;
    t[best].p.event = spins ? MISSTEP_EVENT_EXPIRY : MISSTEP_EVENT_WAKEUP;
    t[best].wakes = spins ? now : now + 3000000;
    t[best].p.elapsed = t[best].wakes;
    simulated(seed, &k, cap, &t[best].p, &t[best].d);
    t[best].since = t[best].wakes;
    t[best].due = t[best].wakes + t[best].d.delay;
    t[best].key = t[best].due + t[best].d.rank;
  }
  for (int i = 0; i < count; i++)  // threads that never ran again
    if (t[i].since < now && now - t[i].since > longest) longest = now - t[i].since;
  printf("%llu %llu\n", longest, beyond);
  return 0;
}

int main(int n, char **a) {
  if (n < 2) return fail("arguments");
  static const struct {
    const char *name;
    int (*run)(int, char **);
  } commands[] = {{"decide", decide}, {"chaos", chaos},     {"windows", windows},  {"absences", absences},
                  {"roles", roles},   {"octaves", octaves}, {"simulate", simulate}};
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
    if (!strcmp(a[1], commands[i].name)) return commands[i].run(n - 2, a + 2);
  return fail("unknown command");
}
