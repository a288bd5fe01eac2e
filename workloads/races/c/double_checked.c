// Double-checked initialisation that publishes the object before it is filled in.
#include "race.h"

struct object {
  atomic_int a, b;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(struct object *) instance;
static struct object storage;
static long iteration;

static struct object *get(void) {
  struct object *o = atomic_load(&instance);
  if (o) return o;
  pthread_mutex_lock(&lock);
  if (!atomic_load(&instance)) {
    atomic_store(&instance, &storage);
    race_work(50);
    atomic_store(&storage.a, 1);
    atomic_store(&storage.b, 1);
  }
  pthread_mutex_unlock(&lock);
  return atomic_load(&instance);
}

static void *user(void *x) {
  race_work(20000);
  struct object *o = get();
  if (!atomic_load(&o->a) || !atomic_load(&o->b)) race_bug(iteration, "an object was used before it was filled in");
  return x;
}

int main(int argc, char **argv) {
  long n = race_iterations(argc, argv);
  for (; iteration < n; iteration++) {
    atomic_store(&instance, NULL);
    atomic_store(&storage.a, 0);
    atomic_store(&storage.b, 0);
    race_iteration(iteration, 3, (race_thread[]){user, user, user});
  }
  return race_none(n);
}
