// A thread uses what its creator sets only after it has created it.
#include "race.h"

static _Atomic(long *) configuration;
static long value = 42;
static long iteration;

static void *service(void *x) {
  race_work(5000);  // usually long enough for the creator to be ready first
  if (!atomic_load(&configuration)) race_bug(iteration, "the service started without its configuration");
  return x;
}

static void *starter(void *x) {
  pthread_t id;
  if (pthread_create(&id, NULL, service, NULL)) race_fail("cannot create a thread");
  atomic_store(&configuration, &value);
  pthread_join(id, NULL);
  return x;
}

int main(int argc, char **argv) {
  long n = race_iterations(argc, argv);
  for (; iteration < n; iteration++) {
    atomic_store(&configuration, NULL);
    race_iteration(iteration, 1, (race_thread[]){starter});
  }
  return race_none(n);
}
