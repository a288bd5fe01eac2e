// Models of the planted races of workloads/races, on one CPU under the rules of sched.bpf.c, with the real policy.h:
// they show in seconds, without a virtual machine, how a change of the policy changes the time to each bug. A model
// counts its steps, not instructions; the costs below were measured with the races in virtual time, in which an
// iteration without perturbation takes within 20 % of the time it takes here.
//
//   races STRATEGY SEED COUNT ITERATIONS KNOB=VALUE…
//
// STRATEGY is chaos (knobs: epoch, cap, away) or none. One line for each race and seed: name, 1 if the bug showed,
// iterations, seconds.
#include <algorithm>
#include <coroutine>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

extern "C" {
#include "../policy.h"
}

namespace {

constexpr uint64_t kSwitch = 4000, kCreate = 25000, kLoop = 6,
                   kCall = 600;  // ns: context switch, pthread_create, step of race_work, system call
constexpr uint64_t kTimerSlack = 50000, kHang = 10000000000;

struct Bug {};

struct Code {
  struct promise_type {
    Code get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { throw; }
  };
  std::coroutine_handle<promise_type> handle;
};

enum class State { kReady, kDelayed, kRunning, kBlocked, kAsleep, kDone };

struct Thread {
  Code code;
  uint64_t path = 0, counter = 0, children = 0, key = 0, until = 0, work = 0, slept_from = 0, period = 0;
  State state = State::kBlocked;
  misstep_decision decision = {};
  Thread *joiner = nullptr;
  explicit Thread(Code c) : code(c) {}
  ~Thread() { code.handle.destroy(); }
};

struct Lock {
  Thread *owner = nullptr;
  std::deque<Thread *> waiting;
};

// One run of one race. There is one at a time.
struct World {
  uint64_t seed = 0, epoch = 0, cap = 0, away = 0, now = 0, slice_end = 0, known_epoch = ~0ULL, iteration_began = 0;
  bool chaos = false, kicked = false;
  misstep_knobs knobs = {};
  std::vector<std::unique_ptr<Thread>> threads;
  Thread *current = nullptr;

  void decide(Thread *t, unsigned event) {
    if (event == MISSTEP_EVENT_WAKEUP && t->slept_from) t->period = misstep_period(t->period, now - t->slept_from);
    misstep_point p = {};
    p.path = t->path;
    p.elapsed = now;
    p.period = t->period;
    p.counter = t->counter;
    p.event = t->counter == 0 ? unsigned{MISSTEP_EVENT_START} : event;
    p.role = MISSTEP_ROLE_MUTATOR;
    uint64_t e = chaos ? now / epoch : 0;
    if (chaos && e != known_epoch) misstep_chaos(seed, known_epoch = e, cap, away, &knobs);
    misstep_decide(seed, &knobs, e, &p, &t->decision);
    t->counter++;
    t->until = now + t->decision.delay;
    t->key = t->until + t->decision.rank;
  }
  void make_room(Thread *t) {
    if (t->decision.rank && current && current->state == State::kRunning && current->key > t->key) kicked = true;
  }
  void enqueue(Thread *t, unsigned event) {
    decide(t, event);
    t->state = t->decision.delay ? State::kDelayed : State::kReady;
    if (!t->decision.delay) make_room(t);
  }
  void release() {
    for (auto &t : threads) {
      if (t->until > now) continue;
      if (t->state == State::kDelayed) {
        t->state = State::kReady;
        make_room(t.get());
      } else if (t->state == State::kAsleep) {
        enqueue(t.get(), MISSTEP_EVENT_WAKEUP);
      }
    }
  }
  uint64_t next_event() const {
    uint64_t next = ~0ULL;
    for (auto &t : threads)
      if (t->state == State::kDelayed || t->state == State::kAsleep) next = std::min(next, t->until);
    return next;
  }
  Thread *add(Code c, uint64_t path) {
    threads.push_back(std::make_unique<Thread>(c));
    threads.back()->path = path;
    return threads.back().get();
  }
  Thread *create(Code c) {
    Thread *t = add(c, misstep_path(current->path, current->children++));
    enqueue(t, MISSTEP_EVENT_START);
    return t;
  }
  void forget_done() {
    std::erase_if(threads, [](auto &t) { return t->state == State::kDone; });
  }

  // Runs until the first thread ends; throws Bug.
  void run(Thread *first) {
    while (first->state != State::kDone) {
      if (now > iteration_began + kHang) {
        now -= kHang;  // the time to a hang does not include detecting it
        throw Bug{};
      }
      release();
      if (!current)
        dispatch();
      else
        step();
    }
  }
  void dispatch() {
    Thread *best = nullptr;
    for (auto &t : threads)
      if (t->state == State::kReady && (!best || t->key < best->key)) best = t.get();
    if (!best) {
      uint64_t next = next_event();
      if (next == ~0ULL) throw Bug{};  // no thread will ever run again
      now = std::max(now, next);
      return;
    }
    current = best;
    best->state = State::kRunning;
    now += kSwitch;
    slice_end = now + best->decision.slice;
    kicked = false;
  }
  void step() {
    Thread *t = current;
    uint64_t until = std::min({next_event(), slice_end, now + t->work});
    if (until > now) {
      t->work -= until - now;
      now = until;
    }
    release();
    bool overtaken = kicked;
    kicked = false;
    if (overtaken) {
      t->state = State::kReady;  // without a decision, as in sched.bpf.c
      current = nullptr;
    } else if (now >= slice_end) {
      current = nullptr;
      enqueue(t, MISSTEP_EVENT_EXPIRY);
    } else if (!t->work) {
      t->code.handle.resume();
      if (t->code.handle.done()) {
        t->state = State::kDone;
        current = nullptr;
        if (t->joiner) enqueue(t->joiner, MISSTEP_EVENT_WAKEUP);
      } else if (t->state != State::kRunning) {
        t->slept_from = now;
        current = nullptr;
      }
    }
  }
};

World *world;

// Actions of a thread, to be awaited.
std::suspend_always nanoseconds(uint64_t n) {
  world->current->work = n;
  return {};
}
std::suspend_always work(uint64_t steps) { return nanoseconds(steps * kLoop); }
std::suspend_always nap(uint64_t microseconds) {
  world->current->state = State::kAsleep;
  world->current->until = world->now + kCall + microseconds * 1000 + kTimerSlack;
  return {};
}
std::suspend_always lock(Lock &l) {
  if (!l.owner) {
    l.owner = world->current;
    return nanoseconds(50);
  }
  l.waiting.push_back(world->current);
  world->current->state = State::kBlocked;
  return {};
}
void wake_first(Lock &l) {
  if (l.waiting.empty()) return;
  Thread *t = l.waiting.front();
  l.waiting.pop_front();
  world->enqueue(t, MISSTEP_EVENT_WAKEUP);
}
void unlock(Lock &l) {
  l.owner = l.waiting.empty() ? nullptr : l.waiting.front();
  wake_first(l);
}
std::suspend_always join(Thread *t) {
  if (t->state == State::kDone) return nanoseconds(50);
  t->joiner = world->current;
  world->current->state = State::kBlocked;
  return {};
}

struct Semaphore {
  int count = 0;
  Lock waiting;
  std::suspend_always wait() {
    if (count) {
      count--;
      return nanoseconds(50);
    }
    waiting.waiting.push_back(world->current);
    world->current->state = State::kBlocked;
    return {};
  }
  void post() {
    if (waiting.waiting.empty())
      count++;
    else
      wake_first(waiting);
  }
};

struct Node {
  Node *next;
  int owners;
};

// What the threads of one iteration share.
struct Shared {
  Lock a, b, locks[3], changed;
  Semaphore request, reply, permits{2, {}};
  int balance = 0, taken = 0, stage = 0, arrived = 0, generation = 0, left = 0, right = 0;
  bool ready = false, made = false, filled = false, done = false, freed = false, configured = false, started = false,
       torn = false;
  Node nodes[3] = {{&nodes[1], 0}, {&nodes[2], 0}, {nullptr, 0}}, *head = &nodes[0];
};

using Body = std::function<Code(Shared &)>;

Code both(Shared &, Lock &first, Lock &second, int between) {
  for (int i = 0; i < 10; i++) {
    co_await work(20000);
    co_await lock(first);
    co_await work(between);
    co_await lock(second);
    unlock(second);
    unlock(first);
  }
}
Code deposit(Shared &s) {
  for (int i = 0; i < 20; i++) {
    co_await work(10000);
    int seen = s.balance;
    co_await work(50);
    s.balance = seen + 1;
  }
}
Code customer(Shared &s) {
  co_await work(30000);
  co_await lock(s.a);
  bool free_seat = !s.taken;
  unlock(s.a);
  co_await work(50);
  if (!free_seat) co_return;
  co_await lock(s.a);
  s.taken++;
  unlock(s.a);
}
Code consumer(Shared &s) {
  co_await work(10000);
  if (s.ready) co_return;
  co_await work(50);
  s.changed.waiting.push_back(world->current);
  world->current->state = State::kBlocked;
  co_await std::suspend_always{};
}
Code producer(Shared &s) {
  co_await work(15000);
  s.ready = true;
  co_await nanoseconds(50);
  wake_first(s.changed);
}
Code service(Shared &s) {
  co_await work(5000);
  if (!s.configured) throw Bug{};
}
Code starter(Shared &s) {
  co_await nanoseconds(kCreate);
  Thread *t = world->create(service(s));
  co_await nanoseconds(2000);
  s.configured = true;
  co_await join(t);
}
Code popper(Shared &s, int pops, int hold) {
  for (int i = 0; i < 10; i++) {
    co_await work(10000);
    Node *got[2] = {};
    for (int j = 0; j < pops; j++) {
      while (Node *top = s.head) {
        Node *next = top->next;
        co_await work(50);
        if (s.head != top) continue;
        s.head = next;
        if (top->owners++) throw Bug{};
        got[j] = top;
        break;
      }
    }
    for (int j = 0; j < pops; j++) {
      if (j == pops - 1) co_await work(hold);
      if (!got[j]) continue;
      got[j]->owners--;
      got[j]->next = s.head;
      s.head = got[j];
    }
  }
}
Code user(Shared &s) {
  co_await work(20000);
  if (!s.made) {
    co_await lock(s.a);
    if (!s.made) {
      s.made = true;
      co_await work(50);
      s.filled = true;
    }
    unlock(s.a);
  }
  if (!s.filled) throw Bug{};
}
Code comer(Shared &s) {
  for (int i = 0; i < 6; i++) {
    co_await work(5000);
    int mine = s.generation;
    if (s.arrived++ == 2) {
      s.generation++;
      co_await work(50);
      s.arrived = 0;
    } else {
      while (s.generation == mine) co_await nap(50);
    }
  }
}
Code leaver(Shared &s) {
  co_await work(20000);
  s.done = true;
  co_await work(50);
  if (s.freed) throw Bug{};
}
Code owner(Shared &s) {
  while (!s.done) co_await nap(100);
  s.freed = true;
}
Code changer(Shared &s) {
  s.started = true;
  for (int i = 0; i < 10; i++) {
    co_await work(20000);
    s.left++;
    co_await work(50);
    s.right++;
  }
  while (s.started) co_await nap(50);
}
Code sampler(Shared &s) {
  while (!s.started) co_await nap(50);
  for (int i = 0; i < 3; i++) {
    s.torn |= s.left != s.right;  // the handler runs before anything else of the thread
    co_await nap(20);
  }
  s.started = false;
}
Code stage(Shared &s, int steps, int from) {
  co_await work(steps);
  if (s.stage == from) s.stage = from + 1;
}

// The periodic races that chaos may be tuned on.
Code caller(Shared &s) {
  co_await nap(12000);
  co_await lock(s.a);
  co_await work(50);
  s.request.post();
  co_await s.reply.wait();
  unlock(s.a);
}
Code server(Shared &s) {
  co_await nap(3000);
  co_await nap(1000);
  co_await lock(s.a);
  co_await work(50);
  unlock(s.a);
  co_await s.request.wait();
  s.reply.post();
}
Code both_permits(Shared &s, int begin) {
  co_await nap(begin);
  co_await s.permits.wait();
  co_await nap(300);
  co_await s.permits.wait();
  co_await work(50);
  s.permits.post();
  s.permits.post();
}

struct Race {
  const char *name;
  std::vector<Body> threads;
  std::function<bool(Shared &)> wrong;
};

Body taker(int first, int second) {
  return [=](Shared &s) { return both(s, s.locks[first], s.locks[second], 100); };
}

bool right(Shared &) { return false; }

const std::vector<Race> &races() {
  static const std::vector<Race> all = {
      {"deadlock2",
       {[](Shared &s) { return both(s, s.a, s.b, 50); }, [](Shared &s) { return both(s, s.b, s.a, 50); }},
       right},
      {"deadlock3", {taker(0, 1), taker(1, 2), taker(2, 0)}, right},
      {"lost_update", {deposit, deposit}, [](Shared &s) { return s.balance != 40; }},
      {"start_order", {starter}, right},
      {"check_then_act", {customer, customer, customer}, [](Shared &s) { return s.taken != 1; }},
      {"lost_wakeup", {consumer, producer}, right},
      {"aba",
       {[](Shared &s) { return popper(s, 1, 200); }, [](Shared &s) { return popper(s, 2, 5000); }},
       [](Shared &s) {
         int length = 0;
         for (Node *at = s.head; at && length < 4; at = at->next) length++;
         return length != 3;
       }},
      {"double_checked", {user, user, user}, right},
      {"barrier_reuse", {comer, comer, comer}, right},
      {"exit_race", {leaver, owner}, right},
      {"signal_race", {changer, sampler}, [](Shared &s) { return s.torn; }},
      {"order3",
       {[](Shared &s) { return stage(s, 100, 2); }, [](Shared &s) { return stage(s, 10000, 1); },
        [](Shared &s) { return stage(s, 10000, 0); }},
       [](Shared &s) { return s.stage == 3; }},
      {"lock_handover", {caller, server}, right},
      {"two_permits",
       {[](Shared &s) { return both_permits(s, 500); }, [](Shared &s) { return both_permits(s, 4800); }},
       right},
  };
  return all;
}

Code first_thread(const Race &race, long iterations, long &done) {
  for (; done < iterations; done++) {
    world->forget_done();
    world->iteration_began = world->now;
    auto shared = std::make_unique<Shared>();
    std::vector<Thread *> threads;
    for (auto &body : race.threads) {
      co_await nanoseconds(kCreate);
      threads.push_back(world->create(body(*shared)));
    }
    for (Thread *t : threads) co_await join(t);
    if (race.wrong(*shared)) throw Bug{};
  }
}

}  // namespace

int main(int n, char **a) {
  if (n < 5) {
    fprintf(stderr, "races: arguments\n");
    return 2;
  }
  uint64_t seed = strtoull(a[2], nullptr, 10), count = strtoull(a[3], nullptr, 10), epoch = 5000000, cap = 4000000,
           away = 400000000;
  long iterations = atol(a[4]);
  for (int i = 5; i < n; i++) {
    if (!strncmp(a[i], "epoch=", 6)) epoch = strtoull(a[i] + 6, nullptr, 10);
    if (!strncmp(a[i], "cap=", 4)) cap = strtoull(a[i] + 4, nullptr, 10);
    if (!strncmp(a[i], "away=", 5)) away = strtoull(a[i] + 5, nullptr, 10);
  }
  for (auto &race : races()) {
    for (uint64_t s = seed; s < seed + count; s++) {
      World w;
      world = &w;
      w.seed = s;
      w.epoch = epoch;
      w.cap = cap;
      w.away = away;
      w.chaos = !strcmp(a[1], "chaos");
      w.knobs.order = MISSTEP_ORDER_FIFO;
      w.knobs.target = MISSTEP_ONE;
      long done = 0;
      bool shown = false;
      Thread *t = w.add(first_thread(race, iterations, done), misstep_path(7, 0));
      w.enqueue(t, MISSTEP_EVENT_START);
      try {
        w.run(t);
      } catch (Bug &) {
        shown = true;
        done++;
      }
      printf("%s %d %ld %.6f\n", race.name, shown, done, w.now / 1e9);
    }
  }
  return 0;
}
