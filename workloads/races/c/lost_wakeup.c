// The condition is checked before the lock is taken: a signal in between is lost.
#include "race.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static atomic_int ready;

static void *consumer(void *x) {
  race_work(10000);
  if (!atomic_load(&ready)) {
    race_work(50);
    pthread_mutex_lock(&lock);
    pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
  }
  return x;
}

static void *producer(void *x) {
  race_work(15000);
  atomic_store(&ready, 1);
  pthread_mutex_lock(&lock);
  pthread_cond_signal(&changed);
  pthread_mutex_unlock(&lock);
  return x;
}

int main(int argc, char **argv) {
  long n = race_iterations(argc, argv);
  for (long i = 0; i < n; i++) {
    atomic_store(&ready, 0);
    race_iteration(i, 2, (race_thread[]){consumer, producer});
  }
  return race_none(n);
}
