// Two threads need both permits of a semaphore and take them one by one.
#include <semaphore.h>

#include "race.h"

static sem_t permits;
static pthread_mutex_t both = PTHREAD_MUTEX_INITIALIZER;

static void use(double gap) {
  if (race_fixed) pthread_mutex_lock(&both);
  sem_wait(&permits);
  race_gap(gap);
  sem_wait(&permits);
  race_work(50);
  sem_post(&permits);
  sem_post(&permits);
  if (race_fixed) pthread_mutex_unlock(&both);
}

static void *early(void *x) {
  race_pause(0.5);
  use(0.3);  // over 4 ms before the other begins
  return x;
}

static void *later(void *x) {
  race_pause(4.8);
  use(0.3);
  return x;
}

int main(int argc, char **argv) {
  long n = race_iterations(argc, argv);
  for (long i = 0; i < n; i++) {
    sem_init(&permits, 0, 2);
    race_iteration(i, 2, (race_thread[]){early, later});
  }
  return race_none(n);
}
