// A signal handler reads a pair that the interrupted thread is changing: it sees one half of the change.
#include <signal.h>

#include "race.h"

static volatile long left, right;
static volatile long iteration;
static volatile sig_atomic_t torn;
static atomic_int started;
static pthread_t target;

static void handler(int s) {
  (void)s;
  if (left != right) torn = 1;
}

static void *worker(void *x) {
  target = pthread_self();
  atomic_store(&started, 1);
  for (int i = 0; i < 10; i++) {
    race_work(20000);
    left++;
    race_work(50);
    right++;
  }
  while (atomic_load(&started) == 1) usleep(50);  // the target of a signal has to be alive
  return x;
}

static void *sampler(void *x) {
  while (!atomic_load(&started)) usleep(50);
  for (int i = 0; i < 3; i++) {
    pthread_kill(target, SIGUSR1);
    usleep(20);
  }
  atomic_store(&started, 2);
  return x;
}

int main(int argc, char **argv) {
  long n = race_iterations(argc, argv);
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
  sigaction(SIGUSR1, &action, NULL);
  for (; iteration < n; iteration++) {
    left = right = 0;
    atomic_store(&started, 0);
    race_iteration(iteration, 2, (race_thread[]){worker, sampler});
    if (torn) race_bug(iteration, "the handler saw half of a change");
  }
  return race_none(n);
}
