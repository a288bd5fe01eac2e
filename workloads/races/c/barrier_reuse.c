// A barrier whose last thread opens the gate before it resets the count: a thread that arrives again at once is counted
// with the old ones.
#include "race.h"

enum { kThreads = 3, kPhases = 6 };
static atomic_int arrived, generation;

static void barrier(void) {
  int mine = atomic_load(&generation);
  if (atomic_fetch_add(&arrived, 1) == kThreads - 1) {
    atomic_fetch_add(&generation, 1);
    race_work(50);
    atomic_store(&arrived, 0);  // loses those that are here for the next phase
  } else {
    while (atomic_load(&generation) == mine) usleep(50);
  }
}

static void *worker(void *x) {
  for (int i = 0; i < kPhases; i++) {
    race_work(5000);
    barrier();
  }
  return x;
}

int main(int argc, char **argv) {
  long n = race_iterations(argc, argv);
  for (long i = 0; i < n; i++) {
    atomic_store(&arrived, 0);
    atomic_store(&generation, 0);
    race_iteration(i, kThreads, (race_thread[]){worker, worker, worker});
  }
  return race_none(n);
}
