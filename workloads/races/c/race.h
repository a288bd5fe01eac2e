// What the planted races share: iterations of a few threads, with a deadline that detects hangs.
#ifndef RACE_H
#define RACE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define HANG_SECONDS 10  // far above any delay of a scheduler

static double race_began, race_limit;  // seconds; no limit is 0
static int race_fixed;                 // whether the program runs with its fix
static double race_away;               // milliseconds that each gap takes longer

static inline double race_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec / 1e9;
}

static inline void race_bug_at(long iteration, const char *what, double seconds) {
  printf("bug at iteration %ld: %s (%.6f s)\n", iteration, what, seconds);
  fflush(stdout);
  _exit(1);
}

static inline void race_bug(long iteration, const char *what) { race_bug_at(iteration, what, race_now() - race_began); }

static inline int race_none(long n) {
  printf("no bug in %ld iterations (%.6f s)\n", n, race_now() - race_began);
  return 0;
}

static inline void race_fail(const char *what) {
  fprintf(stderr, "%s\n", what);
  _exit(2);
}

static inline struct timespec race_deadline(void) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  t.tv_sec += HANG_SECONDS;
  return t;
}

// Some instructions that the compiler keeps, so that windows are not empty.
static inline void race_work(int n) {
  for (volatile int i = 0; i < n; i++) {
  }
}

static inline void race_pause(double ms) {
  struct timespec t = {(time_t)(ms / 1e3), (long)(ms * 1e6) % 1000000000L};
  nanosleep(&t, NULL);
}

// race_gap is a pause in which a periodic race is vulnerable: the bug shows if the thread is away for longer than it
// says.
static inline void race_gap(double ms) { race_pause(ms + race_away); }

typedef void *(*race_thread)(void *);

// race_iteration runs the threads to their end; one that does not end is a bug, whose time excludes the wait
// for it.
static inline void race_iteration(long iteration, int n, const race_thread *threads) {
  if (race_limit > 0 && race_now() - race_began > race_limit) exit(race_none(iteration));
  pthread_t id[8];
  for (int i = 0; i < n; i++)
    if (pthread_create(&id[i], NULL, threads[i], (void *)(long)i)) race_fail("cannot create a thread");
  struct timespec deadline = race_deadline();
  for (int i = 0; i < n; i++)
    if (pthread_timedjoin_np(id[i], NULL, &deadline))
      race_bug_at(iteration, "it hangs", race_now() - race_began - HANG_SECONDS);
}

static inline long race_iterations(int argc, char **argv) {
  race_began = race_now();
  if (argc > 2) race_limit = atof(argv[2]);
  race_fixed = argc > 3 && !strcmp(argv[3], "fixed");
  if (getenv("RACE_AWAY")) race_away = atof(getenv("RACE_AWAY"));
  return argc > 1 ? atol(argv[1]) : 10000;
}

#endif
