// The races whose windows are instructions.
#pragma once

#include <functional>

#include "world.h"

namespace {

struct Node {
  Node *next;
  int owners;
};

// What the threads of one iteration share.
struct Shared {
  Lock a, b, locks[3], changed, gate;
  Semaphore request, reply, permits{2, {}};
  int balance = 0, taken = 0, stage = 0, arrived = 0, generation = 0, left = 0, right = 0;
  bool ready = false, made = false, filled = false, done = false, freed = false, configured = false, started = false,
       torn = false, open = false;
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

struct Race {
  const char *name;
  std::vector<Body> threads;
  std::function<bool(Shared &)> wrong;
};

Body taker(int first, int second) {
  return [=](Shared &s) { return both(s, s.locks[first], s.locks[second], 100); };
}

bool right(Shared &) { return false; }

const std::vector<Race> &instant() {
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
  };
  return all;
}

}  // namespace
