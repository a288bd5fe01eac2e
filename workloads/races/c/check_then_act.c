// One seat, looked up under a lock and taken under the lock, but not in one go.
#include "race.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int taken;

static void *customer(void *x) {
  race_work(30000);
  pthread_mutex_lock(&lock);
  int free_seat = !taken;
  pthread_mutex_unlock(&lock);
  race_work(50);
  if (free_seat) {
    pthread_mutex_lock(&lock);
    taken++;
    pthread_mutex_unlock(&lock);
  }
  return x;
}

int main(int argc, char **argv) {
  long n = race_iterations(argc, argv);
  for (long i = 0; i < n; i++) {
    taken = 0;
    race_iteration(i, 3, (race_thread[]){customer, customer, customer});
    if (taken != 1) race_bug(i, "the seat was sold twice");
  }
  return race_none(n);
}
