// Models of the planted races of workloads/races that a strategy may be tuned on: they show in seconds, without a
// virtual machine, how a change of the policy changes the time to each bug.
//
//   races STRATEGY SEED COUNT ITERATIONS KNOB=VALUE…
//
// STRATEGY is chaos (knobs: epoch, cap, away), plain (a delay of 1 to 10 ms at each fifth wake-up) or none. One line
// for each race and seed: name, 1 if the bug showed, iterations, seconds.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "periodic.h"

namespace {

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
    shared->open = true;
    while (!shared->gate.waiting.empty()) wake_first(shared->gate);
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
  std::vector<Race> all = instant();
  all.insert(all.end(), periodic().begin(), periodic().end());
  for (auto &race : all) {
    for (uint64_t s = seed; s < seed + count; s++) {
      World w;
      world = &w;
      w.seed = s;
      w.epoch = epoch;
      w.cap = cap;
      w.away = away;
      w.chaos = !strcmp(a[1], "chaos");
      if (!strcmp(a[1], "plain")) {
        w.knobs.delay_wakeup = MISSTEP_ONE / 5;
        w.knobs.delay_min = 1000000;
        w.knobs.delay_max = 10000000;
      }
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
