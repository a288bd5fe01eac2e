// Fixed work, to measure what an attached scheduler costs. Prints the seconds that it took.
//
//   load spin          computes without waiting
//   load wakeups WORK  two processes wake each other over pipes and compute WORK steps (about 5 ns each) in between
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kSteps = 20000000, kRounds = 1000 };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec / 1e9;
}

static void work(long n) {
  for (volatile long i = 0; i < n; i++) {
  }
}

static int fail(const char *what) {
  perror(what);
  return 2;
}

static int wakeups(long steps) {
  int there[2], back[2];
  char byte = 0;
  if (pipe(there) || pipe(back)) return fail("pipe");
  pid_t child = fork();
  if (child < 0) return fail("fork");
  int from = child ? back[0] : there[0], to = child ? there[1] : back[1];
  for (int i = 0; i < kRounds; i++) {
    if (child && write(to, &byte, 1) != 1) return fail("write");
    if (read(from, &byte, 1) != 1) return fail("read");
    work(steps);
    if (!child && write(to, &byte, 1) != 1) return fail("write");
  }
  if (!child) _exit(0);
  return wait(NULL) == child ? 0 : fail("wait");
}

int main(int argc, char **argv) {
  double began = now();
  if (argc == 2 && !strcmp(argv[1], "spin")) {
    work(kSteps);
  } else if (argc == 3 && !strcmp(argv[1], "wakeups")) {
    int code = wakeups(atol(argv[2]));
    if (code) return code;
  } else {
    fprintf(stderr, "usage: load spin | load wakeups WORK\n");
    return 2;
  }
  printf("%.9f\n", now() - began);
  return 0;
}
