// A balance that is read, computed on and written back without a lock.
#include "race.h"

static volatile long balance;

static void *deposit(void *x) {
  for (int i = 0; i < 20; i++) {
    race_work(10000);
    long seen = balance;
    race_work(50);
    balance = seen + 1;
  }
  return x;
}

int main(int argc, char **argv) {
  long n = race_iterations(argc, argv);
  for (long i = 0; i < n; i++) {
    balance = 0;
    race_iteration(i, 2, (race_thread[]){deposit, deposit});
    if (balance != 40) race_bug(i, "a deposit is lost");
  }
  return race_none(n);
}
