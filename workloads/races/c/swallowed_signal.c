// A bounded queue: a consumer that is woken looks at the clock before it looks at the queue, gives up, and has
// swallowed the signal that another consumer needed.
#include "race.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static int items;

static void *impatient(void *x) {
  pthread_mutex_lock(&lock);
  double until = race_now() + 0.030;
  struct timespec at;
  clock_gettime(CLOCK_REALTIME, &at);
  at.tv_nsec += 30000000;
  at.tv_sec += at.tv_nsec / 1000000000;
  at.tv_nsec %= 1000000000;
  while (!items) {
    pthread_cond_timedwait(&filled, &lock, &at);
    race_gap(0);  // 20 ms are left
    if (race_now() >= until && !(race_fixed && items)) break;
  }
  if (items && (race_fixed || race_now() < until)) items--;
  pthread_mutex_unlock(&lock);
  return x;
}

static void *patient(void *x) {
  race_pause(2);
  pthread_mutex_lock(&lock);
  while (!items) pthread_cond_wait(&filled, &lock);
  items--;
  pthread_mutex_unlock(&lock);
  return x;
}

static void *producer(void *x) {
  for (int i = 0; i < 2; i++) {
    race_pause(i ? 40 : 10);
    pthread_mutex_lock(&lock);
    // The second item is one for the patient consumer only if the first was taken.
    if (i == 0 || !items) {
      items++;
      pthread_cond_signal(&filled);
    }
    pthread_mutex_unlock(&lock);
  }
  return x;
}

int main(int argc, char **argv) {
  long n = race_iterations(argc, argv);
  for (long i = 0; i < n; i++) {
    items = 0;
    race_iteration(i, 3, (race_thread[]){impatient, patient, producer});
  }
  return race_none(n);
}
