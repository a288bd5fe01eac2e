// A thread reports that it is done and then touches its state once more, which its owner may have reused by then.
#include "race.h"

struct state {
  atomic_int done;
  atomic_int uses;
  atomic_int freed;
};

static struct state state;
static long iteration;

static void *worker(void *x) {
  race_work(20000);
  atomic_store(&state.done, 1);
  race_work(50);
  if (atomic_load(&state.freed)) race_bug(iteration, "a thread used its state after it was freed");
  atomic_fetch_add(&state.uses, 1);
  return x;
}

static void *owner(void *x) {
  while (!atomic_load(&state.done)) usleep(100);
  atomic_store(&state.freed, 1);
  return x;
}

int main(int argc, char **argv) {
  long n = race_iterations(argc, argv);
  for (; iteration < n; iteration++) {
    atomic_store(&state.done, 0);
    atomic_store(&state.freed, 0);
    race_iteration(iteration, 2, (race_thread[]){worker, owner});
  }
  return race_none(n);
}
