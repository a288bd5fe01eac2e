#include "turns.h"

#include <ctime>

#include "random.h"

namespace misstep {

uint64_t DrawStep(const Options& options, uint64_t* random) {
  const double vary = 1.0 + options.jitter * (2.0 * Uniform(random) - 1.0);
  return static_cast<uint64_t>(options.interval_micros * 1000.0 * vary);
}

void SetTimer(const Turn& turn, uint64_t due_nanos) {
  const itimerspec when = {
      .it_interval = {},
      .it_value = {static_cast<time_t>(due_nanos / 1'000'000'000), static_cast<long>(due_nanos % 1'000'000'000)}};
  timer_settime(turn.timer, TIMER_ABSTIME, &when, nullptr);
}

}  // namespace misstep
