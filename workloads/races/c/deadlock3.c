// Three locks, each thread takes two of them: a circle that no pair of threads can close.
#include "race.h"

static pthread_mutex_t locks[3] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};

static void *philosopher(void *x) {
  long self = (long)x;
  for (int i = 0; i < 10; i++) {
    race_work(20000);
    pthread_mutex_lock(&locks[self]);
    race_work(100);
    pthread_mutex_lock(&locks[(self + 1) % 3]);
    race_work(50);
    pthread_mutex_unlock(&locks[(self + 1) % 3]);
    pthread_mutex_unlock(&locks[self]);
  }
  return x;
}

int main(int argc, char **argv) {
  long n = race_iterations(argc, argv);
  for (long i = 0; i < n; i++) race_iteration(i, 3, (race_thread[]){philosopher, philosopher, philosopher});
  return race_none(n);
}
