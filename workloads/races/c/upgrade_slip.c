// A reader that lets go of the read lock before it takes the write lock, and does not look again.
#include "race.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static long total;

static void *slow(void *x) {
  pthread_rwlock_rdlock(&lock);
  long seen = total;
  pthread_rwlock_unlock(&lock);
  race_gap(0.1);  // the other adds 0.7 ms later
  pthread_rwlock_wrlock(&lock);
  total = (race_fixed ? total : seen) + 1;
  pthread_rwlock_unlock(&lock);
  return x;
}

static void *other(void *x) {
  race_pause(0.8);
  pthread_rwlock_wrlock(&lock);
  total++;
  pthread_rwlock_unlock(&lock);
  return x;
}

int main(int argc, char **argv) {
  long n = race_iterations(argc, argv);
  for (long i = 0; i < n; i++) {
    total = 0;
    race_iteration(i, 2, (race_thread[]){slow, other});
    if (total != 2) race_bug(i, "an addition was lost");
  }
  return race_none(n);
}
