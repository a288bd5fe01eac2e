// One CPU under the rules of sched.bpf.c with the real policy.h, and threads that are coroutines: what the models of
// races run on. A model counts its steps, not instructions; the costs were measured with the races in virtual time, in
// which an iteration without perturbation takes within 20 % of the time it takes here.
#pragma once

#include <algorithm>
#include <coroutine>
#include <cstdint>
#include <deque>
#include <memory>
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
  uint64_t path = 0, counter = 0, children = 0, key = 0, until = 0, work = 0, slept_from = 0, period = 0, family = 0;
  bool woken = false;  // by a thread
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
    p.family = t->family;
    p.waker = t->woken ? MISSTEP_WAKER_THREAD : MISSTEP_WAKER_OUTSIDE;
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
  void wake(Thread *t, bool by_thread) {
    t->woken = by_thread;
    enqueue(t, MISSTEP_EVENT_WAKEUP);
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
        wake(t.get(), false);
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
    t->family = std::max(current->period, current->family);
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
        if (t->joiner) wake(t->joiner, true);
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
  while (!l.waiting.empty() && l.waiting.front()->state < State::kBlocked) l.waiting.pop_front();  // its time was over
  if (l.waiting.empty()) return;
  Thread *t = l.waiting.front();
  l.waiting.pop_front();
  world->wake(t, true);
}
// Waits to be woken, for at most so long; then it waits no more.
std::suspend_always timed(Lock &l, uint64_t nanos) {
  l.waiting.push_back(world->current);
  world->current->state = State::kAsleep;
  world->current->until = world->now + kCall + nanos + kTimerSlack;
  return {};
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

}  // namespace
