// A barrier without generations: its last thread opens one gate for the others, and a fast one comes again and takes
// what was meant for one that has arrived but does not wait yet.
#include <semaphore.h>

#include "race.h"

enum { kThreads = 3, kPhases = 3 };
static atomic_int arrived, phase[kThreads], ahead;
static sem_t gate[2];

static void barrier(int self, int number) {
  sem_t *mine = &gate[race_fixed ? number % 2 : 0];
  if (atomic_fetch_add(&arrived, 1) == kThreads - 1) {
    atomic_store(&arrived, 0);
    for (int i = 0; i < kThreads - 1; i++) sem_post(mine);
  } else {
    if (self == 0) race_gap(0.2);  // the others come again 4 ms later
    sem_wait(mine);
  }
}

static void *worker(void *x) {
  int self = (int)(long)x;
  for (int i = 0; i < kPhases; i++) {
    race_pause(4);
    barrier(self, i);
    atomic_store(&phase[self], i + 1);
    for (int other = 0; i > 0 && other < kThreads; other++)
      if (atomic_load(&phase[other]) < i) atomic_store(&ahead, 1);
  }
  return x;
}

int main(int argc, char **argv) {
  long n = race_iterations(argc, argv);
  for (long i = 0; i < n; i++) {
    atomic_store(&arrived, 0);
    for (int k = 0; k < 2; k++) sem_init(&gate[k], 0, 0);
    for (int k = 0; k < kThreads; k++) atomic_store(&phase[k], 0);
    race_iteration(i, kThreads, (race_thread[]){worker, worker, worker});
    if (atomic_load(&ahead)) race_bug(i, "a thread passed the barrier before another had");
  }
  return race_none(n);
}
