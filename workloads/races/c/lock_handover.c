// A lock is held while a request is handed over to a thread that takes the same lock for its own periodic work.
#include <semaphore.h>

#include "race.h"

static pthread_mutex_t registry = PTHREAD_MUTEX_INITIALIZER;
static sem_t request, reply;

static void *caller(void *x) {
  race_pause(12);
  if (!race_fixed) pthread_mutex_lock(&registry);
  sem_post(&request);
  sem_wait(&reply);  // for as long as the server does something else
  if (race_fixed) pthread_mutex_lock(&registry);
  race_work(50);
  pthread_mutex_unlock(&registry);
  return x;
}

static void *server(void *x) {
  race_pause(3);
  race_gap(1);  // its clean-up, due at 4 ms, must be over before the request comes at 12 ms
  pthread_mutex_lock(&registry);
  race_work(50);
  pthread_mutex_unlock(&registry);
  sem_wait(&request);
  sem_post(&reply);
  return x;
}

int main(int argc, char **argv) {
  long n = race_iterations(argc, argv);
  for (long i = 0; i < n; i++) {
    sem_init(&request, 0, 0);
    sem_init(&reply, 0, 0);
    race_iteration(i, 2, (race_thread[]){caller, server});
  }
  return race_none(n);
}
