// A wait with a timeout: who has waited for too long takes its buffer away, and the late answer is written into it.
#include "race.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int *buffer, answered, late;

static void *asker(void *x) {
  static int place;
  pthread_mutex_lock(&lock);
  buffer = &place;
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += 40000000;
  until.tv_sec += until.tv_nsec / 1000000000;
  until.tv_nsec %= 1000000000;
  while (!answered && !pthread_cond_timedwait(&changed, &lock, &until)) {
  }
  buffer = NULL;
  pthread_mutex_unlock(&lock);
  return x;
}

static void *answerer(void *x) {
  race_pause(5);
  race_gap(3);  // it has 32 ms before the asker gives up
  pthread_mutex_lock(&lock);
  if (buffer)
    *buffer = answered = 1;
  else if (!race_fixed)
    late = 1;
  pthread_cond_signal(&changed);
  pthread_mutex_unlock(&lock);
  return x;
}

int main(int argc, char **argv) {
  long n = race_iterations(argc, argv);
  for (long i = 0; i < n; i++) {
    answered = 0;
    race_iteration(i, 2, (race_thread[]){asker, answerer});
    if (late) race_bug(i, "the answer was written into a buffer that was gone");
  }
  return race_none(n);
}
