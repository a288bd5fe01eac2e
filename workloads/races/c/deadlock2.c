// Two locks taken in opposite orders.
#include "race.h"

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;

static void *forward(void *x) {
  for (int i = 0; i < 10; i++) {
    race_work(20000);
    pthread_mutex_lock(&a);
    race_work(50);
    pthread_mutex_lock(&b);
    pthread_mutex_unlock(&b);
    pthread_mutex_unlock(&a);
  }
  return x;
}

static void *backward(void *x) {
  for (int i = 0; i < 10; i++) {
    race_work(20000);
    pthread_mutex_lock(&b);
    race_work(50);
    pthread_mutex_lock(&a);
    pthread_mutex_unlock(&a);
    pthread_mutex_unlock(&b);
  }
  return x;
}

int main(int argc, char **argv) {
  long n = race_iterations(argc, argv);
  for (long i = 0; i < n; i++) race_iteration(i, 2, (race_thread[]){forward, backward});
  return race_none(n);
}
