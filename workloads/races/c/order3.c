// Three stages that are ordered by how long each takes, not by synchronisation: wrong only when the order of all
// three is reversed.
#include "race.h"

static atomic_int stage;

static void *first(void *x) {
  race_work(100);
  if (atomic_load(&stage) == 2) atomic_store(&stage, 3);
  return x;
}

static void *second(void *x) {
  race_work(10000);
  if (atomic_load(&stage) == 1) atomic_store(&stage, 2);
  return x;
}

static void *third(void *x) {
  race_work(10000);
  if (atomic_load(&stage) == 0) atomic_store(&stage, 1);
  return x;
}

int main(int argc, char **argv) {
  long n = race_iterations(argc, argv);
  for (long i = 0; i < n; i++) {
    atomic_store(&stage, 0);
    race_iteration(i, 3, (race_thread[]){first, second, third});
    if (atomic_load(&stage) == 3) race_bug(i, "the stages came in the reverse order");
  }
  return race_none(n);
}
