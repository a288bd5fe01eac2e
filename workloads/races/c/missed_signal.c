// A waiter looks at the condition before it takes the lock, and does something that blocks in between.
#include "race.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static atomic_int ready;

static void *waiter(void *x) {
  race_pause(2);
  int seen = atomic_load(&ready);
  race_gap(1);  // the signal comes 18 ms later
  pthread_mutex_lock(&lock);
  if (race_fixed) seen = atomic_load(&ready);
  while (!seen) {
    pthread_cond_wait(&changed, &lock);
    seen = atomic_load(&ready);
  }
  pthread_mutex_unlock(&lock);
  return x;
}

static void *signaller(void *x) {
  race_pause(21);
  pthread_mutex_lock(&lock);
  atomic_store(&ready, 1);
  pthread_cond_signal(&changed);
  pthread_mutex_unlock(&lock);
  return x;
}

int main(int argc, char **argv) {
  long n = race_iterations(argc, argv);
  for (long i = 0; i < n; i++) {
    atomic_store(&ready, 0);
    race_iteration(i, 2, (race_thread[]){waiter, signaller});
  }
  return race_none(n);
}
