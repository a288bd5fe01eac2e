// Preloaded into the qemu of a deterministic machine: gettimeofday, by which qemu reads the host's date, always returns
// the same time.
//
// Everything that the guest can ask for comes from virtual time already (-icount, -rtc clock=vm). But the translator
// makes its table of translated addresses smaller after 100 ms of the host's date in which little of it was used
// (accel/tcg/cputlb.c, tlb_mmu_resize_locked), and which stale entries the guest meets depends on that table. Here the
// 100 ms never pass: the table grows on demand and never shrinks.
//
// The clocks by which qemu waits (clock_gettime) keep running: stopping those would stop qemu.
#include <sys/time.h>

// The time at which the machine's own clock begins (machine.go, -rtc), seconds.
#define BEGIN 1767225600

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  (void)zone;
  now->tv_sec = BEGIN;
  now->tv_usec = 0;
  return 0;
}
