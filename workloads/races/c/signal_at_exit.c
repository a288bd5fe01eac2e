// A thread signals another that it has seen alive; that one meanwhile frees what its handler uses, and then leaves.
#include <signal.h>

#include "race.h"

static _Atomic(int *) state;
static atomic_int registered, touched, sent;
static pthread_t target;
static pthread_mutex_t leaving = PTHREAD_MUTEX_INITIALIZER;

static void handler(int signal) {
  (void)signal;
  if (!atomic_load(&state)) atomic_store(&touched, 1);
}

static void *worker(void *x) {
  static int place;
  target = pthread_self();
  atomic_store(&state, &place);
  atomic_store(&registered, 1);
  double until = race_now() + 0.009;
  for (double left; (left = until - race_now()) > 0;) race_pause(left * 1e3);
  if (race_fixed) {  // unregistered before the state is gone, and while nobody is about to send
    pthread_mutex_lock(&leaving);
    atomic_store(&registered, 0);
    pthread_mutex_unlock(&leaving);
  }
  atomic_store(&state, NULL);
  while (!atomic_load(&sent)) race_pause(0.5);  // the id stays valid
  return x;
}

static void *sampler(void *x) {
  race_pause(2);
  if (race_fixed) pthread_mutex_lock(&leaving);
  if (atomic_load(&registered)) {
    race_gap(1);  // the worker frees its state 6 ms later
    pthread_kill(target, SIGUSR1);
  }
  if (race_fixed) pthread_mutex_unlock(&leaving);
  atomic_store(&sent, 1);
  return x;
}

int main(int argc, char **argv) {
  struct sigaction action = {.sa_handler = handler};
  sigaction(SIGUSR1, &action, NULL);
  long n = race_iterations(argc, argv);
  for (long i = 0; i < n; i++) {
    atomic_store(&registered, 0);
    atomic_store(&sent, 0);
    race_iteration(i, 2, (race_thread[]){worker, sampler});
    if (atomic_load(&touched)) race_bug(i, "the handler used what was freed");
  }
  return race_none(n);
}
